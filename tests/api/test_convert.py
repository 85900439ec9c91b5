"""Conversion between the versions loses nothing, and what somebody edits in one version arrives in the other."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from redisop.api import v1alpha1
from redisop.api.convert import to_v1, to_v1alpha1
from redisop.api.read import read
from redisop.api.redis_conf_lines import parse, spell
from tests.api.bad_documents import document, nested
from tests.api.documents import QUANTITIES, TEXTS, good_documents

UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])


def early(spec: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "example.com/v1alpha1",
        "kind": "Redis",
        "metadata": {"name": "my-redis", **metadata},
        "spec": spec,
    }


LINES = st.tuples(st.sampled_from(["maxclients", "hz", "Save", "client-output-buffer-limit", ""]), st.text()).map(
    " ".join
)
EARLY_SPECS = st.fixed_dictionaries(
    {},
    optional={
        "size": st.integers(0, 15),
        "image": st.sampled_from(TEXTS),
        "memory": st.sampled_from(QUANTITIES),
        "storage": st.sampled_from(QUANTITIES),
        "version": st.sampled_from(["7.0", "8.2"]),
        "persistent": st.booleans(),
        "passwordSecret": st.sampled_from(TEXTS),
        "redisConfig": st.lists(LINES, max_size=3),
    },
)
# Each edit is one that an owner could make, with a value that no generated document has.
EDITS = {
    "replicas": 7,
    "image": "redis:7.2-alpine",
    "memory": "777Mi",
    "storage": "777Gi",
    "persistence.mode": "Both",
    "auth.secretRef": {"name": "edited", "key": "edited"},
    "auth.enabled": False,
    "config": {"maxclients": "777"},
    "tuning.maxmemoryPolicy": "volatile-ttl",
    "services.read.type": "NodePort",
}
EARLY_EDITS = {
    "size": 7,
    "image": "redis:7.2-alpine",
    "memory": "777Mi",
    "storage": "777Gi",
    "passwordSecret": "edited",
    "redisConfig": ["maxclients 777"],
}


def merged(fields: Any, more: Any) -> Any:
    if not isinstance(fields, dict) or not isinstance(more, dict):
        return more
    return {**fields, **{name: merged(fields.get(name), value) for name, value in more.items()}}


def without_defaults(content: dict[str, Any]) -> Any:
    model = v1alpha1.Redis.model_validate(content)
    return model.model_dump(exclude_defaults=True)


@UNHURRIED
@given(
    content=good_documents(), status=st.dictionaries(st.sampled_from(["phase", "masterPodName", "mode"]), st.just("x"))
)
def test_a_v1_document_comes_back_as_it_was(content: Any, status: Any):
    sent = {**content, "status": status}
    assert read(to_v1(to_v1alpha1(sent))).redis == read(sent).redis


@UNHURRIED
@given(spec=EARLY_SPECS, status=st.dictionaries(st.sampled_from(["phase", "message", "master"]), st.just("x")))
def test_a_v1alpha1_document_comes_back_as_it_was(spec: Any, status: Any):
    sent = {**early(spec, labels={"a": "b"}), "status": status}
    try:
        before = without_defaults(sent)
    except ValueError:
        assume(False)
    assert without_defaults(to_v1alpha1(to_v1(sent))) == before


@UNHURRIED
@given(sent=good_documents())
def test_there_and_back_twice_changes_nothing_more(sent: Any):
    once = to_v1(to_v1alpha1(sent))
    assert to_v1alpha1(once) == to_v1alpha1(sent)
    assert to_v1(to_v1alpha1(once)) == once


@UNHURRIED
@given(spec=EARLY_SPECS, path=st.sampled_from(sorted(EDITS)))
def test_what_is_edited_in_v1_survives_a_visit_to_v1alpha1(spec: Any, path: str):
    edited = merged(to_v1(early(spec)), {"spec": nested(path, deepcopy(EDITS[path]))})
    before = read(edited).redis
    assume(before is not None)
    assert read(to_v1(to_v1alpha1(edited))).redis.spec == before.spec


@UNHURRIED
@given(sent=good_documents(), field=st.sampled_from(sorted(EARLY_EDITS)))
def test_what_is_edited_in_v1alpha1_wins_and_the_rest_stays(sent: Any, field: str):
    before = read(sent).redis
    seen = to_v1alpha1(sent)
    if field == "storage":
        assume(seen["spec"].get("persistent", True))
    after = read(to_v1({**seen, "spec": {**seen["spec"], field: EARLY_EDITS[field]}}))
    assume(after.redis is not None)
    spec_then, spec_now = before.spec.model_dump(), after.redis.spec.model_dump()
    match field:
        case "size":
            spec_then["replicas"] = 7
        case "passwordSecret":
            spec_then["auth"] = {"enabled": True, "secretRef": {"name": "edited", "key": "password"}}
        case "redisConfig":
            spec_then["config"] = {"maxclients": "777"}
        case _:
            spec_then[field] = EARLY_EDITS[field]
    assert spec_now == spec_then


@UNHURRIED
@given(
    spec=EARLY_SPECS,
    text=st.text() | st.sampled_from(["null", "[]", '{"spec": 1}', '{"spec": {"config": 1, "auth": []}}']),
)
def test_an_annotation_that_somebody_broke_is_no_obstacle(spec: Any, text: str):
    for name in ("redisop.example.com/v1", "redisop.example.com/v1alpha1"):
        converted = to_v1(early(spec, annotations={name: text}))
        assert converted["apiVersion"] == "example.com/v1"
        assert to_v1alpha1(converted)["apiVersion"] == "example.com/v1alpha1"


def test_each_field_goes_where_the_specification_says():
    spec = {
        "size": 3,
        "image": "redis:7.0-alpine",
        "memory": "1Gi",
        "storage": "2Gi",
        "version": "7.0",
        "passwordSecret": "shared",
        "redisConfig": ["maxclients 5000", 'notify-keyspace-events "Ex"'],
    }
    status = {"phase": "Running", "message": "fine", "master": "a-0", "slaves": ["a-1"]}
    converted = to_v1({**early(spec), "status": status})
    assert converted["apiVersion"] == "example.com/v1"
    assert converted["spec"] == {
        "replicas": 3,
        "image": "redis:7.0-alpine",
        "memory": "1Gi",
        "storage": "2Gi",
        "version": "7.0",
        "auth": {"secretRef": {"name": "shared"}},
        "config": {"maxclients": "5000", "notify-keyspace-events": "Ex"},
    }
    assert converted["status"] == {
        "phase": "Running",
        "message": "fine",
        "masterPodName": "a-0",
        "slavePodNames": ["a-1"],
    }


@pytest.mark.parametrize(
    ("spec", "converted"),
    [
        ({}, {"auth": {"enabled": False}}),
        ({"persistent": False}, {"storage": "0", "persistence": {"mode": "None"}, "auth": {"enabled": False}}),
        ({"persistent": True, "storage": "5Gi"}, {"storage": "5Gi", "auth": {"enabled": False}}),
    ],
)
def test_what_v1alpha1_leaves_out_has_its_own_meaning(spec: Any, converted: Any):
    assert to_v1(early(spec))["spec"] == converted


def test_a_document_without_a_spec_means_what_its_version_means_by_it():
    bare = early({})
    del bare["spec"]
    assert to_v1(bare)["spec"] == {"auth": {"enabled": False}}
    plain = document()
    del plain["spec"]
    assert read(to_v1(to_v1alpha1(plain))).redis.spec == read(plain).redis.spec


def test_nothing_is_kept_in_an_annotation_when_both_versions_say_it():
    plain = early({"size": 2, "memory": "1Gi"})
    assert "annotations" not in to_v1(plain)["metadata"]
    assert "annotations" not in to_v1alpha1(to_v1(plain))["metadata"]


def test_what_the_api_server_fills_in_does_not_fill_the_annotation():
    filled = document({"replicas": 2, "auth": {"enabled": False}, "services": {"primary": {"type": "ClusterIP"}}})
    assert "annotations" not in to_v1alpha1(filled)["metadata"]


def test_other_annotations_stay():
    assert to_v1(early({}, annotations={"a": "b"}))["metadata"]["annotations"] == {"a": "b"}


def test_the_document_that_is_converted_is_left_alone():
    sent = early({"persistent": False, "storage": "5Gi"}, annotations={"redisop.example.com/v1": '{"spec": {}}'})
    kept = deepcopy(sent)
    to_v1(sent)
    assert sent == kept


# -- lines of redis.conf ----------------------------------------------------------------------------------------------


@given(st.dictionaries(st.from_regex("[a-z0-9-]{1,20}", fullmatch=True), st.text(st.characters(codec="utf-8"))))
def test_settings_written_as_lines_are_read_as_the_same_settings(settings: dict[str, str]):
    assert parse(spell(settings)) == settings


@pytest.mark.parametrize(
    ("lines", "settings"),
    [
        (["maxclients 5000"], {"maxclients": "5000"}),
        (["  MaxClients \t 5000  "], {"maxclients": "5000"}),
        (['proc-title-template "{title} \\"a\\" \\x41\\n"'], {"proc-title-template": '{title} "a" A\n'}),
        (["syslog-ident 'it\\'s \\x41'"], {"syslog-ident": "it's \\x41"}),
        (['notify-keyspace-events ""'], {"notify-keyspace-events": ""}),
        (["notify-keyspace-events"], {"notify-keyspace-events": ""}),
        (["hz 10", "hz 20"], {"hz": "20"}),
        (
            ["client-output-buffer-limit normal 0 0 0", "client-output-buffer-limit pubsub 1 1 1"],
            {"client-output-buffer-limit": "normal 0 0 0 pubsub 1 1 1"},
        ),
    ],
)
def test_lines_are_read_as_redis_reads_them(lines: list[str], settings: dict[str, str]):
    assert parse(lines) == settings
