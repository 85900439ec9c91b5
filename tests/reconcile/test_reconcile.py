"""One pass, over a small world in memory: what is decided, done and told."""

import base64

import pytest

from redisop.failures import Denied, Failure
from redisop.manifest import Key
from redisop.names import FINALIZER
from redisop.plan.actions import Follow, Promote
from redisop.reconcile import reconcile
from redisop.reconcile.protection import finalizers
from redisop.reconcile.secret import password
from tests.world import NOW, ScriptedMembers, World, claim, redis


def once(world: World, members: ScriptedMembers | None = None, **spec: object):
    return reconcile(redis(**spec), world, members or ScriptedMembers(), NOW)


def test_the_first_pass_makes_everything_and_tells_of_it() -> None:
    world = World()
    outcome = once(world, replicas=2)
    assert [str(change.key) for change in outcome.changes] == [
        *("Secret/default/r-auth", "ServiceAccount/default/r", "ConfigMap/default/r-config"),
        *("Service/default/r-headless", "Service/default/r-master", "Service/default/r-read"),
        *("PodDisruptionBudget/default/r", "StatefulSet/default/r"),
    ]
    assert (outcome.settled, outcome.stuck, world.statuses[-1]["phase"]) == (False, False, "Creating")


def test_passes_go_on_until_all_have_their_roles_and_then_do_nothing() -> None:
    world, members = World(pods=3), ScriptedMembers()
    outcomes = [once(world, members, replicas=3) for _ in range(4)]
    assert [type(action) for action in members.performed] == [Promote, Follow]
    assert [bool(outcome.changes) for outcome in outcomes] == [True, False, False, False]
    assert [outcome.settled for outcome in outcomes] == [False, True, True, True]
    assert outcomes[-1].status == outcomes[-2].status


def test_a_pass_that_only_looks_does_nothing() -> None:
    world, members = World(pods=2), ScriptedMembers()
    protected = redis(replicas=2, deletion={"protected": True})
    outcome = reconcile(protected, world, members, NOW, dry_run=True)
    assert (len(outcome.changes), isinstance(outcome.step, Promote)) == (8, True)
    assert (world.applied, members.performed, world.statuses, world.finalizers) == ([], [], [], [])


def test_a_change_that_is_refused_holds_up_no_other_and_no_action() -> None:
    world, members = World(pods=2), ScriptedMembers()
    refused = Key("Service", "default", "r-master")
    world.refuse[refused] = Denied(refused, "quota")
    outcome = once(world, members, replicas=2)
    assert len(world.objects) == 7
    assert [type(action) for action in members.performed] == [Promote]
    assert ([failure.key for failure in outcome.failures], outcome.stuck) == ([refused], True)


@pytest.mark.parametrize("metadata", [{}, {"deletionTimestamp": "2030-01-01T00:00:00Z"}])
def test_what_is_paused_or_on_its_way_out_is_left_alone(metadata: dict[str, object]) -> None:
    world, members = World(pods=2), ScriptedMembers()
    subject = redis(replicas=2, paused=not metadata, metadata=metadata)
    outcome = reconcile(subject, world, members, NOW)
    assert (outcome.changes, world.applied, members.performed) == ((), [], [])
    assert outcome.status["phase"] == ("Deleting" if metadata else "Paused")


def test_claims_come_before_the_stateful_set_that_waits_for_them() -> None:
    world = World(pods=2)
    once(world, replicas=2)
    world.claims = (claim("r", 0, "1Gi"), claim("r", 1, "1Gi"))
    world.applied.clear()
    refused = Key("PersistentVolumeClaim", "default", "data-r-1")
    world.refuse[refused] = Denied(refused, "cannot grow")
    once(world, replicas=2, storage="2Gi", memory="512Mi")
    kinds = [(change.verb, change.key.kind) for change in world.applied]
    assert kinds[:2] == [("update", "PersistentVolumeClaim")] * 2
    assert kinds[-1] == ("update", "StatefulSet")
    world.refuse.clear()
    world.applied.clear()
    once(world, replicas=2, storage="2Gi", memory="512Mi")
    assert [(change.verb, change.key.name) for change in world.applied] == [("update", "data-r-1"), ("replace", "r")]


def test_a_pod_monitor_of_a_kind_that_is_unknown_is_a_condition_and_nothing_to_wait_for() -> None:
    world, members = World(pods=1), ScriptedMembers()
    world.pod_monitors = False
    monitored = {"exporter": {"enabled": True}, "podMonitor": {"enabled": True}}
    outcomes = [once(world, members, monitoring=monitored) for _ in range(3)]
    assert outcomes[-1].settled
    assert [hold.reason for hold in outcomes[-1].holds] == ["PodMonitorUnknown"]
    assert "Held" in {condition["type"] for condition in outcomes[-1].status["conditions"]}


@pytest.mark.parametrize(
    "value", [b"plain", b"$HOME", b"'a' \"b\"", b"a b # c", b"back\\slash", "ü€".encode(), b"two\nlines"]
)
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_password_is_taken_as_it_is_but_for_one_trailing_newline(value: bytes, end: bytes) -> None:
    secret = {"data": {"password": base64.b64encode(value + end).decode()}}
    assert password(secret, "password") == value
    assert password({"data": {"password": base64.b64encode(b"x\n\n").decode()}}, "password") == b"x\n"
    assert password(secret, "other") is None
    assert password(None, "password") is None


def test_a_table_of_defaults_that_only_a_newer_redisop_knows_is_said_and_nothing_is_done() -> None:
    world = World(pods=1)
    once(world)
    for child in world.objects.values():
        child["metadata"].setdefault("annotations", {})["redisop.example.com/defaults-revision"] = "99"
    world.applied.clear()
    with pytest.raises(Failure, match=r"Redis/default/r: it follows table 99 of defaults, .* use a newer redisop"):
        once(world, memory="512Mi")
    assert world.applied == []
    assert once(world, memory="512Mi", defaultsRevision=1).changes


def test_nothing_that_a_pass_hands_on_prints_a_value_of_a_secret() -> None:
    world = World(pods=1)
    outcomes = [once(world) for _ in range(2)]
    observed = world.observe(redis())
    value = observed.live[Key("Secret", "default", "r-auth")]["data"]["password"]
    assert base64.b64decode(value) == b"fresh-password"
    said = repr((outcomes, observed, world.applied))
    assert "Secret" in said
    assert not any(secret in said for secret in (value, "fresh-password"))


@pytest.mark.parametrize(
    ("protected", "there", "going", "wanted"),
    [
        (True, (), False, (FINALIZER,)),
        (True, ("other",), False, ("other", FINALIZER)),
        (True, (FINALIZER,), False, None),
        (True, (), True, None),
        (False, (FINALIZER, "other"), False, ("other",)),
        (False, (FINALIZER,), True, ()),
        (False, ("other",), False, None),
    ],
)
def test_the_finalizer_follows_the_field(
    protected: bool, there: tuple[str, ...], going: bool, wanted: tuple[str, ...] | None
) -> None:
    metadata = {"finalizers": list(there)} | ({"deletionTimestamp": "2030-01-01T00:00:00Z"} if going else {})
    assert finalizers(redis(metadata=metadata, deletion={"protected": protected})) == wanted
