"""`redisop render`: manifests on stdout, talk on stderr."""

import json

import pytest
import yaml

from redisop.api.read import read
from redisop.manifest import to_yaml
from redisop.render import render
from redisop.render.inputs import Inputs
from tests.cli.run import EXAMPLE, document, redisop


def manifests(*arguments: str, stdin: str = EXAMPLE) -> list[dict]:
    ended = redisop("render", "-f", "-", *arguments, stdin=stdin)
    assert ended.code == 0, ended.stderr
    return list(yaml.safe_load_all(ended.stdout))


def rendered(text: str, inputs: Inputs | None = None) -> list[dict]:
    redis = read(yaml.safe_load(text)).redis
    return render(redis.metadata, redis.spec, inputs or Inputs())


def test_what_is_printed_is_what_the_pure_function_returns():
    ended = redisop("render", "-f", "-", stdin=EXAMPLE)
    assert ended.code == 0
    assert ended.stdout == to_yaml(rendered(EXAMPLE))


def test_json_is_one_list_of_the_same_manifests():
    ended = redisop("render", "-o", "json", "-f", "-", stdin=EXAMPLE)
    assert json.loads(ended.stdout) == {"apiVersion": "v1", "kind": "List", "items": rendered(EXAMPLE)}


@pytest.mark.parametrize(
    ("arguments", "inputs"),
    [
        (["--primary", "1"], Inputs(primary=1)),
        (["--primary", "1", "--epoch", "7"], Inputs(primary=1, epoch=7)),
        (["--managed"], Inputs(managed=True)),
    ],
)
def test_options_are_the_inputs_of_the_pure_function(arguments, inputs):
    assert manifests(*arguments) == rendered(EXAMPLE, inputs) != rendered(EXAMPLE)


def test_a_primary_that_is_no_member_is_refused_at_the_line_of_replicas():
    ended = redisop("render", "--primary", "2", "-f", "-", stdin=EXAMPLE)
    assert (ended.code, ended.stdout) == (3, "")
    assert ended.lines == [
        "stdin:6: error: spec.replicas: no member has ordinal 2: the last one is my-redis-cluster-1: "
        "give another --primary, or more replicas"
    ]


def test_a_namespace_is_filled_in_where_the_document_names_none():
    found = manifests("-n", "shop", stdin=document("a") + "---\n" + document("b", "shop"))
    assert {manifest["metadata"]["namespace"] for manifest in found} == {"shop"}


def test_without_a_namespace_none_is_printed():
    assert all("namespace" not in manifest["metadata"] for manifest in manifests())


def test_the_secret_is_not_rendered_and_a_note_has_the_line_that_makes_it():
    ended = redisop("render", "-n", "shop", "-f", "-", stdin=EXAMPLE)
    assert "kind: Secret" not in ended.stdout
    assert ended.lines == [
        "stdin:1: note: the pods of my-redis-cluster wait for the Secret my-redis-cluster-auth: "
        "make it once: redisop secret my-redis-cluster -n shop | kubectl create -f -"
    ]


@pytest.mark.parametrize("auth", ["{enabled: false}", "{secretRef: {name: mine}}"])
def test_no_secret_is_asked_for_where_none_or_another_is_used(auth):
    assert redisop("render", "-f", "-", stdin=document(auth=auth)).stderr == ""


def test_a_warning_stops_nothing():
    ended = redisop("render", "-f", "-", stdin=document(image="redis:8.2", storage="1Gi", persistence="{mode: None}"))
    assert ended.code == 0
    assert ended.lines[0].startswith("stdin:8: warning: spec.persistence.mode: is None")
    assert ended.stdout


def test_what_only_an_unmanaged_redis_must_know_is_not_said_of_a_managed_one():
    text = document(replicas="2", persistence="{mode: RDB}")
    [warning] = redisop("render", "-f", "-", stdin=text).lines
    assert warning.startswith("stdin:7: warning: spec.persistence.mode: ")
    assert redisop("render", "--managed", "-f", "-", stdin=text).lines == []


def test_files_come_in_the_order_given_and_those_of_a_folder_in_the_order_of_their_names(tmp_path):
    folder = tmp_path / "documents"
    (folder / "deeper").mkdir(parents=True)
    for name in ("c.json", "b.yml", "a.yaml", "d.txt", "deeper/e.yaml", "z.yaml"):
        (folder / name).write_text(json.dumps(yaml.safe_load(document(name[-6] if "/" in name else name[0]))))
    names = [
        m["metadata"]["name"] for m in manifests("-f", str(folder), stdin=document("x")) if m["kind"] == "StatefulSet"
    ]
    assert names == ["x", "a", "b", "c", "z"]
    names = [
        m["metadata"]["name"]
        for m in manifests("-R", "-f", str(folder / "z.yaml"), "-f", str(folder / "deeper"), stdin=document("x"))
        if m["kind"] == "StatefulSet"
    ]
    assert names == ["x", "z", "e"]


def test_a_file_given_by_name_may_be_called_anything(tmp_path):
    (tmp_path / "redis").write_text(document())
    assert redisop("render", "-f", tmp_path / "redis").code == 0


def test_the_same_path_twice_is_read_once(tmp_path):
    (tmp_path / "a.yaml").write_text(document())
    ended = redisop("render", "-f", tmp_path / "a.yaml", "-f", tmp_path / "a.yaml")
    assert (ended.code, ended.stderr) == (0, "")


def test_nothing_is_printed_when_every_document_is_bad():
    assert redisop("render", "-o", "json", "-f", "-", stdin=document(memory="x")).stdout == ""


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["-f"],
        ["-f", "-", "-o", "toml"],
        ["-f", "-", "--primary", "-1"],
        ["-f", "-", "--primary", "one"],
        ["-f", "-", "--epoch", "-1"],
        ["-f", "-", "-n", "Shop"],
        ["-f", "-", "-n", ""],
        ["-f", "-", "-n", "a" * 64],
        ["-f", "-", "--nonsense"],
        ["-f", "-", "extra"],
        ["-f", "-", "--output-dir", "out", "-o", "json"],
        ["-f", "-", "--output-dir", ""],
    ],
)
def test_a_wrong_call_is_exit_2_with_nothing_on_stdout(arguments):
    ended = redisop("render", *arguments, stdin=EXAMPLE)
    assert (ended.code, ended.stdout) == (2, "")
    assert ended.lines[-1].startswith("Error: ")
