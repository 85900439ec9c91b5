"""What status says of what was found: bounded, still at rest, in the words that kubectl and kstatus wait for."""

from dataclasses import replace
from datetime import timedelta

import pytest

from redisop.api.status import RedisStatus
from redisop.api.v1 import Redis
from redisop.failures import Denied
from redisop.manifest import Key, Manifest
from redisop.reconcile import Observed, reconcile
from redisop.status.conditions import ABNORMAL, Finding, conditions
from tests.world import NOW, ScriptedMembers, World, claim, redis

SERVICE = Key("Service", "default", "r-master")


def settled(replicas: int = 3, **spec: object) -> tuple[World, ScriptedMembers, Manifest]:
    world, members = World(pods=replicas), ScriptedMembers()
    for _ in range(3):
        outcome = reconcile(redis(replicas=replicas, **spec), world, members, NOW)
    assert outcome.settled
    return world, members, dict(outcome.status)


def condition(status: Manifest, kind: str) -> Manifest | None:
    return next((each for each in status["conditions"] if each["type"] == kind), None)


def test_all_that_is_told_fits_the_model_and_has_its_generation() -> None:
    _, _, status = settled()
    RedisStatus.model_validate(status)
    assert status["observedGeneration"] == 1
    assert all(each["observedGeneration"] == 1 for each in status["conditions"])
    assert (status["phase"], status["message"]) == ("Running", "Redis cluster with 3 replicas deployed")
    assert (status["masterPodName"], status["slavePodNames"]) == ("r-0", ["r-1", "r-2"])
    assert status["endpoints"] == {"primary": "r-master.default.svc:6379", "read": "r-read.default.svc:6379"}
    assert [member["role"] for member in status["members"]] == ["primary", "replica", "replica"]


def test_at_rest_no_condition_tells_of_work_or_trouble() -> None:
    _, _, status = settled()
    assert {each["type"] for each in status["conditions"]} == {"Ready", "Available", "SpecAccepted", "SecretsInSync"}
    assert {each["status"] for each in status["conditions"]} == {"True"}


def test_a_later_look_at_the_same_changes_not_a_byte() -> None:
    world, members, status = settled()
    later = reconcile(redis(replicas=3, status=status), world, members, NOW + timedelta(hours=1))
    assert later.status == status


def test_work_in_progress_is_reconciling_and_what_failed_is_stalled() -> None:
    world = World()
    status = reconcile(redis(), world, ScriptedMembers(), NOW).status
    assert condition(status, "Reconciling")
    assert condition(status, "Stalled") is None
    world.refuse[SERVICE] = Denied(SERVICE, "quota")
    world.objects.clear()
    status = reconcile(redis(), world, ScriptedMembers(), NOW).status
    stalled = condition(status, "Stalled")
    assert stalled
    assert (stalled["reason"], "Service/default/r-master" in stalled["message"]) == ("Denied", True)
    assert condition(status, "Reconciling") is None


def test_the_transition_time_moves_with_the_status_only() -> None:
    def at(hours: int, true: bool, message: str, before: list[Manifest]) -> Manifest:
        finding = Finding("Ready", true, "Why", message)
        return conditions([finding], before, 1, NOW + timedelta(hours=hours))[0]

    first = at(0, False, "a", [])
    second = at(1, False, "b", [first])
    third = at(2, True, "b", [second])
    assert first["lastTransitionTime"] == second["lastTransitionTime"] == "2030-01-01T00:00:00Z"
    assert third["lastTransitionTime"] == "2030-01-01T02:00:00Z"


@pytest.mark.parametrize("kind", ABNORMAL)
def test_what_is_abnormal_exists_only_while_it_is_true(kind: str) -> None:
    assert conditions([Finding(kind, False, "Why")], [{"type": kind, "status": "True"}], 1, NOW) == []


def test_messages_are_bounded() -> None:
    (told,) = conditions([Finding("Ready", False, "Why", "x" * 5000)], [], 1, NOW)
    assert len(told["message"]) == 1024


def test_an_instance_that_sleeps_is_ready_and_not_available() -> None:
    world = World()
    for _ in range(2):
        outcome = reconcile(redis(replicas=0), world, ScriptedMembers(), NOW)
    assert outcome.settled
    ready, available = condition(outcome.status, "Ready"), condition(outcome.status, "Available")
    assert ready
    assert available
    assert (ready["status"], available["status"], outcome.status["phase"]) == ("True", "False", "Hibernated")


def test_a_volume_of_which_no_size_is_told_is_told_of_all_the_same() -> None:
    world, members, _ = settled(replicas=1)
    world.claims = (claim("r", 0, "1Gi"),)
    world.claims[0]["status"] = {"phase": "Bound"}
    outcome = reconcile(redis(replicas=1), world, members, NOW)
    assert outcome.status["message"] == "the volume of data-r-0 has 0 of 1Gi"


# -- members that cannot be asked -------------------------------------------------------------------------------------

NO_WAY = (
    "no member can be asked from here: Pod/default/r-0 (10.0.0.1:6379) did not accept a connection within 1.0 s; "
    "run redisop where the addresses of the pods can be reached, inside the cluster for example"
)


def test_a_new_instance_whose_members_cannot_be_reached_says_where_to_run() -> None:
    world, members = World(pods=2), ScriptedMembers()
    world.unready, members.silent = {0, 1}, {"r-0", "r-1"}
    for _ in range(2):
        outcome = reconcile(redis(replicas=2), world, members, NOW)
    assert (outcome.settled, outcome.stuck, outcome.status["message"]) == (False, False, NO_WAY)
    ready = condition(outcome.status, "Ready")
    assert ready
    assert (ready["status"], ready["reason"], ready["message"]) == ("False", "MembersUnreachable", NO_WAY)


def test_what_serves_and_cannot_be_asked_is_ready_and_says_so() -> None:
    world, members, _ = settled(replicas=2)
    members.silent = {"r-0", "r-1"}
    outcome = reconcile(redis(replicas=2), world, members, NOW)
    assert outcome.settled
    assert outcome.status["message"] == f"Redis cluster with 2 replicas deployed; {NO_WAY}"
    available = condition(outcome.status, "Available")
    assert available
    assert (available["status"], available["reason"]) == ("True", "PrimaryReady")


def test_a_setting_that_nobody_can_be_asked_to_take_keeps_it_from_being_ready_and_from_the_file() -> None:
    world, members, _ = settled(replicas=2)
    members.silent = {"r-0", "r-1"}
    outcome = reconcile(redis(replicas=2, config={"timeout": "5"}), world, members, NOW)
    assert (outcome.settled, outcome.status["message"]) == (False, NO_WAY)
    assert outcome.status["phase"] == "Degraded"
    assert "timeout 5" not in world.objects[Key("ConfigMap", "default", "r-config")]["data"]["redis.conf"]


def test_one_member_among_others_that_cannot_be_asked_is_named_and_waited_for() -> None:
    world, members, _ = settled(replicas=3)
    members.silent = {"r-1"}
    outcome = reconcile(redis(replicas=3), world, members, NOW)
    said = "Pod/default/r-1 (10.0.0.2:6379) did not accept a connection within 1.0 s"
    assert (outcome.settled, outcome.stuck, outcome.status["phase"]) == (False, False, "Degraded")
    assert outcome.status["message"] == f"{said}, though its Pod is Ready"
    members.silent.clear()
    assert reconcile(redis(replicas=3), world, members, NOW).settled


def test_a_pod_that_tells_more_than_a_connection_is_heard_first() -> None:
    world, members = World(pods=2), ScriptedMembers()
    world.unready, members.silent = {1}, {"r-1"}
    for _ in range(2):
        outcome = reconcile(redis(replicas=2), world, members, NOW)
    assert outcome.status["message"] == "Pod r-1: NotReady"


class Waiting(World):
    """A world whose first pod waits, as the API server says of it."""

    def __init__(self, status: Manifest, volumes: list[Manifest]) -> None:
        super().__init__(pods=1)
        self.changed = {"status": status, "spec": {"volumes": volumes}}

    def observe(self, redis: Redis) -> Observed:
        seen = super().observe(redis)
        return replace(seen, pods=tuple(pod | self.changed for pod in seen.pods))


def told_of(world: World, **spec: object) -> tuple[str, str]:
    for _ in range(2):
        outcome = reconcile(redis(**spec), world, ScriptedMembers(), NOW)
    ready = condition(outcome.status, "Ready")
    assert ready
    return ready["reason"], ready["message"]


CREATING = {
    "phase": "Pending",
    "containerStatuses": [{"name": "redis", "state": {"waiting": {"reason": "ContainerCreating"}}}],
}
UNSCHEDULABLE = {
    "phase": "Pending",
    "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}],
}


def test_a_pod_that_waits_for_a_secret_is_told_by_the_secret() -> None:
    reason, message = told_of(Waiting(CREATING, []), auth={"secretRef": {"name": "mine"}})
    assert (reason, message) == ("SecretNotFound", "there is no Secret mine; create it")
    assert told_of(Waiting(CREATING, [])) == ("ContainerCreating", "Pod r-0: ContainerCreating: container redis")


def test_a_pod_that_waits_for_a_volume_is_told_by_the_claim_and_its_class() -> None:
    world = Waiting(UNSCHEDULABLE, [{"name": "data", "persistentVolumeClaim": {"claimName": "data-r-0"}}])
    world.claims = (claim("r", 0, "1Gi"),)
    assert told_of(world) == ("Unschedulable", "Pod r-0: Unschedulable: 0/3 nodes")
    pending = claim("r", 0, "1Gi") | {"status": {"phase": "Pending"}}
    world.claims = (pending | {"spec": pending["spec"] | {"storageClassName": "typo"}},)
    reason, message = told_of(world)
    assert reason == "VolumePending"
    assert message.startswith("PersistentVolumeClaim data-r-0 waits for a volume of the storage class typo")
