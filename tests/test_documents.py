"""Documents are read as kubectl reads them, each with its lines, and a broken one hides no other."""

import json

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from redisop.documents import DEEPEST, MOST_BYTES, MOST_VALUES, Document, Problem, parse

EXAMPLE = b"""\
# the smallest useful document
apiVersion: example.com/v1
kind: Redis
metadata:
  name: my-redis-cluster

spec:
  replicas: 2
  version: "7.0"
  pod:
    sidecars:
    - name: a
      image: b
    -
      name: c
  config: {maxclients: "100",
           "lfu.decay": "1"}
"""


def values(data: bytes | str) -> list[object]:
    found = parse(data.encode() if isinstance(data, str) else data, "f.yaml")
    assert all(isinstance(one, Document) for one in found), found
    return [one.value for one in found]


def problem(data: bytes | str) -> str:
    """Return the one problem that `data` has and nothing else."""
    [found] = parse(data.encode() if isinstance(data, str) else data, "f.yaml")
    assert isinstance(found, Problem), found
    return str(found)


# -- values -----------------------------------------------------------------------------------------------------------


def test_a_document_is_read_as_pyyaml_reads_it():
    assert values(EXAMPLE) == [yaml.safe_load(EXAMPLE)]


def test_json_is_yaml():
    whole = {"a": [1, 1.5, True, None, "x\n\u2028é\\\U0001f600", "\\ud800\\udc00", {}], "b": {"c": []}}
    assert values(json.dumps(whole)) == [whole]
    assert values(json.dumps(whole, indent="\t", ensure_ascii=False)) == [whole]
    assert values(json.dumps(whole, separators=(",", ":"))) == [whole]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("yes", True),
        ("on", True),
        ("y", True),
        ("off", False),
        ("N", False),
        ("~", None),
        ("", None),
        ("7.0", 7),
        ("7.10", 7.1),
        ("1e3", 1000),
        ("1e30", 1e30),
        ("017", 15),
        ("0o17", 15),
        ("-0x1F", -31),
        ("0b11", 3),
        ("1_000", 1000),
        ("08", 8),
        ("12:30:45", "12:30:45"),
        ("2001-01-01", "2001-01-01"),
        ("1e400", "1e400"),
        ("yES", "yES"),
        ("'on'", "on"),
        ("!!str on", "on"),
        ("|-\n  on", "on"),
    ],
)
def test_a_scalar_is_what_kubectl_takes_it_for(written, read):
    [value] = values(f"a: {written}\n")
    assert value == {"a": read}
    assert type(value["a"]) is type(read)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=20,
    )
)
@settings(deadline=None)
def test_whatever_json_holds_comes_back(value):
    assert values(json.dumps({"a": value})) == [{"a": value}]


def test_small_anchors_and_merges_are_fine():
    text = "a: &base {x: 1, y1: [2]}\nb: {<<: *base, x: 3}\nc: *base\nd: {<<: [{z: 1}, {z: 2, w: 3}]}\n"
    assert values(text) == [
        {"a": {"x": 1, "y1": [2]}, "b": {"x": 3, "y1": [2]}, "c": {"x": 1, "y1": [2]}, "d": {"z": 1, "w": 3}}
    ]


@given(st.binary() | st.text().map(str.encode))
@settings(deadline=None)
def test_no_bytes_at_all_are_too_much(data):
    for found in parse(data, "f.yaml"):
        assert isinstance(found, Document | Problem)
        assert "\n" not in str(found) or isinstance(found, Document)


@given(
    st.lists(
        st.sampled_from(
            [
                "- ",
                "a: ",
                "? ",
                "[",
                "]",
                "{",
                "}",
                ",",
                ": ",
                "&a ",
                "*a",
                "<<: ",
                "|",
                "\n",
                "\n  ",
                "'",
                '"',
                "x",
                "!!str ",
                "---\n",
                "...",
                "#",
                "%",
                "\t",
            ]
        )
    ).map("".join)
)
@settings(deadline=None, max_examples=500)
def test_no_mixture_of_the_signs_of_yaml_is_too_much(text):
    for found in parse(text.encode(), "f.yaml"):
        assert found.line <= text.count("\n") + 2


# -- several documents ------------------------------------------------------------------------------------------------


def test_documents_come_in_their_order_each_with_its_line():
    found = parse(b"# comment\n\na: 1\n---\nb: 2\n--- # another\n\nc: 3\n", "f.yaml")
    assert [(one.value, one.line) for one in found] == [({"a": 1}, 3), ({"b": 2}, 5), ({"c": 3}, 8)]


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "---\n---\n# x\n---", "~\n", "---\n...\n"])
def test_where_nothing_stands_there_is_no_document(text):
    assert values(text) == []


def test_windows_line_ends_are_line_ends():
    [first, second] = parse(b"a: 1\r\n---\r\nb:\r\n  c: 2\r\n", "f.yaml")
    assert (first.value, second.value, second.line_of(["b", "c"])) == ({"a": 1}, {"b": {"c": 2}}, 4)


@pytest.mark.parametrize("broken", ["a: [", "a: 'x", "a: b: c", "a: *x", "a: 1\na: 2", "- 1", "\x07", "a: {", "a: @"])
def test_a_broken_document_hides_no_other(broken):
    before, found, after = parse(f"x: 1\n---\n{broken}\n---\ny1:\n  z: 2\n".encode(), "f.yaml")
    assert isinstance(found, Problem)
    assert 3 <= found.line <= 4
    assert (before.value, after.value, after.line_of(["y1", "z"])) == (
        {"x": 1},
        {"y1": {"z": 2}},
        6 + broken.count("\n"),
    )


def test_bytes_that_are_no_utf8_spoil_their_own_document_only():
    first, second = parse(b"a: 1\nb: \xe9\n---\nc: 3\n", "f.yaml")
    assert str(first) == "f.yaml:2: the byte 0xe9 is not UTF-8: save the file as UTF-8"
    assert second.value == {"c": 3}


def test_a_list_is_opened_and_its_items_know_their_lines():
    text = "kind: List\nitems:\n- a: 1\n- kind: RedisList\n  items:\n  - b: 2\n    c:\n      d: 3\n"
    first, second = parse(text.encode(), "f.yaml")
    assert (first.value, first.line) == ({"a": 1}, 3)
    assert (second.value, second.line, second.line_of(["c", "d"])) == ({"b": 2, "c": {"d": 3}}, 6, 8)


# -- places -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "line"),
    [
        ([], 2),
        (["spec"], 7),
        (["spec", "replicas"], 8),
        (["spec", "pod", "sidecars", 0], 12),
        (["spec", "pod", "sidecars", 0, "image"], 13),
        (["spec", "pod", "sidecars", 1, "name"], 15),
        (["spec", "config", "maxclients"], 16),
        (["spec", "config", "lfu.decay"], 17),
    ],
)
def test_a_field_is_found_on_its_line(steps, line):
    [document] = parse(EXAMPLE, "f.yaml")
    assert document.line_of(steps) == line


@pytest.mark.parametrize(
    ("steps", "line"),
    [
        (["nothing"], 2),
        (["spec", "image"], 7),
        (["spec", "replicas", "deeper", 3], 8),
        (["spec", "pod", "sidecars", 7, "name"], 11),
        (["spec", "pod", "sidecars", "name"], 11),
    ],
)
def test_a_field_that_is_missing_is_looked_for_at_its_nearest_parent(steps, line):
    [document] = parse(EXAMPLE, "f.yaml")
    assert document.line_of(steps) == line


def test_what_an_alias_or_a_merge_brings_is_found_where_it_was_written():
    [document] = parse(b"a: &x\n  b: 1\nc: *x\nd:\n  <<: *x\n", "f.yaml")
    assert [document.line_of(steps) for steps in (["c"], ["c", "b"], ["d", "b"])] == [3, 2, 2]


def test_a_number_or_a_truth_value_comes_with_what_was_written_for_it():
    [document] = parse(b"a: 7.0\nb: on\nc: [017, ~]\nd: '1'\ne: text\n", "f.yaml")
    found = [document.scalar(steps) for steps in (["a"], ["b"], ["c", 0], ["c", 1])]
    assert found == [(7, "7.0"), (True, "on"), (15, "017"), (None, "~")]


@pytest.mark.parametrize("steps", [["d"], ["e"], ["c"], ["f"], ["a", "b"], []])
def test_what_is_text_or_a_map_or_absent_is_no_scalar(steps):
    [document] = parse(b"a: 7.10\nb: on\nc: [017, ~]\nd: '1'\ne: text\n", "f.yaml")
    assert document.scalar(steps) is None


def test_a_key_that_looks_like_an_index_is_found():
    [document] = parse(b"a:\n  '1': x\n", "f.yaml")
    assert document.line_of(["a", 1]) == 2


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\nb: 2\na: 3\n", '3: "a" stands here a second time: keep this one or that on line 1'),
        ("a:\n\tb: 1\n", "2: a tab stands in the indentation: indent with spaces"),
        ("\ta: 1\n", "1: a tab stands in the indentation: indent with spaces"),
        ("a: 1\n\tb: 1\n", "2: a tab stands in the indentation: indent with spaces"),
        ("a: @b\n", '1: "@" cannot begin a value: quote the value'),
        ("a: b: c\n", "1: a colon stands where no field can: check indentation, or quote the text"),
        ("a: 1\nfoo\nb: 2\n", "2: this is no field and no list entry: write name: value, or indent the text"),
        ("a: 1\nb: 'x\nc: 2\n", "2: a quote opens here and nothing closes it: close it"),
        (
            "a: 1\nb: [1, 2\n",
            "2: a bracket opens here and its entries do not go on as they should: check commas, close it",
        ),
        ("a: [\n\n\n", "1: a value is missing, or its bracket is not open or not closed: check the brackets"),
        ("a:\n  b: 1\n c: 2\n", "3: this does not line up with the fields above: check indentation and quotes"),
        ("a: 1\n...\nb: 2\n", "3: this belongs to no document: indent as above, or write --- before an object"),
        ("a: *b\n", '1: no anchor "b" ends above this alias: write the anchor first, or quote the *'),
        ("a: &b [*b]\n", '1: no anchor "b" ends above this alias: write the anchor first, or quote the *'),
        ("a: !vault x\n", '1: the tag "!vault" is not known here: write the value without a tag'),
        ("a: !!python/none x\n", '1: the tag "!!python/none" is not known here: write the value without a tag'),
        ("a: !!binary eA==\n", '1: the tag "!!binary" is not known here: write the value without a tag'),
        ("a: !!map [1]\n", '1: the tag "!!map" is not known here: write the value without a tag'),
        ("on: 1\n", '1: the key "on" is no text in YAML: put it in quotes'),
        ("a:\n  1: 2\n", '2: the key "1" is no text in YAML: put it in quotes'),
        ("~: 2\n", '1: the key "~" is no text in YAML: put it in quotes'),
        ("a: {{ .Values.x }}\n", "1: a map, list or alias stands as a key: write text, and fill in templates first"),
        ("? [a]\n: 1\n", "1: a map, list or alias stands as a key: write text, and fill in templates first"),
        ("a: .inf\n", "1: .inf is no number that JSON can hold: quote it if it is text"),
        ("a: {<<: 1}\n", "1: << takes in something that is no map: write an alias of a map after <<"),
        ("# c\n- a: 1\n", "2: a list is no object: write fields, with --- between one object and the next"),
        ("just text\n", "1: a single value is no object: write fields, with --- between one object and the next"),
        ("kind: List\nitems:\n- []\n", "3: a list is no object: write fields, with --- between one object and the next"),  # noqa: E501
        ("a: 1\nb: \x07\n", '2: a control character stands here: remove it, or write "\\u0007"'),
        ('a: "\\ud800"\n', "1: the escape stands for half a character: write the character itself"),
        ("%YAML 3.0\n", "1: is no YAML: found incompatible YAML document: correct this line or the one above"),
    ],
)  # fmt: skip
def test_what_readers_disagree_about_is_refused_with_its_line(text, said):
    assert problem(text) == f"f.yaml:{said}"


def test_a_file_of_a_hundred_megabytes_is_refused_at_once():
    assert problem(b"#" * (MOST_BYTES + 1)) == (
        "f.yaml:1: holds more than 10 MiB: give a file of documents, or split it"
    )


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16_is_named_with_or_without_its_mark(encoding):
    assert problem(EXAMPLE.decode().encode(encoding)) == "f.yaml:1: is written as UTF-16: save it as UTF-8"


def test_a_mark_of_utf8_is_no_part_of_the_document():
    assert values(b"\xef\xbb\xbfa: 1\n") == [{"a": 1}]


def test_binary_is_named():
    assert problem(b"\x7fELF\x02\x01\n\x01\0\0\0") == (
        "f.yaml:2: holds a NUL byte and is no text: give a file of documents"
    )


@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
@pytest.mark.parametrize("depth", [DEEPEST + 1, 1000, 100_000])
def test_nesting_beyond_all_sense_is_refused(opening, depth):
    assert (
        problem("a:\n  " + opening * depth)
        == "f.yaml:2: maps and lists stand more than 100 deep here: write it flatter"
    )


def test_nesting_up_to_the_bound_is_read():
    text = "[" * (DEEPEST - 1) + "]" * (DEEPEST - 1)
    assert len(values(f"a: {text}")) == 1


def test_an_alias_cannot_nest_deeper_than_the_bound_either():
    text = f"a: &a {'[' * 60}{']' * 60}\nb: {'[' * 60}*a{']' * 60}\n"
    assert problem(text) == "f.yaml:2: maps and lists stand more than 100 deep here: write it flatter"


@pytest.mark.parametrize("form", ["[{aliases}]", "{{x: [{aliases}]}}"])
def test_a_bomb_of_aliases_is_refused_before_it_goes_off(form):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for level in range(1, 12):
        lines.append(f"a{level}: &a{level} " + form.format(aliases=", ".join([f"*a{level - 1}"] * 10)))
    assert problem("\n".join(lines)).endswith(
        f"there are more than {MOST_VALUES} values up to here: write fewer, or aliases less"
    )


def test_a_bomb_of_merges_is_refused_before_it_goes_off():
    lines = ["a0: &a0 {" + ", ".join(f"k{n}: 1" for n in range(1000)) + "}"]
    lines += [f"a{level}: {{<<: *a0}}" for level in range(1, 200)]
    assert "more than" in problem("\n".join(lines))


def test_a_document_of_too_many_values_is_refused():
    assert problem("a: [" + "1," * MOST_VALUES + "1]").startswith("f.yaml:1: there are more than")
