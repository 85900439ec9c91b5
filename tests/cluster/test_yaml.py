"""The real kubectl reads every string that redisop prints as that same string. Needs no cluster."""

import json
import subprocess

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

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
