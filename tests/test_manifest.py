"""Manifests are printed so that every reader of YAML gets back what was meant."""

import json
from collections import UserString

import msgspec
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from redisop.manifest import Key, key, list_of, to_json, to_yaml
from tests.trouble import TROUBLE_WORDS, texts

leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts()
trees = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts(), inner, max_size=4),
    max_leaves=25,
)


def read(text: str) -> list[object]:
    return list(yaml.load_all(text, Loader=yaml.CSafeLoader))


@given(st.lists(st.dictionaries(texts(), trees, min_size=1, max_size=4), min_size=1, max_size=3))
@settings(deadline=None)
def test_what_is_printed_as_yaml_reads_as_what_was_meant(manifests):
    assert read(to_yaml(manifests)) == manifests


@given(st.dictionaries(texts(), trees, max_size=5))
@settings(deadline=None)
def test_what_is_printed_as_json_reads_as_what_was_meant(manifest):
    assert json.loads(to_json(manifest)) == manifest


@pytest.mark.parametrize("word", TROUBLE_WORDS, ids=ascii)
def test_a_word_that_some_reader_takes_for_another_type_is_quoted(word):
    text = to_yaml([{"word": word}])
    plain = yaml.compose(text).value[0][1].style is None
    assert not plain, text


@pytest.mark.parametrize(
    "word", ["redis:7.0-alpine", "512Mi", "30s", "apps/v1", "app.kubernetes.io/name", "/etc/redisop", "memory 512Mi"]
)
def test_an_everyday_word_is_not_quoted(word):
    assert to_yaml([{"word": word}]) == f"word: {word}\n"


def test_keys_keep_the_order_in_which_they_were_put():
    assert to_yaml([{"kind": 1, "apiVersion": 2, "metadata": 3}]) == "kind: 1\napiVersion: 2\nmetadata: 3\n"


def test_list_items_stand_below_their_key_as_kubectl_prints_them():
    assert to_yaml([{"ports": [{"name": "redis", "port": 6379}]}]) == "ports:\n- name: redis\n  port: 6379\n"


def test_a_script_is_a_literal_block():
    script = "#!/bin/sh\nset -eu\n\nif true; then\n\techo: '# no comment'\nfi\n---\n"
    assert to_yaml([{"entry.sh": script}]) == (
        "entry.sh: |\n  #!/bin/sh\n  set -eu\n\n  if true; then\n  \techo: '# no comment'\n  fi\n  ---\n"
    )


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("a\nb", "|-\n  a\n  b\n"),
        ("a\nb\n", "|\n  a\n  b\n"),
        ("  a\nb\n", "|2\n    a\n  b\n"),
    ],
)
def test_a_literal_block_says_how_it_begins_and_ends(text, printed):
    assert to_yaml([{"t": text}]) == f"t: {printed}"


def test_manifests_are_separate_documents_without_a_leading_or_trailing_marker():
    assert to_yaml([{"a": 1}, {"a": "b\n"}, {"a": 3}]) == "a: 1\n---\na: |\n  b\n---\na: 3\n"


def test_a_dict_that_stands_twice_is_printed_twice():
    labels = {"app": "redis"}
    assert to_yaml([{"labels": labels, "matchLabels": labels}]) == (
        "labels:\n  app: redis\nmatchLabels:\n  app: redis\n"
    )


@pytest.mark.parametrize("foreign", [(1, 2), {1, 2}, b"x", UserString("x"), type("Text", (str,), {})("x")], ids=repr)
def test_what_is_not_plain_data_is_refused(foreign):
    with pytest.raises(TypeError, match="not"):
        to_yaml([{"value": foreign}])


@pytest.mark.parametrize("name", [1, True, None, ("a",)], ids=repr)
def test_a_key_that_is_not_text_is_refused(name):
    with pytest.raises(TypeError, match="key"):
        to_yaml([{name: "a"}])


@pytest.mark.parametrize("value", ["\ud800", float("nan"), float("inf")], ids=ascii)
def test_what_no_reader_could_read_is_refused(value):
    with pytest.raises(ValueError):  # noqa: PT011
        to_yaml([{"value": value}])


def test_json_is_indented_as_kubectl_does():
    assert to_json({"kind": "Secret", "data": {"a": "b"}}) == (
        '{\n    "kind": "Secret",\n    "data": {\n        "a": "b"\n    }\n}\n'
    )


def test_several_manifests_become_a_list_that_kubectl_reads():
    manifests = [{"kind": "Service"}, {"kind": "Secret"}]
    assert msgspec.json.decode(to_json(list_of(manifests))) == {"apiVersion": "v1", "kind": "List", "items": manifests}


def test_a_key_prints_as_kind_namespace_name_and_leaves_out_a_missing_namespace():
    service = {"kind": "Service", "metadata": {"name": "a", "namespace": "ns"}}
    assert str(key(service)) == "Service/ns/a"
    assert str(key({"kind": "Namespace", "metadata": {"name": "ns"}})) == "Namespace/ns"
    assert key(service) == Key("Service", "ns", "a")
