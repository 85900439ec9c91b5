"""What differs, and what each difference does to the running Redis."""

from copy import deepcopy
from typing import Any

import pytest

from redisop import names
from redisop.diff import MISSING, Change, Consequence, diff, differences, gravest, without
from redisop.manifest import Key, Manifest, key
from redisop.render import render
from redisop.render.inputs import Inputs
from tests.world import UID, redis

OURS = {"apiVersion": "example.com/v1", "kind": "Redis", "name": "r", "uid": UID, "controller": True}
SELECTED = {"app": "redis", "redis-cr": "r"}


def child(kind: str = "ConfigMap", name: str = "r-config", **rest: Any) -> Manifest:
    metadata = {"name": name, "namespace": "default", "labels": dict(SELECTED), "ownerReferences": [OURS]}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **rest}


def owned(manifest: Manifest, manager: str, fields: Manifest, operation: str = "Apply") -> Manifest:
    """Return `manifest` with one more field manager."""
    entry = {"manager": manager, "operation": operation, "fieldsType": "FieldsV1", "fieldsV1": fields}
    metadata = manifest["metadata"]
    return manifest | {"metadata": metadata | {"managedFields": [*metadata.get("managedFields", []), entry]}}


def changes(desired: Manifest, live: Manifest | None, correct: bool = True) -> tuple[Change, ...]:
    return diff([desired], {key(live): live} if live else {}, UID, correct)


def fields(desired: Manifest, live: Manifest) -> dict[str, tuple[Any, Any]]:
    return {one.field: (one.live, one.desired) for one in differences(desired, live)}


def stateful_set(**spec: Any) -> Manifest:
    subject = redis(**spec)
    found = render(subject.metadata, subject.spec, Inputs(managed=True, owner_uid=UID))
    return next(manifest for manifest in found if manifest["kind"] == "StatefulSet")


# -- comparing --------------------------------------------------------------------------------------------------------


def test_what_the_server_and_others_add_is_no_difference() -> None:
    desired = child(data={"a": "1"})
    live = deepcopy(desired) | {"immutable": False}
    live["data"]["b"] = "2"
    live["metadata"]["labels"]["team"] = "x"
    assert changes(desired, live) == ()


def test_a_value_that_is_otherwise_and_one_that_is_missing_are_differences() -> None:
    assert fields(child(data={"a": "1", "b": "2"}), child(data={"a": "0"})) == {
        "data.a": ("0", "1"),
        "data.b": (MISSING, "2"),
    }


@pytest.mark.parametrize(
    ("field", "keys", "label"),
    [
        ("containers", {"name": "redis"}, "[redis]"),
        ("env", {"name": "A"}, "[A]"),
        ("volumes", {"name": "data"}, "[data]"),
        ("volumeMounts", {"mountPath": "/data"}, "[/data]"),
        ("ports", {"containerPort": 1, "protocol": "TCP"}, "[1,TCP]"),
        ("ports", {"port": 1, "protocol": "UDP"}, "[1,UDP]"),
        ("topologySpreadConstraints", {"topologyKey": "zone", "whenUnsatisfiable": "X"}, "[zone,X]"),
    ],
)
def test_lists_are_compared_by_their_merge_keys_in_any_order(field: str, keys: Manifest, label: str) -> None:
    other = {name: f"other-{value}" for name, value in keys.items()}
    live = child(spec={field: [{**other, "v": 1}, {**keys, "v": 1}]})
    assert fields(child(spec={field: [{**keys, "v": 1}, {**other, "v": 1}]}), live) == {}
    assert fields(child(spec={field: [{**keys, "v": 2}]}), live) == {f"spec.{field}{label}.v": (1, 2)}


def test_an_atomic_list_is_one_value_and_the_server_may_add_inside() -> None:
    live = child(spec={"tolerations": [{"key": "a", "operator": "Equal"}, {"key": "b", "operator": "Equal"}]})
    assert fields(child(spec={"tolerations": [{"key": "a"}, {"key": "b"}]}), live) == {}
    assert list(fields(child(spec={"tolerations": [{"key": "b"}, {"key": "a"}]}), live)) == ["spec.tolerations"]
    assert list(fields(child(spec={"tolerations": [{"key": "a"}]}), live)) == ["spec.tolerations"]


def test_an_atomic_map_is_one_value_to_which_nobody_adds() -> None:
    live = child("Service", "r-master", spec={"selector": {"a": "1", "b": "2"}})
    found = fields(child("Service", "r-master", spec={"selector": {"a": "1"}}), live)
    assert found == {"spec.selector": ({"a": "1", "b": "2"}, {"a": "1"})}


def test_quantities_are_compared_by_what_they_mean() -> None:
    live = child(spec={"containers": [{"name": "x", "resources": {"limits": {"cpu": "500m", "memory": "1Gi"}}}]})
    same = child(spec={"containers": [{"name": "x", "resources": {"limits": {"cpu": 0.5, "memory": "1024Mi"}}}]})
    more = child(spec={"containers": [{"name": "x", "resources": {"limits": {"cpu": "0.6", "memory": "1Gi"}}}]})
    assert fields(same, live) == {}
    assert list(fields(more, live)) == ["spec.containers[x].resources.limits.cpu"]


def test_numbers_that_are_no_quantities_are_not_text() -> None:
    assert list(fields(child(spec={"replicas": 1}), child(spec={"replicas": "1"}))) == ["spec.replicas"]


# -- what we own and no longer want -----------------------------------------------------------------------------------


def test_a_field_that_we_own_and_no_longer_want_is_a_difference_and_one_of_others_is_not() -> None:
    live = child(data={"a": "1", "b": "2", "c": "3"})
    live = owned(live, "redisop", {"f:data": {"f:a": {}, "f:b": {}}})
    live = owned(live, "somebody", {"f:data": {"f:c": {}}}, "Update")
    assert fields(child(data={"a": "1"}), live) == {"data.b": ("2", MISSING)}


def test_an_element_that_we_own_and_no_longer_want_is_a_difference() -> None:
    live = child(spec={"containers": [{"name": "redis", "image": "i"}, {"name": "old", "image": "o"}]})
    elements = {f'k:{{"name":"{name}"}}': {".": {}, "f:name": {}, "f:image": {}} for name in ("redis", "old")}
    live = owned(live, "redisop", {"f:spec": {"f:containers": elements}})
    found = differences(child(spec={"containers": [{"name": "redis", "image": "i"}]}), live)
    assert [(one.field, one.manager) for one in found] == [("spec.containers[old]", "redisop")]


@pytest.mark.parametrize("operation", ["Update", "Apply"])
def test_what_the_status_manager_or_an_update_of_ours_owns_is_not_unwanted(operation: str) -> None:
    manager = "redisop" if operation == "Update" else "redisop-status"
    live = owned(child(data={"a": "1"}), manager, {"f:data": {"f:a": {}}}, operation)
    assert fields(child(), live) == {}


# -- others -----------------------------------------------------------------------------------------------------------


def test_a_difference_names_the_other_manager_before_us() -> None:
    live = child(data={"a": "0"})
    live = owned(owned(live, "redisop", {"f:data": {"f:a": {}}}), "argocd", {"f:data": {"f:a": {}}})
    assert [one.manager for one in differences(child(data={"a": "1"}), live)] == ["argocd"]


def test_without_correction_what_others_own_is_left_and_the_rest_is_applied_without_it() -> None:
    live = owned(child(data={"a": "0", "b": "0"}), "somebody", {"f:data": {"f:a": {}}}, "Update")
    update, leave = changes(child(data={"a": "1", "b": "1"}), live, correct=False)
    assert (update.verb, update.manifest and update.manifest["data"]) == ("update", {"b": "1"})
    assert (leave.verb, leave.manifest, [one.field for one in leave.differences]) == ("leave", None, ["data.a"])
    (corrected,) = changes(child(data={"a": "1", "b": "1"}), live)
    assert corrected.manifest == child(data={"a": "1", "b": "1"})


@pytest.mark.parametrize(("subresource", "manager"), [("scale", "kubectl"), ("status", None)])
def test_who_scales_owns_the_number_of_pods_and_who_writes_status_owns_no_field(
    subresource: str, manager: str | None
) -> None:
    live = owned(stateful_set(replicas=3), "kubectl", {"f:spec": {"f:replicas": {}}}, "Update")
    live["metadata"]["managedFields"][-1]["subresource"] = subresource
    (difference,) = differences(stateful_set(replicas=2), live)
    assert difference.manager == manager
    verbs = [one.verb for one in changes(stateful_set(replicas=2), live, correct=False)]
    assert verbs == (["leave"] if manager else ["update"])


@pytest.mark.parametrize(
    ("desired", "live", "owner"),
    [
        (child(data={"home": "0"}), child(data={"home": "1"}), {"f:data": {"f:home": {}}}),
        (
            child("Service", "r-master", spec={"selector": {"pod": "r-0"}}),
            child("Service", "r-master", spec={"selector": {"pod": "r-1"}}),
            {"f:spec": {"f:selector": {}}},
        ),
    ],
)
def test_what_leads_to_the_primary_is_always_corrected(desired: Manifest, live: Manifest, owner: Manifest) -> None:
    assert [one.verb for one in changes(desired, owned(live, "somebody", owner, "Update"), correct=False)] == ["update"]


@pytest.mark.parametrize(
    "metadata",
    [
        {"labels": {}},
        {"labels": {"app": "redis"}},
        {"labels": {"app": "redis", "redis-cr": "another"}},
        {"labels": SELECTED, "ownerReferences": [OURS | {"uid": "another"}]},
        {"labels": SELECTED, "ownerReferences": [OURS | {"kind": "Deployment", "uid": "another"}]},
    ],
)
def test_an_object_of_somebody_else_is_refused_and_never_deleted(metadata: Manifest) -> None:
    live = child(data={"a": "0"})
    live["metadata"] = {"name": "r-config", "namespace": "default", **metadata}
    (change,) = changes(child(data={"a": "1"}), live)
    assert (change.verb, change.manifest, change.consequence) == ("refuse", None, Consequence.REFUSED)
    assert diff([], {key(live): live}, UID) == ()


def test_before_adoption_our_labels_tell_that_a_child_is_ours() -> None:
    live = child(data={"a": "1"})
    del live["metadata"]["ownerReferences"]
    assert [change.verb for change in changes(child(data={"a": "1"}), live)] == ["update"]


def test_what_is_ours_and_no_longer_wanted_is_deleted_but_for_secrets_and_claims() -> None:
    kinds = ("ConfigMap", "Service", "PodDisruptionBudget", "Secret", "PersistentVolumeClaim")
    live = {Key(kind, "default", "r"): child(kind, "r") for kind in kinds}
    assert [(one.verb, one.key.kind) for one in diff([], live, UID)] == [
        *(("delete", "ConfigMap"), ("delete", "Service"), ("delete", "PodDisruptionBudget"))
    ]
    assert diff([], live, None) == ()


def test_values_of_secrets_are_hidden_where_the_difference_is_made() -> None:
    live = owned(child("Secret", "r-auth", data={"a": "b2xk", "b": "Z29uZQ=="}), "redisop", {"f:data": {"f:b": {}}})
    found = changes(child("Secret", "r-auth", data={"a": "bmV3", "c": "bmV3"}), live)
    said = repr([(change.differences, change.reason) for change in found])
    assert not any(secret in said for secret in ("b2xk", "bmV3", "Z29uZQ=="))
    assert {one.field for change in found for one in change.differences} == {"data.a", "data.b", "data.c"}


def test_what_a_change_sends_is_not_printed_with_it() -> None:
    (change,) = changes(child("Secret", "r-auth", data={"a": "bmV3"}), None)
    assert (change.manifest or {})["data"] == {"a": "bmV3"}
    assert "bmV3" not in repr(change)


# -- consequences -----------------------------------------------------------------------------------------------------

BALANCER = "LoadBalancer"
TEMPLATE = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}},
}


def resized(size: str, **rest: Any) -> Manifest:
    return child("StatefulSet", "r", spec={"volumeClaimTemplates": [_template(size)], **rest})


def _template(size: str) -> Manifest:
    return TEMPLATE | {"spec": TEMPLATE["spec"] | {"resources": {"requests": {"storage": size}}}}


@pytest.mark.parametrize(
    ("desired", "live", "verb", "consequence"),
    [
        (child(data={"redis.conf": "a"}), child(data={"redis.conf": "b"}), "update", "live"),
        (child(data={"epoch": "1"}), child(data={"epoch": "0"}), "update", "none"),
        (
            child("StatefulSet", "r", spec={"template": {"spec": {"schedulerName": "a"}}}),
            child("StatefulSet", "r", spec={"template": {"spec": {"schedulerName": "b"}}}),
            "update",
            "rolling",
        ),
        (resized("2Gi", replicas=2), resized("2Gi", replicas=1), "update", "none"),
        (
            child("StatefulSet", "r", spec={"serviceName": "a"}),
            child("StatefulSet", "r", spec={"serviceName": "b"}),
            "replace",
            "replace",
        ),
        (resized("3Gi"), resized("2Gi"), "replace", "volume"),
        (resized("1Gi"), resized("2Gi"), "refuse", "refused"),
        (resized("2Gi"), child("StatefulSet", "r", spec={}), "refuse", "refused"),
        (
            child("Service", "r-master", spec={"selector": {"pod": "r-1"}}),
            child("Service", "r-master", spec={"selector": {"pod": "r-0"}}),
            "update",
            "switchover",
        ),
        (
            child("Service", "r-master", spec={"ipFamilies": ["IPv6"]}),
            child("Service", "r-master", spec={"ipFamilies": ["IPv4"]}),
            "refuse",
            "refused",
        ),
        (
            child("Service", "r-master", spec={"ipFamilies": ["IPv4", "IPv6"]}),
            child("Service", "r-master", spec={"ipFamilies": ["IPv4"]}),
            "update",
            "none",
        ),
        (
            child("PersistentVolumeClaim", "data-r-0", spec={"resources": {"requests": {"storage": "2Gi"}}}),
            child("PersistentVolumeClaim", "data-r-0", spec={"resources": {"requests": {"storage": "1Gi"}}}),
            "update",
            "volume",
        ),
    ],
)  # fmt: skip
def test_each_change_has_its_consequence(desired: Manifest, live: Manifest, verb: str, consequence: str) -> None:
    assert [(one.verb, str(one.consequence)) for one in changes(desired, live)] == [(verb, consequence)]


@pytest.mark.parametrize(
    ("before", "after", "consequence"),
    [
        ({"type": BALANCER}, {"type": BALANCER, "loadBalancerClass": "a"}, "refused"),
        ({"type": BALANCER, "loadBalancerClass": "b"}, {"type": BALANCER, "loadBalancerClass": "a"}, "refused"),
        ({"type": "ClusterIP"}, {"type": BALANCER, "loadBalancerClass": "a"}, "none"),
    ],
)  # fmt: skip
def test_the_class_of_a_load_balancer_comes_with_the_type_only(
    before: Manifest, after: Manifest, consequence: str
) -> None:
    found = differences(child("Service", "r-read", spec=after), child("Service", "r-read", spec=before))
    assert [str(one.consequence) for one in found if one.field == "spec.loadBalancerClass"] == [consequence]


def test_a_family_policy_that_is_taken_back_becomes_that_of_a_new_service() -> None:
    wanted = child("Service", "r-read", spec={"type": "ClusterIP"})
    ours = {"f:spec": {"f:type": {}, "f:ipFamilyPolicy": {}}}
    live = child("Service", "r-read", spec={"type": "ClusterIP", "ipFamilyPolicy": "PreferDualStack"})
    (change,) = changes(wanted, owned(live, "redisop", ours))
    assert change.manifest == child("Service", "r-read", spec={"type": "ClusterIP", "ipFamilyPolicy": "SingleStack"})
    assert changes(wanted, owned(change.manifest, "redisop", ours)) == ()


def test_what_is_refused_holds_up_nothing_else() -> None:
    update, refused = changes(resized("1Gi", replicas=3), resized("2Gi", replicas=2))
    assert update.manifest == resized("2Gi", replicas=3)
    assert (update.verb, refused.verb) == ("update", "refuse")
    assert "volumeClaimTemplates" in refused.reason


def test_a_change_can_be_made_without_what_has_to_wait() -> None:
    (change,) = changes(resized("3Gi", replicas=3), resized("2Gi", replicas=2))
    rest = without(change, Consequence.VOLUME)
    assert rest
    assert (rest.verb, rest.manifest) == ("update", resized("2Gi", replicas=3))
    assert without(changes(resized("3Gi"), resized("2Gi"))[0], Consequence.VOLUME) is None
    assert without(rest, Consequence.VOLUME) is rest


def test_a_stateful_set_on_its_way_out_is_made_anew() -> None:
    live = resized("2Gi")
    live["metadata"]["deletionTimestamp"] = "2030-01-01T00:00:00Z"
    assert [one.verb for one in changes(resized("2Gi"), live)] == ["replace"]


def test_the_gravest_consequence_is_that_of_the_change() -> None:
    assert gravest([Consequence.NONE, Consequence.ROLLING, Consequence.LIVE]) is Consequence.ROLLING
    live, desired = stateful_set(replicas=2), stateful_set(replicas=3, pod={"imagePullPolicy": "Always"})
    (change,) = changes(desired, live)
    assert change.consequence is Consequence.ROLLING
    assert "spec.replicas is 2, should be 3 and 1 more" in change.reason


LONG = "".join(f"key-{number} value\n" for number in range(20))


@pytest.mark.parametrize(
    ("live", "desired", "reason"),
    [
        (1, 2, "spec.x is 1, should be 2"),
        ("a", MISSING, 'spec.x is "a", should be (none)'),
        (LONG, LONG.replace("9 value", "9 other", 1), 'spec.x line 10 is "key-9 value", should be "key-9 other"'),
        (LONG, LONG + "more\n", 'spec.x line 21 is (none), should be "more"'),
        ("a\n", "a", r'spec.x is "a\n", should be "a"'),
        ("one " * 20, MISSING, f'spec.x is "{"one " * 14}..., should be (none)'),
        (
            [_template("2Gi")],
            [_template("1Gi")],
            'spec.x[0].spec.resources.requests.storage is "2Gi", should be "1Gi"',
        ),
        ([1, 2], [1], "spec.x is [1, 2], should be [1]"),
    ],
)
def test_the_reason_of_a_change_is_where_the_two_part(live: Any, desired: Any, reason: str) -> None:
    spec = {} if desired is MISSING else {"x": desired}
    there = owned(child("Service", "r-read", spec={"x": live}), "redisop", {"f:spec": {"f:x": {}}})
    (change,) = changes(child("Service", "r-read", spec=spec), there)
    assert change.reason == reason


def test_every_child_equals_itself() -> None:
    subject = redis(replicas=3, networkPolicy={"enabled": True}, monitoring={"podMonitor": {"enabled": True}})
    found = render(subject.metadata, subject.spec, Inputs(managed=True, owner_uid=UID))
    assert diff(found, {key(manifest): manifest for manifest in found}, UID) == ()
    assert {manifest["kind"] for manifest in found} == {kind.kind for kind in names.KINDS} - {"Secret"}
