"""`redisop explain`: every value that the document does not say itself, and where it comes from."""

import json

import pytest
import yaml

from tests.cli.run import EXAMPLE, document, redisop


def explained(text: str) -> dict[str, tuple[object, str]]:
    ended = redisop("explain", "-o", "json", "-f", "-", stdin=text)
    assert ended.code == 0, ended.stderr
    [one] = json.loads(ended.stdout)["documents"]
    return {value["name"]: (value["value"], value["origin"]) for value in one["values"]}


def test_what_follows_from_other_fields_is_shown_with_them():
    found = explained(EXAMPLE)
    assert found["maxmemory"] == ("384Mi", "75 % of memory 512Mi")
    assert found["mode"] == ("Replication", "Auto with replicas 2")
    assert found["persistence"] == ("AOF", "storage 2Gi")
    assert found["replicationBacklog"] == ("32Mi", "memory 512Mi / 16, within 1Mi and 256Mi")
    assert found["terminationGracePeriod"] == ("35s", "30s + memory 512Mi / 100 MB/s, at most 600s")
    assert found["secret"] == ("my-redis-cluster-auth", "name my-redis-cluster, key password")
    assert found["defaultsRevision"] == (1, "newest table of defaults")


def test_what_follows_from_the_table_of_defaults_names_it():
    found = explained(document().replace('  version: "8.2"\n', ""))
    assert found["version"] == ("6.2", "table 1 of defaults")
    assert found["image"] == ("redis:6.2-alpine", "version 6.2, table 1 of defaults")
    assert explained(document(image="redis:8.2.1").replace('  version: "8.2"\n', ""))["version"] == (
        "8.2.1",
        "tag of image redis:8.2.1",
    )


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"mode": "Standalone"}, "mode"),
        ({"version": '"8.2"'}, "version"),
        ({"image": "redis:8.2"}, "image"),
        ({"persistence": "{mode: RDB}"}, "persistence"),
        ({"tuning": "{maxmemory: 100Mi}"}, "maxmemory"),
        ({"tuning": "{replicationBacklog: 2Mi}"}, "replicationBacklog"),
        ({"pod": "{terminationGracePeriodSeconds: 40}"}, "terminationGracePeriod"),
        ({"pod": "{serviceAccountName: mine}"}, "serviceAccount"),
        ({"auth": "{enabled: false}"}, "secret"),
        ({"auth": "{secretRef: {name: mine}}"}, "secret"),
        ({"monitoring": "{exporter: {enabled: true, image: mine}}"}, "exporterImage"),
        ({}, "exporterImage"),
        ({"defaultsRevision": "1"}, "defaultsRevision"),
        ({"persistence": "{mode: AOF}"}, "spec.persistence.save"),
        ({"storage": "0"}, "spec.persistence.save"),
        ({"storage": "0"}, "spec.persistence.appendfsync"),
        ({"persistence": "{mode: RDB}"}, "spec.persistence.appendfsync"),
    ],
)
def test_what_the_document_says_itself_or_does_not_use_is_not_explained(fields, name):
    assert name not in explained(document(**fields))


def test_constant_defaults_are_listed_unless_the_document_sets_them():
    found = explained(document(update="{minReadySeconds: 5}", persistence="{mode: Both}"))
    assert "spec.update.minReadySeconds" not in found
    assert found["spec.update.syncTimeout"] == ("15m", "default")
    assert found["spec.persistence.save"][0][0] == {"seconds": 3600, "changes": 1}
    assert found["spec.persistence.appendfsync"] == ("EverySec", "default")
    assert "spec.memory" in found


def test_a_document_that_says_what_was_explained_renders_to_the_same(tmp_path):
    whole = yaml.safe_load(EXAMPLE)
    for path, (value, origin) in explained(EXAMPLE).items():
        if origin == "default":
            *parents, last = path.split(".")
            part = whole
            for parent in parents:
                part = part.setdefault(parent, {})
            part[last] = value
    said = redisop("render", "-f", "-", stdin=yaml.safe_dump(whole))
    assert said.stdout == redisop("render", "-f", "-", stdin=EXAMPLE).stdout


def test_text_is_aligned_and_says_the_same():
    ended = redisop("explain", "-f", "-", stdin=EXAMPLE + "  persistence: {mode: Both}\n")
    lines = ended.stdout.splitlines()
    assert lines[0] == "Redis/my-redis-cluster at stdin:1"
    derived, defaulted = ended.stdout.removeprefix(lines[0] + "\n").split("\n\n")
    assert [line.split()[:5] for line in derived.splitlines() if "maxmemory" in line] == [
        ["maxmemory", "384Mi", "=", "75", "%"]
    ]
    for group in (derived, defaulted):
        assert len({line.index(" = ") for line in group.splitlines()}) == 1
    assert "3600/1, 300/100, 60/10000" in defaulted
