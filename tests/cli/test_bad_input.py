"""Bad input gives one clear line with file and line, exit code 3, nothing on stdout; what is good is still rendered."""

import io
import os
from types import SimpleNamespace

import pytest
import yaml

from redisop.cli.sources import gather
from tests.cli.run import EXAMPLE, document, redisop

BROKEN = {
    "a tab in the indentation": ("a:\n\tb: 1\n", 2, "a tab stands in the indentation"),
    "a key twice": (EXAMPLE + "  memory: 1Gi\n", 11, '"memory" stands here a second time'),
    "a bomb of aliases": (
        "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
        + "".join(f"{b}: &{b} [{','.join([f'*{a}'] * 10)}]\n" for a, b in zip("abcdefg", "bcdefgh", strict=True)),
        5,
        "more than 100000 values",
    ),
    "a hundred megabytes": (b" " * (100 * 2**20), 1, "holds more than 10 MiB"),
    "binary": (b"\x7fELF\x02\x01\x01\x00\x00", 1, "holds a NUL byte"),
    "UTF-16": (EXAMPLE.encode("utf-16"), 1, "is written as UTF-16"),
    "Latin-1": (EXAMPLE.encode() + b"# \xe9\n", 11, "is not UTF-8"),
    "a list": ("- 1\n- 2\n", 1, "a list is no object"),
    "a word": ("hello\n", 1, "a single value is no object"),
    "a bracket too few": ("spec: {replicas: 1\n\n\n", 1, "a bracket opens here"),
    "a hundred thousand brackets": ("a: " + "[" * 100_000, 1, "100 deep"),
    "a tag": ("spec: !vault x\n", 1, 'the tag "!vault"'),
    "no kind": ("apiVersion: example.com/v1\nmetadata: {name: a}\n", 1, "kind: is missing"),
    "an unknown version": ("apiVersion: example.com/v9\nkind: Redis\n", 1, "apiVersion"),
    "an unknown kind of ours": ("apiVersion: example.com/v1\nkind: Rediss\n", 2, "kind"),
    "no metadata": ("apiVersion: example.com/v1\nkind: Redis\nspec: {}\n", 1, "metadata: is missing"),
    "no name": ("apiVersion: example.com/v1\nkind: Redis\nmetadata: {}\nspec: {}\n", 3, "metadata.name: is missing"),
    "a name of 60 characters": (document("a" * 60), 4, "metadata.name: is not a name for a Redis"),
    "a namespace that leads out of the folder": (document(namespace="../../etc"), 5, "metadata.namespace"),
    "a spec that is a list": (document().partition("spec:")[0] + "spec: [1]\n", 5, "spec: a list is not a map"),
    "version: 7.0": (document(version="7.0"), 6, 'spec.version: 7.0 is a number in YAML: quote it: version: "7.0"'),
    "version: 7.10": (document(version="7.10"), 6, 'spec.version: 7.10 is a number in YAML: quote it: version: "7.10"'),
    "image: on": (document(image="on"), 6, 'spec.image: on is true or false in YAML: quote it: image: "on"'),
    'replicas: "two"': (document(replicas='"two"'), 6, 'spec.replicas: "two" is not a whole number'),
    "memory: lots": (document(memory="lots"), 6, 'spec.memory: "lots" is not a quantity'),
    "storage: -1Gi": (document(storage="-1Gi"), 6, "spec.storage"),
    "an unknown field": (document(replica="2"), 6, "spec.replica: is not a field: did you mean replicas?"),
    "a field in the wrong place": (document(maxmemory="50%"), 6, "spec.maxmemory: is not a field here"),
    "a key that is no text": (document(on="1"), 6, 'the key "on" is no text'),
}  # fmt: skip


@pytest.mark.parametrize(("content", "line", "said"), BROKEN.values(), ids=BROKEN.keys())
def test_a_bad_document_is_one_line_and_exit_3_and_the_others_are_still_rendered(tmp_path, content, line, said):
    bad, good = tmp_path / "bad.yaml", tmp_path / "good.yaml"
    bad.write_bytes(content if isinstance(content, bytes) else content.encode())
    good.write_text(document("good"))

    alone = redisop("render", "-f", bad)
    assert (alone.code, alone.stdout) == (3, "")
    assert len(alone.lines) == 1, alone.stderr
    assert alone.stderr.startswith(f"{bad}:{line}: error: ")
    assert said in alone.stderr

    both = redisop("render", "-f", bad, "-f", good)
    assert both.code == 3
    assert both.stdout == redisop("render", "-f", good).stdout != ""
    assert both.lines == alone.lines


@pytest.mark.parametrize("command", ["validate", "explain"])
@pytest.mark.parametrize(("content", "line", "said"), BROKEN.values(), ids=BROKEN.keys())
def test_validate_and_explain_say_the_same_of_it(tmp_path, command, content, line, said):
    bad = tmp_path / "bad.yaml"
    bad.write_bytes(content if isinstance(content, bytes) else content.encode())
    ended = redisop(command, "-f", bad)
    assert (ended.code, ended.stdout) == (3, "")
    assert ended.stderr == redisop("render", "-f", bad).stderr


def test_documents_around_a_broken_one_in_the_same_file_are_rendered():
    good = [document(name) for name in ("first", "last")]
    ended = redisop("render", "-f", "-", stdin=f"{good[0]}---\nspec: [\n---\n{good[1]}")
    assert ended.code == 3
    assert ended.stderr.startswith("stdin:9: error: a value is missing")
    assert len(ended.lines) == 1
    assert ended.stdout == "---\n".join(redisop("render", "-f", "-", stdin=one).stdout for one in good)


def test_every_violation_of_every_document_is_said_in_the_order_of_the_lines():
    ended = redisop("validate", "-f", "-", stdin=document(replicas="x", drift="y") + "---\n" + document(memory="z"))
    assert [line.partition(": error: ")[0] for line in ended.lines] == ["stdin:6", "stdin:7", "stdin:16"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "holds no document"),
        ("\n\n# a comment\n---\n", "holds no document"),
    ],
)
def test_an_empty_file_is_said_to_be_empty(tmp_path, content, said):
    (tmp_path / "empty.yaml").write_text(content)
    ended = redisop("render", "-f", tmp_path / "empty.yaml")
    assert (ended.code, ended.stdout) == (3, "")
    assert ended.stderr == f"{tmp_path}/empty.yaml: error: {said}: give a file with a Redis document in it\n"


def test_empty_stdin_is_said_to_be_empty():
    ended = redisop("render", "-f", "-")
    assert (ended.code, ended.stderr) == (
        3,
        "stdin: error: holds no document: give a file with a Redis document in it\n",
    )


def test_a_missing_file_is_named():
    ended = redisop("render", "-f", "/no/such.yaml")
    assert (ended.code, ended.stdout) == (3, "")
    assert ended.stderr == "/no/such.yaml: error: no such file or directory: check the path and its permissions\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_named(tmp_path):
    (tmp_path / "secret.yaml").write_text(EXAMPLE)
    (tmp_path / "secret.yaml").chmod(0)
    ended = redisop("render", "-f", tmp_path / "secret.yaml")
    assert (ended.code, ended.lines) == (
        3,
        [f"{tmp_path}/secret.yaml: error: permission denied: check the path and its permissions"],
    )


def test_no_more_is_read_than_it_takes_to_refuse_it(monkeypatch):
    asked_for = []

    class Endless(io.RawIOBase):
        def read(self, size=-1):
            asked_for.append(size)
            return b"#" * size

    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=Endless()))
    [found] = gather(("-",), recursive=False)
    assert found.wrong == "holds more than 10 MiB"
    assert asked_for == [10 * 2**20 + 1]


def test_a_name_that_is_a_trap_for_terminals_is_harmless(tmp_path):
    ended = redisop("render", "-f", f"{tmp_path}/\x1b[31m\n")
    assert ended.lines == [
        f"{tmp_path}/\ufffd[31m\ufffd: error: no such file or directory: check the path and its permissions"
    ]


def test_a_folder_without_documents_is_named(tmp_path):
    (tmp_path / "notes.txt").write_text(EXAMPLE)
    ended = redisop("render", "-f", tmp_path)
    assert (ended.code, ended.stdout) == (3, "")
    assert ended.lines == [
        f"{tmp_path}: error: no file in this folder ends in .yaml, .yml, .json: give files, or -R for the folders in it"
    ]


def test_an_object_of_another_kind_is_passed_over_with_a_note():
    other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n"
    ended = redisop("render", "-f", "-", stdin=other + document())
    assert ended.code == 0
    assert ended.lines == ["stdin:1: note: ConfigMap of v1 is passed over: redisop takes Redis of example.com/v1"]
    assert ended.stdout == redisop("render", "-f", "-", stdin=document()).stdout


def test_nothing_but_objects_of_other_kinds_is_an_error():
    ended = redisop("render", "-f", "-", stdin="apiVersion: v1\nkind: Secret\n---\napiVersion: other/v1\nkind: Redis\n")
    assert (ended.code, ended.stdout) == (3, "")
    assert ended.lines[-1] == "redisop: error: no Redis document in -: begin one with apiVersion: example.com/v1"


def test_a_list_is_opened():
    items = [yaml.safe_load(document(name)) for name in ("a", "b")]
    ended = redisop("render", "-f", "-", stdin=yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": items}))
    assert ended.code == 0
    assert ended.stdout == redisop("render", "-f", "-", stdin="---\n".join(map(document, "ab"))).stdout


def test_two_documents_of_one_name_are_refused_with_both_places(tmp_path):
    (tmp_path / "one.yaml").write_text(document("twin") + "---\n" + document("single"))
    (tmp_path / "two.yaml").write_text("# x\n" + document("twin"))
    ended = redisop("render", "-f", tmp_path / "one.yaml", "-f", tmp_path / "two.yaml")
    assert ended.code == 3
    assert ended.lines == [
        f"{tmp_path}/two.yaml:2: error: metadata.name: Redis/twin stands at {tmp_path}/one.yaml:1 too: leave one out"
    ]
    assert ended.stdout == redisop("render", "-f", "-", stdin=document("single")).stdout


def test_two_documents_of_one_name_in_two_namespaces_are_two():
    ended = redisop("render", "-f", "-", stdin=document("a", "shop") + "---\n" + document("a", "bank"))
    assert ended.code == 0


def test_a_document_of_another_namespace_than_asked_for_is_refused_as_kubectl_does():
    ended = redisop("render", "-n", "shop", "-f", "-", stdin=document(namespace="other"))
    assert (ended.code, ended.stdout) == (3, "")
    assert ended.lines == [
        'stdin:5: error: metadata.namespace: "other" is not shop: leave one out, or call with -n other'
    ]
