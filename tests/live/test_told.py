"""What is told of a pass: each thing once, with the reasons that the conditions have, and at rest nothing."""

import base64
import dataclasses

import pytest

from redisop.api.read import read
from redisop.failures import Denied, Failure, Forbidden, Unreachable
from redisop.live.told import Told, events_of, events_of_failure, events_of_violations
from redisop.manifest import Key, Manifest
from redisop.reconcile import Outcome, reconcile
from redisop.status.rejected import rejected
from tests.world import NOW, UID, ScriptedMembers, World, claim, redis

SERVICE = Key("Service", "default", "r-master")


class Instance:
    """A `Redis` that keeps its status from pass to pass, as on an API server."""

    def __init__(self, pods: int = 0) -> None:
        self.world, self.members = World(pods), ScriptedMembers()
        self.status: Manifest | None = None

    def go(self, **spec: object) -> Outcome:
        outcome = reconcile(redis(status=self.status, **spec), self.world, self.members, NOW)
        self.status = dict(outcome.status)
        return outcome

    def tell(self, **spec: object) -> list[Told]:
        return events_of(self.go(**spec))

    def settle(self, **spec: object) -> None:
        outcomes = [self.go(**spec) for _ in range(4)]
        assert outcomes[-1].settled, outcomes[-1].status


def reason(status: Manifest | None, kind: str) -> str:
    assert status
    return next(each["reason"] for each in status["conditions"] if each["type"] == kind)


def test_the_children_of_a_new_instance_are_told_in_one_sentence_and_in_the_order_of_their_making() -> None:
    assert Instance().tell(replicas=2) == [
        Told(
            "Normal",
            "Created",
            "Create",
            "created Secret/default/r-auth, ServiceAccount/default/r, ConfigMap/default/r-config, "
            "Service/default/r-headless, Service/default/r-master, Service/default/r-read, "
            "PodDisruptionBudget/default/r, StatefulSet/default/r",
        )
    ]


def test_roles_are_told_with_their_reason_and_then_nothing_more_is() -> None:
    instance = Instance(pods=2)
    first, second, third, fourth = (instance.tell(replicas=2) for _ in range(4))
    assert [(told.type, told.reason, told.action) for told in first[1:]] == [("Normal", "Promoted", "Promote")]
    assert first[1].note.startswith("promote r-0 (")
    assert [(told.type, told.reason, told.action) for told in second] == [("Normal", "Following", "Follow")]
    assert (third, fourth) == ([], [])


def test_each_child_that_was_updated_or_deleted_is_told_with_the_reason() -> None:
    instance = Instance(pods=2)
    instance.settle(replicas=2, networkPolicy={"enabled": True})
    told = instance.tell(replicas=2, memory="1Gi")
    reasons = {each.reason: each for each in told}
    assert reasons["Deleted"].note == "deleted NetworkPolicy/default/r: is no longer wanted"
    assert reasons["Updated"].note.startswith("updated StatefulSet/default/r: spec.template.")
    assert {each.type for each in told} == {"Normal"}


def test_a_change_that_must_wait_is_not_told_as_made() -> None:
    """The file must not say a setting before the members run with it, and these refuse it."""
    instance = Instance(pods=2)
    instance.settle(replicas=2)
    instance.members.deaf = {"r-0", "r-1"}
    told = instance.tell(replicas=2, config={"timeout": "30"})
    assert [(each.type, each.reason, each.action) for each in told] == [("Warning", "ActionRefused", "Configure")]
    assert reason(instance.status, "Ready") == "ActionRefused"


def test_a_failure_is_told_each_time_with_the_reason_that_the_condition_has() -> None:
    instance = Instance(pods=2)
    instance.world.refuse[SERVICE] = Denied(SERVICE, "quota")
    first = instance.tell(replicas=2)
    again = instance.tell(replicas=2)
    expected = Told("Warning", "Denied", "Create", str(Denied(SERVICE, "quota")))
    assert expected in first
    assert expected in again
    assert reason(instance.status, "Stalled") == "Denied"
    assert "r-master" not in first[0].note, "what failed was not created"


@pytest.mark.parametrize(
    ("failure", "reasons"),
    [
        (Forbidden(SERVICE, "system:serviceaccount:a:b", "patch", "services", "default"), ["Forbidden"]),
        (Unreachable(SERVICE, "the API server is away"), []),
    ],
)
def test_what_is_wrong_with_the_api_server_is_no_event_of_every_redis(failure: Failure, reasons: list[str]) -> None:
    assert [told.reason for told in events_of_failure(failure)] == reasons


def test_a_hold_is_told_when_it_begins_and_not_by_another_process_later() -> None:
    instance = Instance(pods=2)
    instance.settle(replicas=2)
    instance.world.pod_monitors = False
    monitored = {"exporter": {"enabled": True}, "podMonitor": {"enabled": True}}
    held = [told for told in instance.tell(replicas=2, monitoring=monitored) if told.type == "Warning"]
    assert [(told.reason, told.action) for told in held] == [("PodMonitorUnknown", "Hold")]
    assert reason(instance.status, "Held") == held[0].reason
    assert instance.tell(replicas=2, monitoring=monitored) == []


def test_a_change_that_is_refused_is_told_when_it_begins() -> None:
    instance = Instance(pods=2)
    instance.world.claims = (claim("r", 0, "2Gi"), claim("r", 1, "2Gi"))
    instance.settle(replicas=2, storage="2Gi")
    told = instance.tell(replicas=2, storage="1Gi")
    assert [(each.type, each.reason, each.action) for each in told] == [("Warning", "Refused", "Refuse")]
    assert told[0].note.startswith("Redis/default/r: spec.storage ")
    assert reason(instance.status, "Stalled") == "Refused"
    assert instance.tell(replicas=2, storage="1Gi") == []


def test_an_object_of_somebody_else_is_told_when_it_begins() -> None:
    instance = Instance(pods=2)
    instance.world.objects[SERVICE] = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "r-master", "namespace": "default"},
    }
    told = [each for each in instance.tell(replicas=2) if each.type == "Warning"]
    assert [(each.reason, each.action) for each in told] == [("NameTaken", "Refuse")]
    for _ in range(3):
        instance.go(replicas=2)
    assert reason(instance.status, "Ready") == "NameTaken"
    assert [each for each in instance.tell(replicas=2) if each.type == "Warning"] == []


def test_what_others_own_is_told_when_it_begins() -> None:
    instance = Instance(pods=2)
    instance.settle(replicas=2)
    live = instance.world.objects[SERVICE]
    live["spec"]["type"] = "NodePort"
    fields = {"f:spec": {"f:type": {}}}
    live["metadata"]["managedFields"] = [{"manager": "kubectl-edit", "operation": "Update", "fieldsV1": fields}]
    told = instance.tell(replicas=2, drift="Report")
    assert told == [
        Told("Warning", "OwnedByOthers", "Leave", "kubectl-edit owns spec.type of Service/default/r-master")
    ]
    assert reason(instance.status, "DriftDetected") == "OwnedByOthers"
    assert instance.tell(replicas=2, drift="Report") == []


def test_a_document_that_is_no_longer_valid_is_told_until_the_status_says_it() -> None:
    metadata = {"name": "r", "namespace": "default", "uid": UID, "generation": 2}
    spec = {"replicas": 99, "colour": "red"}
    document: Manifest = {"apiVersion": "example.com/v1", "kind": "Redis", "metadata": metadata, "spec": spec}
    violations = read(document).violations
    [told] = events_of_violations(document, violations)
    status = rejected(document, violations, NOW)
    [condition] = [each for each in status["conditions"] if each["type"] == "SpecAccepted"]
    assert told == Told("Warning", condition["reason"], "Validate", condition["message"])
    assert "spec.replicas" in told.note
    assert "spec.colour" in told.note
    assert events_of_violations(document | {"status": status}, violations) == []


def test_a_change_whose_reply_was_lost_is_not_told_as_made_though_nothing_is_pending_then() -> None:
    first = Instance(pods=2).go(replicas=2)
    lost = dataclasses.replace(first, failures=(Unreachable(SERVICE, "it broke the connection"),))
    assert "Service/default/r-headless, Service/default/r-read" in events_of(lost)[0].note


def test_no_password_is_told() -> None:
    instance = Instance(pods=2)
    canary = "c4n4ry-passw0rd"
    instance.world.fresh_password = lambda: canary
    first = instance.go(replicas=2)
    encoded = base64.b64encode(canary.encode()).decode()
    assert encoded in str([change.manifest for change in first.changes]), "the manifest of the Secret has it"
    secret = Key("Secret", "default", "r-auth")
    failed = dataclasses.replace(first, failures=(Denied(secret, "quota"),))
    said = str([events_of(outcome) for outcome in (first, failed)])
    assert "r-auth" in said
    assert canary not in said
    assert encoded not in said
