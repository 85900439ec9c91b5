"""Which pods are made anew: those without a running Redis, of an older template, and with nothing to lose."""

from typing import Any

import pytest

from redisop.layout import layout
from redisop.manifest import Key, Manifest
from redisop.plan import plan
from redisop.plan.actions import Recreate
from redisop.plan.wanted import Wanted
from redisop.snapshot import Snapshot
from redisop.snapshot.vitals import Trouble, Vitals, target
from tests.world import NOW, parked, pod, redis

CLAIM = [{"name": "data", "persistentVolumeClaim": {"claimName": "data-r-0"}}]
EMPTY = [{"name": "data", "emptyDir": {}}]
# As a kubelet of Kubernetes 1.34 tells them.
NOT_SCHEDULED: Manifest = {
    "phase": "Pending",
    "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}],
}
NO_IMAGE = {"state": {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off"}}, "restartCount": 0}
NO_SECRET = {"state": {"waiting": {"reason": "ContainerCreating"}}, "restartCount": 0}
CRASHES = {
    "state": {"waiting": {"reason": "CrashLoopBackOff"}},
    "lastState": {"terminated": {"exitCode": 1, "reason": "Error"}},
    "restartCount": 4,
}
RUNS = {"state": {"running": {"startedAt": "2030-01-01T00:00:00Z"}}, "restartCount": 0}
ENDED = {"state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}, "restartCount": 0}


def stateful_set(generation: int = 2, **metadata: object) -> Manifest:
    owner = {"kind": "Redis", "name": "r", "uid": "r-uid", "controller": True}
    own = {"name": "r", "namespace": "default", "uid": "set", "generation": generation, "ownerReferences": [owner]}
    status = {"updateRevision": "new", "observedGeneration": 2}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": own | metadata, "spec": {}, "status": status}


def broken(
    container: Manifest | None, volumes: list[Manifest] = CLAIM, revision: str = "old", **metadata: object
) -> Manifest:
    made = pod("r", 0, ready=False)
    owner = {"kind": "StatefulSet", "name": "r", "uid": "set", "controller": True}
    labels = {"controller-revision-hash": revision}
    status = {"phase": "Pending", "containerStatuses": [{"name": "redis"} | container]} if container else NOT_SCHEDULED
    named = made["metadata"] | {"labels": labels, "ownerReferences": [owner]} | metadata
    return made | {"metadata": named, "spec": {"volumes": volumes}, "status": status}


def decided(*pods: Manifest, sets: Manifest | None = None, **facts: Any) -> object:
    subject = redis(replicas=len(pods))
    wanted = Wanted(subject.spec, layout(subject.metadata, subject.spec), 0, "6.2", "")
    where = target(pods[0])
    silent = Vitals(
        pod=where.pod.name, ordinal=0, uid=where.uid, address=None, **({"trouble": Trouble.NO_ADDRESS} | facts)
    )
    live = {Key("StatefulSet", "default", "r"): sets or stateful_set()}
    return plan(wanted, Snapshot(NOW, live, pods, (), (silent,)))


@pytest.mark.parametrize("volumes", [CLAIM, EMPTY], ids=["volume", "no volume"])
@pytest.mark.parametrize("container", [None, NO_IMAGE, NO_SECRET], ids=["not scheduled", "no image", "no Secret"])
def test_a_pod_that_never_came_up_is_made_anew_from_the_template_that_is_wanted(
    container: Manifest | None, volumes: list[Manifest]
) -> None:
    action = decided(broken(container, volumes))
    assert isinstance(action, Recreate)
    assert str(action) == "recreate r-0"
    assert [each["metadata"]["uid"] for each in action.pods] == ["uid-of-r-0"]


def test_a_pod_that_crashes_in_a_loop_is_made_anew_only_if_a_volume_keeps_its_data() -> None:
    action = decided(broken(CRASHES))
    assert isinstance(action, Recreate)
    assert "r-0: CrashLoopBackOff" in action.reason
    assert decided(broken(CRASHES, EMPTY)) is None


SPARED = {
    "made from the template that is wanted": broken(NO_IMAGE, revision="new"),
    "Redis runs, with a volume": broken(RUNS),
    "Redis runs, without one": broken(RUNS, EMPTY),
    "Redis ended and is started again at once": broken(ENDED),
    "on its way out": broken(NO_IMAGE, deletionTimestamp="2030-01-01T00:00:00Z"),
    "of somebody else": broken(NO_IMAGE, ownerReferences=[]),
    "over, and replaced by its StatefulSet": broken(NO_IMAGE) | {"status": {"phase": "Failed"}},
}


@pytest.mark.parametrize("spared", SPARED.values(), ids=SPARED)
def test_no_other_pod_is_touched(spared: Manifest) -> None:
    assert decided(spared) is None


@pytest.mark.parametrize("trouble", [None, Trouble.LOADING, Trouble.WRONG_PASSWORD, Trouble.BUSY])
def test_a_redis_that_answers_is_not_touched_whatever_the_kubelet_says(trouble: Trouble | None) -> None:
    assert not isinstance(decided(broken(NO_IMAGE), trouble=trouble), Recreate)


def test_what_no_controller_has_seen_yet_makes_no_pod_outdated() -> None:
    assert decided(broken(NO_IMAGE), sets=stateful_set(generation=3)) is None


def test_the_pods_of_an_unmanaged_instance_are_left_to_its_stateful_set() -> None:
    assert decided(broken(NO_IMAGE), sets=stateful_set(ownerReferences=[])) is None


def test_all_stuck_pods_are_made_anew_at_once_and_members_that_serve_stay() -> None:
    serving = [pod("r", 1), pod("r", 2)]
    action = decided(broken(NO_IMAGE), broken(None, name="r-3"), *serving)
    assert isinstance(action, Recreate)
    assert [each["metadata"]["name"] for each in action.pods] == ["r-0", "r-3"]


def test_roles_go_first() -> None:
    """Giving a member its role heals what serves; the pods that serve nobody can wait for the next pass."""
    subject = redis(replicas=1)
    wanted = Wanted(subject.spec, layout(subject.metadata, subject.spec), 0, "6.2", "")
    blank = parked(target(pod("r", 0)))
    live = {Key("StatefulSet", "default", "r"): stateful_set()}
    action = plan(wanted, Snapshot(NOW, live, (pod("r", 0), broken(NO_IMAGE, name="r-1")), (), (blank,)))
    assert str(action) == "promote r-0"
