"""Strings that readers of YAML 1.1 and 1.2 take for something else, and strategies that find more of them."""

from hypothesis import strategies as st

BOOLEANS = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"]
NUMBERS = [
    "0", "1", "-1", "+1", "08", "09", "007", "0777", "-0777", "0o7", "0o17", "0O17", "0x1f", "0X1F", "0b11", "-0b11",
    "1_000", "0x_1f", "1e3", "1E3", "1e+3", "1e-3", ".5", "5.", "7.0", "-7.0", "+7.0", "1.5e3", "1.5e+3", "1_0.5",
    "0.", "00", "0_", "1__0", "-0", "+0", "0x", "0b", "0o", "9223372036854775808", "18446744073709551616",
    "123456789012345678", "1e400", ".inf", "-.inf", "+.inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN",
]  # fmt: skip
TIMES = [
    "190:20:30", "12:30:45", "1:30", "12:30:45.5", "-12:30", "2001-01-01", "2001-1-1", "2001-12-15 2:59:43.10",
    "2001-12-14t21:59:43.10-05:00", "2001-12-14 21:59:43.10 -5",
]  # fmt: skip
MARKS = [
    "~", "=", "<<", "-", "--", "---", "...", "?", ":", ",", "[", "]", "{", "}", "#", "&", "*", "!", "|", ">", "'", '"',
    "%", "@", "`", "\\", "-a", "|-", "*a", "&a", "!a", "!!str", "%a", "@a", "`a", "[a]", "{a}", "{}", "[]", "?a", ":a",
    "a:", "a::", "#a",
]  # fmt: skip
SPACED = [
    "", " ", "  ", " a", "a ", "- a", "? a", ": a", "a: b", "a #b", "# a", "a : b", "a\tb", "\ta", "a\t", "\t", "a: ",
    "- ", "? ", "-\ta", "a:\tb", "a\t#b", "--- a", "... a", "'a'", '"a"', "!!str a", "a\n", "\n", "\n\n", "\na", " \n",
    "\n ", "a\n ", "a\n\n", "a \nb", "a\n  b", "  a\nb", "\ta\nb", "a\n\tb", "a\n---\nb", "a\n...\nb", "#a\nb", "a\n#b",
    "- a\n- b", "a\n\n\nb\n", "\n\n  a", " \n a", "a\nb ", "a\nb\t", "%a\nb", "a\rb", "a\r\nb\r\n", "\r",
]  # fmt: skip
STRANGE = [
    "\0", "\x01", "\a", "\b", "\x0b", "\x0c", "\x1b", "\x7f", "\x80", "\x85", "a\x85b", "\x9f", "\xa0", "\xad", "é",
    "\u2028", "\u2029", "a\u2028b\nc", "\ufeff", "\ufeffa", "a\ufeffb", "\ufffd", "\ufffe", "\uffff", "\U0001f600",
    "a\U0001f600\nb", "\U0010ffff", "\ue000", "\u200b", "\u202e", "\\n", "\\x41", "\\u0041", "${a}", "$(a)",
    "{{ a }}", "a\\\nb",
]  # fmt: skip

_OTHER_CASES = [case(word) for word in BOOLEANS for case in (str.upper, str.title)]
TROUBLE_WORDS = [*BOOLEANS, *_OTHER_CASES, *NUMBERS, *TIMES, *MARKS, *SPACED, *STRANGE]


def texts() -> st.SearchStrategy[str]:
    """Return trouble words, words made of their letters, and any other text."""
    any_character = st.characters(exclude_categories=["Cs"])
    return (
        st.sampled_from(TROUBLE_WORDS)
        | st.text(" \t\n-?:,[]{}#&*!|>'\"%@`\\.~=<aeExXoObBnyNY0189_+TZ\x85\u2028\ufeff", max_size=12)
        | st.text(any_character, max_size=20)
        | st.lists(st.text(any_character, max_size=10), max_size=5).map("\n".join)
    )
