"""redisop and the real kubectl understand each other's YAML: what one prints or takes, the other reads alike.

Needs no cluster.
"""

import json
import subprocess

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from redisop.documents import Document, parse
from redisop.manifest import list_of, to_json, to_yaml
from tests.cluster import binaries
from tests.trouble import TROUBLE_WORDS, texts

# One call of kubectl costs more than a hundred words in it.
WORDS_A_CALL = 100


@pytest.fixture(scope="module")
def read_by_kubectl():
    kubectl = binaries.ensure_for_api_server() / "kubectl"

    def read(text: str) -> list[dict[str, object]]:
        answer = subprocess.run(
            [kubectl, "annotate", "--local", "--filename=-", "read-by=kubectl", "--output=json"],
            input=text.encode(),
            capture_output=True,
            env={"HOME": "/nonexistent"},
        )
        assert answer.returncode == 0, answer.stderr.decode()
        return list(_values(answer.stdout.decode()))

    return read


def _values(text: str):
    decoder = json.JSONDecoder()
    while text := text.lstrip():
        value, end = decoder.raw_decode(text)
        yield value
        text = text[end:]


def carrier(**fields: object) -> dict[str, object]:
    return {"apiVersion": "example.com/v1", "kind": "Carrier", "metadata": {"name": "carrier"}, **fields}


def everywhere(words: list[str]) -> list[dict[str, object]]:
    """Return manifests that have each word as a value, in lists of lists, in maps of a list, and as a key."""
    return [
        carrier(values=words),
        carrier(nested=[[word] for word in words]),
        carrier(maps=[{"first": word, "last": word} for word in words]),
        carrier(keys={word: word for word in words}),
    ]


def sent_fields(read: list[dict[str, object]]) -> list[dict[str, object]]:
    return [{field: value for field, value in one.items() if field != "metadata"} for one in read]


def test_kubectl_reads_each_trouble_word_as_it_was_meant_wherever_it_stands(read_by_kubectl):
    sent = everywhere(TROUBLE_WORDS)
    assert sent_fields(read_by_kubectl(to_yaml(sent))) == sent_fields(sent)


def test_kubectl_reads_a_word_at_the_very_end_of_a_document_as_it_was_meant(read_by_kubectl):
    sent = [carrier(last=word) for word in TROUBLE_WORDS]
    assert sent_fields(read_by_kubectl(to_yaml(sent))) == sent_fields(sent)


def test_kubectl_reads_each_number_truth_and_nothing_as_it_was_meant(read_by_kubectl):
    sent = carrier(leaves=[0, -1, 2**53, 0.5, 1e-05, 1e300, -2.5, True, False, {}, [], [[]], [{}], [[{"a": []}]]])
    assert sent_fields(read_by_kubectl(to_yaml([sent]))) == sent_fields([sent])


def test_kubectl_reads_the_json_list_as_the_manifests_in_it(read_by_kubectl):
    sent = everywhere(TROUBLE_WORDS)
    assert sent_fields(read_by_kubectl(to_json(list_of(sent)))) == sent_fields(sent)


@given(st.lists(texts(), min_size=WORDS_A_CALL, max_size=WORDS_A_CALL))
@settings(
    max_examples=20,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)
def test_kubectl_reads_any_text_as_it_was_meant(read_by_kubectl, words):
    sent = everywhere(words)
    assert sent_fields(read_by_kubectl(to_yaml(sent))) == sent_fields(sent)


# -- the other way round: what a document says ------------------------------------------------------------------------

# The edges of what is a number, beside the trouble words.
NUMBERS = [
    "0b", "0B11", "0O7", "0b12", "+0x1f", "-0x1F", "+017", "-017", "018", "0_7", "_1", "1_", "1__", "+", "+a", "1e",
    "1e+", "1.e3", ".5e1", ".5_1", "1.2.3", "0x1g", "-.5", "+.5", "0b_1", "1e-7", "9223372036854775807",
    "-9223372036854775808", "-9223372036854775809", "0xffffffffffffffff", "12345678901234567890", "01e3", "-1e400",
    "7.10", "0.1", "1:2", "T", "F", "t", "f", "tRUE", "NaN", "inf", "0777777777777777777777777", "1,000", "0o18",
    "-0.0", "2024-02-30", "08.5", "0_8", "0xfffffffffffffffff", "18446744073709551615", "-0b101", "1e309",
]  # fmt: skip


def plain(words: list[str]) -> list[str]:
    """Return those that can stand without quotes as an item of a list, according to redisop."""
    return [word for word in words if is_item(f"- {word}\n")]


def is_item(line: str) -> bool:
    [*found] = parse(f"items:\n{line}".encode(), "x")
    return len(found) == 1 and isinstance(found[0], Document) and len(found[0].value["items"]) == 1


def same(ours: object, theirs: object) -> bool:
    """kubectl prints whole numbers beyond 64 bits to the precision of a float."""
    if isinstance(ours, float) and abs(ours) >= 2**63:
        return float(theirs) == ours
    return type(ours) is type(theirs) and ours == theirs


def test_a_word_without_quotes_is_to_redisop_what_it_is_to_kubectl(read_by_kubectl):
    words = plain([*TROUBLE_WORDS, *NUMBERS])
    assert len(words) > 200
    text = "apiVersion: v1\nkind: A\nmetadata: {name: a}\nvalues:\n" + "".join(f"- {word}\n" for word in words)
    [document] = parse(text.encode(), "x")
    [by_kubectl] = read_by_kubectl(text)
    differences = [
        (word, ours, theirs)
        for word, ours, theirs in zip(words, document.value["values"], by_kubectl["values"], strict=True)
        if not same(ours, theirs)
    ]
    assert not differences


def test_documents_lists_anchors_and_merges_are_to_redisop_what_they_are_to_kubectl(read_by_kubectl):
    text = """# a comment
apiVersion: v1
kind: A
metadata: &m {name: a, labels: {x: "1"}}
spec: {<<: *m, name: b, other: *m, block: "a\\tb", text: !!str on}
--- # another
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: B
  metadata: {name: b}
  spec:
    a: |2
        x
       y
"""
    ours = [document.value for document in parse(text.encode(), "x")]
    assert [{**one, "metadata": None} for one in ours] == [{**one, "metadata": None} for one in read_by_kubectl(text)]
