"""Reading a document never fails: it gives a `Redis`, or says what is wrong."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redisop.api import rules
from redisop.api.read import read
from redisop.api.violation import Violation
from tests.api.bad_documents import document, nested
from tests.api.documents import specs

# The first document that is refused has the schema made, which takes its time.
UNHURRIED = settings(deadline=None)

EXAMPLE = {
    "apiVersion": "example.com/v1",
    "kind": "Redis",
    "metadata": {"name": "my-redis-cluster"},
    "spec": {"replicas": 2, "image": "redis:7.0-alpine", "memory": "512Mi", "storage": "2Gi", "version": "7.0"},
}

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(4000, 6000).map(lambda digits: -(10**digits))  # CPython refuses to print some
    | st.sampled_from([2.0, 1e300])
    | st.floats()
    | st.text(st.characters(codec=None))
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text() | st.integers() | st.booleans() | st.none(), inner, max_size=3)
    ),
)


def judged(content: object) -> tuple[Violation, ...]:
    """Read, and check what holds for every answer."""
    found = read(content)
    assert (found.redis is None) == any(violation.level == "error" for violation in found.violations)
    for violation in found.violations:
        assert str(violation).isprintable()
        assert len(str(violation)) < 1000
        str(violation).encode()
    return found.violations


@UNHURRIED
@given(ANYTHING)
def test_anything_at_all_is_judged(content: object):
    judged(content)


@pytest.mark.parametrize("version", ["example.com/v1", "example.com/v1alpha1"])
@UNHURRIED
@given(metadata=ANYTHING, spec=ANYTHING)
def test_anything_below_the_right_kind_is_judged(version: str, metadata: object, spec: object):
    judged({"apiVersion": version, "kind": "Redis", "metadata": metadata, "spec": spec})


@pytest.mark.parametrize("version", ["example.com/v1", "example.com/v1alpha1"])
@UNHURRIED
@given(name=st.text(), annotation=st.text(), content=ANYTHING)
def test_anything_in_a_field_is_judged(version: str, name: str, annotation: str, content: object):
    for field in ("replicas", "size", "memory", "config", "redisConfig", "pod", name):
        annotations = {"redisop.example.com/v1": annotation}
        metadata = {"name": "my-redis", "annotations": annotations}
        judged({"apiVersion": version, "kind": "Redis", "metadata": metadata, "spec": {field: content}})


@UNHURRIED
@given(specs())
def test_documents_that_are_nearly_right_are_judged(spec: Any):
    judged(document(spec))


@pytest.mark.parametrize("place", ["", "metadata.annotations", "spec.config", "spec.scheduling.affinity", "spec.pod"])
def test_a_document_that_is_nested_ten_thousand_levels_deep_is_judged(place: str):
    deep: Any = {}
    for _ in range(10_000):
        deep = {"a": [deep]}
    judged({**EXAMPLE, **(nested(place, deep) if place else deep)})


def test_the_example_is_good():
    found = read(EXAMPLE)
    assert found.violations == ()
    assert found.redis is not None
    assert found.redis.spec.replicas == 2
    assert found.redis.spec.memory.bytes == 512 * 1024**2


def test_a_field_that_says_null_is_not_set():
    spec = {"replicas": None, "storage": None, "tuning": {"maxmemory": None}, "auth": None, "config": {"hz": None}}
    found = read(document(spec))
    assert found.violations == ()
    assert found.redis is not None
    assert found.redis.spec == read(document()).redis.spec


def test_a_whole_number_may_be_written_with_a_point():
    assert read(document({"replicas": 2.0})).redis.spec.replicas == 2


def test_every_mistake_of_a_document_is_told_at_once():
    content = document({"replicas": "two", "memory": "lots", "maxmemory": "1Gi"})
    assert [violation.path for violation in read(content).violations] == [
        "spec.replicas",
        "spec.memory",
        "spec.maxmemory",
    ]


def test_what_a_document_says_cannot_move_the_cursor_or_flood_the_screen():
    for said in ("\x1b[2J", "a\nb", "\u202egnp", "x" * 100_000, "\ud800"):
        judged(document({said: 1}))
        judged(document({"mode": said}))
        judged(document({"config": {said: 1}}))
        judged(document({"config": {said: "1"}}))
        judged(document(name=said))


def test_a_path_can_be_taken_apart():
    sidecars = read(
        document({"pod": {"sidecars": [{"name": "a", "image": "b", "securityContext": {"privileged": 1}}]}})
    )
    assert sidecars.violations[0].steps == ("spec", "pod", "sidecars", 0, "securityContext", "privileged")
    labels = read(document({"pod": {"labels": {"app.kubernetes.io/name": "a"}}}))
    assert labels.violations[0].steps == ("spec", "pod", "labels", "app.kubernetes.io/name")
    assert read([]).violations[0].steps == ()


def test_a_document_dumped_from_a_cluster_can_be_read():
    dumped = {
        **EXAMPLE,
        "metadata": {
            "name": "my-redis-cluster",
            "namespace": "default",
            "uid": "4a9c1b5e-0000-4000-8000-000000000000",
            "generation": 1,
            "resourceVersion": "12",
            "creationTimestamp": "2025-01-02T03:04:05Z",
            "managedFields": [{"manager": "kubectl", "operation": "Apply"}],
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}\n"},
        },
        "status": {"phase": "Running"},
    }
    assert read(dumped).violations == ()


# -- v1alpha1 ---------------------------------------------------------------------------------------------------------


def early(spec: Any, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "example.com/v1alpha1",
        "kind": "Redis",
        "metadata": {"name": "my-redis", **metadata},
        "spec": {"image": "redis:7.0-alpine", **spec},
    }


def test_v1alpha1_is_read():
    found = read(early({"size": 3, "passwordSecret": "shared", "redisConfig": ["maxclients 5000"]}))
    assert found.violations == ()
    assert found.redis is not None
    assert found.redis.apiVersion == "example.com/v1"
    assert found.redis.spec.replicas == 3
    assert found.redis.spec.auth.secretRef.name == "shared"
    assert found.redis.spec.auth.secretRef.key == "password"
    assert found.redis.spec.config == {"maxclients": "5000"}


def test_v1alpha1_without_a_secret_has_no_password():
    assert not read(early({})).redis.spec.auth.enabled


def test_v1alpha1_that_is_not_persistent_has_no_storage():
    spec = read(early({"persistent": False, "storage": "5Gi"})).redis.spec
    assert spec.storage.value == 0
    assert spec.persistence.mode == "None"


@pytest.mark.parametrize(
    ("spec", "path", "text"),
    [
        ({"size": "two"}, "spec.size", "is not a whole number"),
        ({"memory": "1Mi"}, "spec.memory", "is less than 32Mi"),
        ({"replicas": 2}, "spec.replicas", "use spec.size"),
        ({"auth": {}}, "spec.auth", "use spec.passwordSecret"),
        ({"tuning": {}}, "spec.tuning", "write apiVersion: example.com/v1"),
        ({"redisConfig": ["port 1"]}, "spec.redisConfig", "port 6379"),
        ({"redisConfig": "maxclients 1"}, "spec.redisConfig", "is not a list"),
        ({"passwordSecret": "My Secret"}, "spec.passwordSecret", "is not a name for a Secret"),
    ],
)
def test_what_is_wrong_with_v1alpha1_is_said_at_its_own_fields(spec: Any, path: str, text: str):
    (violation,) = read(early(spec)).violations
    assert violation.path == path
    assert text in str(violation)


def test_what_is_wrong_in_the_annotation_is_said_of_the_annotation():
    kept = '{"spec": {"image": "redis:7.0-alpine", "auth": {"enabled": false}, "tuning": {"maxmemory": "99%"}}}'
    (violation,) = read(early({}, annotations={"redisop.example.com/v1": kept})).violations
    assert violation.path == "metadata.annotations[redisop.example.com/v1]"
    assert "spec.tuning.maxmemory is more than 95% of memory" in violation.message


@pytest.mark.parametrize(
    "spec",
    [
        {"storage": 0},
        {"storage": 0, "persistence": {"mode": "None"}},
        {"storage": "1Gi", "persistence": {"mode": "RDB"}},
        {"networkPolicy": {"enabled": False}},
        {"networkPolicy": {"enabled": True, "allowFrom": [{"podSelector": {}}]}},
        {"monitoring": {"exporter": {"enabled": True}, "podMonitor": {"enabled": True}}},
    ],
)
def test_what_works_as_it_is_written_is_not_warned_of(spec: Any):
    assert read(document(spec)).violations == ()


# -- no redisop beside it ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "warned"),
    [
        ({"replicas": 2}, False),
        ({"replicas": 2, "persistence": {"mode": "Both"}}, False),
        ({"replicas": 1, "storage": 0}, False),
        ({"replicas": 2, "storage": 0}, True),
        ({"replicas": 2, "persistence": {"mode": "RDB"}}, True),
        ({"replicas": 2, "storage": 0, "replication": {"policy": "Available"}}, False),
    ],
)
def test_who_could_not_lead_again_after_a_crash_without_a_controller_is_warned(spec: Any, warned: bool):
    warnings = rules.unmanaged_warnings(read(document(spec)).redis)
    assert [violation.level for violation in warnings] == ["warning"] * warned
    for violation in warnings:
        ways = ("persistence.mode AOF", "replication.policy: Available", "redisop reconcile --once")
        assert all(way in violation.right for way in ways)
        assert "redisop run" not in violation.right
