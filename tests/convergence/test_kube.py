"""What each method of the client does on a real API server."""

import gc
import json
import threading
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import DecodeError

from redisop import names
from redisop.failures import AlreadyExists, Conflict, Expired, NotFound, Owned, Stale, Unreachable
from redisop.live.kube import Kube, connect, lines
from redisop.manifest import Key, Manifest
from tests.cluster.api_server import ApiServer
from tests.cluster.kubectl import Kubectl
from tests.convergence.clock import FakeClock
from tests.convergence.conftest import ADMIN_TOKEN, client
from tests.convergence.fault_proxy import FaultProxy, answer, cut, in_pieces_of, stall

CONFIG_MAP = next(kind for kind in names.KINDS if kind.kind == "ConfigMap")
POD_MONITOR = next(kind for kind in names.KINDS if kind.kind == "PodMonitor")
EXPIRED = {
    "kind": "Status",
    "apiVersion": "v1",
    "status": "Failure",
    "message": "The provided continue parameter is too old to display a consistent list result.",
    "reason": "Expired",
    "code": 410,
}


def config_map(kubectl: Kubectl, name: str = "one", **data: str) -> Manifest:
    metadata = {"name": name, "namespace": kubectl.namespace, "labels": {"app": "redis"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def key_of(kubectl: Kubectl, name: str = "one") -> Key:
    return Key("ConfigMap", kubectl.namespace, name)


def stateful_set(kubectl: Kubectl) -> Manifest:
    container = {"name": "redis", "image": "redis"}
    labels = {"app": "redis"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "one", "namespace": kubectl.namespace},
        "spec": {"selector": {"matchLabels": labels}, "serviceName": "one", "template": template},
    }


def claim(kubectl: Kubectl) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data-one-0", "namespace": kubectl.namespace},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }


def test_no_request_is_made_before_one_is_needed(kube: Kube, proxy: FaultProxy) -> None:
    assert (kube.namespace, kube.context, kube.requests, proxy.seen) == ("default", "proxy", 0, [])


def test_get_returns_what_is_stored_in_one_request(kube: Kube, kubectl: Kubectl) -> None:
    kubectl.apply(config_map(kubectl, text="é\n"))
    expected = kubectl.get("configmap", "one")
    found = kube.get(key_of(kubectl))
    assert found
    found["metadata"].pop("managedFields")  # kubectl hides them
    assert (found, kube.requests) == (expected, 1)


def test_get_returns_none_for_an_absent_object_and_in_an_absent_namespace(kube: Kube, kubectl: Kubectl) -> None:
    assert kube.get(key_of(kubectl)) is None
    assert kube.get(Key("ConfigMap", "absent", "one")) is None
    assert kube.requests == 2


def test_a_list_is_read_page_by_page_and_its_items_are_whole_manifests(
    proxy: FaultProxy, clock: FakeClock, kubectl: Kubectl, tmp_path: Any
) -> None:
    kubectl.apply([config_map(kubectl, name) for name in "abcde"])
    kube = client(proxy.kubeconfig(tmp_path, ADMIN_TOKEN), clock, page=2)
    found = kube.list(CONFIG_MAP, kubectl.namespace, {"app": "redis"})
    assert [(each["apiVersion"], each["kind"], each["metadata"]["name"]) for each in found] == [
        ("v1", "ConfigMap", name) for name in "abcde"
    ]
    assert int(found.resource_version) >= max(int(each["metadata"]["resourceVersion"]) for each in found)
    assert kube.requests == 3


def test_a_list_follows_the_selector_and_spans_namespaces(kube: Kube, kubectl: Kubectl) -> None:
    kubectl.apply([config_map(kubectl, "mine") | {"data": {}}, claim(kubectl)])
    other = {"app": "other", "redis-cr": "x"}
    kubectl.apply(config_map(kubectl, "other") | {"metadata": {"name": "other", "labels": other}})
    assert [each["metadata"]["name"] for each in kube.list(CONFIG_MAP, kubectl.namespace, other)] == ["other"]
    everywhere = kube.list(CONFIG_MAP, None)
    assert {kubectl.namespace, "kube-system"} <= {each["metadata"]["namespace"] for each in everywhere}
    assert kube.list(CONFIG_MAP, "absent") == []
    assert kube.list(names.POD, kubectl.namespace) == []


def test_a_list_whose_continuation_expired_is_read_again_whole(
    proxy: FaultProxy, clock: FakeClock, kubectl: Kubectl, tmp_path: Any
) -> None:
    kubectl.apply([config_map(kubectl, name) for name in "abcde"])
    kube = client(proxy.kubeconfig(tmp_path, ADMIN_TOKEN), clock, page=2)
    proxy.inject(answer(410, EXPIRED), when=lambda seen: "continue" in seen.query, at=2)
    found = kube.list(CONFIG_MAP, kubectl.namespace, {"app": "redis"})
    assert [each["metadata"]["name"] for each in found] == list("abcde")
    assert kube.requests == 4  # two pages, the expired one, and all in one


def test_create_stores_and_does_so_once(kube: Kube, kubectl: Kubectl) -> None:
    stored = kube.create(config_map(kubectl, a="1"))
    assert stored["metadata"]["uid"] == kubectl.get("configmap", "one")["metadata"]["uid"]
    with pytest.raises(AlreadyExists, match=rf"^ConfigMap/{kubectl.namespace}/one: .*look at it"):
        kube.create(config_map(kubectl, a="2"))
    assert kubectl.get("configmap", "one")["data"] == {"a": "1"}
    assert kube.requests == 2


def test_apply_creates_then_updates_then_does_nothing(kube: Kube, kubectl: Kubectl) -> None:
    first = kube.apply(config_map(kubectl, a="1"), force=False)
    second = kube.apply(config_map(kubectl, a="2"), force=False)
    third = kube.apply(config_map(kubectl, a="2"), force=True)
    assert [each.created for each in (first, second, third)] == [True, False, False]
    assert second.manifest["data"] == kubectl.get("configmap", "one")["data"] == {"a": "2"}
    assert second.manifest["metadata"]["resourceVersion"] == third.manifest["metadata"]["resourceVersion"]
    [entry] = third.manifest["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("redisop", "Apply")
    assert kube.requests == 3


def test_apply_holds_to_the_uid_and_the_version_that_it_names(kube: Kube, kubectl: Kubectl) -> None:
    def manifest(**metadata: str) -> Manifest:
        whole = config_map(kubectl, a="2")
        return whole | {"metadata": whole["metadata"] | metadata}

    other_uid = "00000000-0000-0000-0000-000000000000"
    with pytest.raises(Stale):
        kube.apply(manifest(uid=other_uid), force=True)
    assert kubectl.list("configmap") == []
    kubectl.apply(config_map(kubectl, a="1"))
    for metadata in ({"uid": other_uid}, {"resourceVersion": "1"}):
        with pytest.raises(Stale):
            kube.apply(manifest(**metadata), force=True)
    assert kubectl.get("configmap", "one")["data"] == {"a": "1"}


def test_a_dry_run_tells_what_would_be_and_stores_nothing(kube: Kube, kubectl: Kubectl) -> None:
    told = kube.apply(config_map(kubectl, a="1"), force=True, dry_run=True)
    assert (told.created, told.manifest["data"]) == (True, {"a": "1"})
    assert kube.get(key_of(kubectl)) is None


def test_a_conflict_names_every_field_and_its_manager_and_force_takes_them(kube: Kube, kubectl: Kubectl) -> None:
    kubectl.apply(config_map(kubectl, a="1"), "--field-manager=argocd-controller")
    kubectl.apply(config_map(kubectl, b="1"), '--field-manager=the "other"', "--force-conflicts")
    with pytest.raises(Conflict) as caught:
        kube.apply(config_map(kubectl, a="2", b="2", c="2"), force=False)
    assert set(caught.value.fields) == {
        Owned("argocd-controller", ".data.a"),
        Owned('the "other"', ".data.b"),
    }
    assert set(caught.value.managers) == {"argocd-controller", 'the "other"'}
    assert ".data.a (argocd-controller)" in str(caught.value)
    assert kubectl.get("configmap", "one")["data"] == {"a": "1", "b": "1"}
    assert kube.apply(config_map(kubectl, a="2", b="2"), force=True).manifest["data"] == {"a": "2", "b": "2"}
    assert kube.requests == 2


def test_a_conflict_over_a_field_that_an_update_set_names_the_manager_alone(kube: Kube, kubectl: Kubectl) -> None:
    kube.apply(stateful_set(kubectl) | {"spec": stateful_set(kubectl)["spec"] | {"replicas": 1}}, force=False)
    kubectl("scale", "statefulset/one", "--replicas=2")
    with pytest.raises(Conflict) as caught:
        kube.apply(stateful_set(kubectl) | {"spec": stateful_set(kubectl)["spec"] | {"replicas": 1}}, force=False)
    assert caught.value.fields == (Owned("kubectl", ".spec.replicas"),)


def test_the_status_is_applied_beside_the_spec_by_a_manager_of_its_own(kube: Kube, kubectl: Kubectl) -> None:
    kube.apply(stateful_set(kubectl), force=True)
    manifest = {name: value for name, value in stateful_set(kubectl).items() if name != "spec"}
    stored = kube.apply_status(manifest | {"status": {"replicas": 3, "readyReplicas": 2}})
    assert kubectl.get("statefulset", "one")["status"]["readyReplicas"] == stored["status"]["readyReplicas"] == 2
    entries = {(entry["manager"], entry.get("subresource")) for entry in stored["metadata"]["managedFields"]}
    assert entries == {("redisop", None), ("redisop-status", "status")}


def test_the_status_of_an_absent_object_is_not_found(kube: Kube, kubectl: Kubectl) -> None:
    manifest = {name: value for name, value in stateful_set(kubectl).items() if name != "spec"}
    with pytest.raises(NotFound, match=r"StatefulSet/.*/one: it does not exist"):
        kube.apply_status(manifest | {"status": {"replicas": 0}})


def test_patch_merges_and_holds_to_the_version_that_it_names(kube: Kube, kubectl: Kubectl) -> None:
    kubectl.apply(claim(kubectl))
    which = Key("PersistentVolumeClaim", kubectl.namespace, "data-one-0")
    found = kube.get(which)
    assert found
    version = found["metadata"]["resourceVersion"]
    changes = {"metadata": {"resourceVersion": version, "annotations": {"a": "1"}}}
    assert kube.patch(which, changes)["metadata"]["annotations"] == {"a": "1"}
    with pytest.raises(Stale, match=r"PersistentVolumeClaim/.*look at it again"):
        kube.patch(which, {"metadata": {"resourceVersion": version, "annotations": {"a": "2"}}})
    with pytest.raises(NotFound):
        kube.patch(which._replace(name="data-one-1"), {"metadata": {"annotations": {"a": "2"}}})
    assert kubectl.get("pvc", "data-one-0")["metadata"]["annotations"] == {"a": "1"}


def test_delete_takes_away_the_object_that_was_meant_and_no_other(kube: Kube, kubectl: Kubectl) -> None:
    kubectl.apply(config_map(kubectl))
    uid = kubectl.get("configmap", "one")["metadata"]["uid"]
    with pytest.raises(Stale, match=r"ConfigMap/.*/one: it has changed .* look at it again"):
        kube.delete(key_of(kubectl), "00000000-0000-0000-0000-000000000000")
    with pytest.raises(Stale):
        kube.delete(key_of(kubectl), uid, resource_version="1")
    assert kubectl.get("configmap", "one")
    kube.delete(key_of(kubectl), uid)
    assert "NotFound" in kubectl("get", "configmap", "one", check=False)
    kube.delete(key_of(kubectl), uid)
    assert kube.requests == 4


def test_delete_can_leave_what_the_object_owns(kube: Kube, kubectl: Kubectl) -> None:
    stored = kube.apply(stateful_set(kubectl), force=True).manifest
    kube.delete(
        Key("StatefulSet", kubectl.namespace, "one"),
        stored["metadata"]["uid"],
        stored["metadata"]["resourceVersion"],
        "Orphan",
    )
    assert kubectl.get("statefulset", "one")["metadata"]["finalizers"] == ["orphan"]  # nobody is there to remove it


def test_an_event_is_made(kube: Kube, kubectl: Kubectl) -> None:
    kube.event(event(kubectl))
    [found] = kubectl.list("events.events.k8s.io")
    assert (found["reason"], found["note"]) == ("Promoted", "one-1 took over")


def test_an_event_that_cannot_be_made_stops_nothing_and_is_tried_once(
    kube: Kube, kubectl: Kubectl, proxy: FaultProxy, clock: FakeClock
) -> None:
    proxy.inject(answer(503))
    kube.event(event(kubectl))
    kube.event(event(kubectl) | {"metadata": {"name": "one", "namespace": "absent"}})
    assert (kube.requests, clock.slept) == (2, [])


def event(kubectl: Kubectl) -> Manifest:
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "one.1", "namespace": kubectl.namespace},
        "eventTime": "2030-01-01T00:00:00.000000Z",
        "reportingController": "redisop",
        "reportingInstance": "redisop-0",
        "action": "Promote",
        "reason": "Promoted",
        "type": "Normal",
        "note": "one-1 took over",
        "regarding": {"apiVersion": "v1", "kind": "ConfigMap", "name": "one", "namespace": kubectl.namespace},
    }


def seen_names(kube: Kube, kubectl: Kubectl, version: str, seconds: int = 2) -> list[tuple[str, str]]:
    events = kube.watch(CONFIG_MAP, kubectl.namespace, {"app": "redis"}, version, seconds)
    return [(event.type, event.manifest["metadata"]["name"]) for event in events if event.type != "BOOKMARK"]


EXPECTED = [("ADDED", "a"), ("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "b")]


@pytest.fixture
def version(kube: Kube, kubectl: Kubectl) -> str:
    """The moment before EXPECTED happens."""
    version = kube.list(CONFIG_MAP, kubectl.namespace).resource_version
    kubectl.apply([config_map(kubectl, "a"), config_map(kubectl, "b", text="é" * 200_000)])
    kubectl.apply(config_map(kubectl, "a", changed="yes"))
    kubectl("delete", "configmap", "b")
    return version


def test_a_watch_tells_what_happened_since_and_ends_when_it_should(
    kube: Kube, kubectl: Kubectl, proxy: FaultProxy, version: str
) -> None:
    assert seen_names(kube, kubectl, version) == EXPECTED
    assert proxy.seen[-1].query["timeoutSeconds"] == "2"
    assert kube.requests == 2


def test_a_watch_brings_bookmarks_to_go_on_from(kube: Kube, kubectl: Kubectl, version: str) -> None:
    events = kube.watch(CONFIG_MAP, kubectl.namespace, {"app": "redis"}, version, 6)
    assert [next(events).type for _ in EXPECTED] == [type_ for type_, _ in EXPECTED]
    kubectl("create", "configmap", "unwatched")  # makes the server send a bookmark two seconds before the end
    bookmark = next(events)
    assert bookmark.type == "BOOKMARK"
    kubectl("delete", "configmap", "a")
    assert seen_names(kube, kubectl, bookmark.manifest["metadata"]["resourceVersion"]) == [("DELETED", "a")]


@pytest.mark.parametrize("size", [7, 1000])
def test_a_watch_does_not_mind_how_its_lines_are_cut_into_pieces(
    kube: Kube, kubectl: Kubectl, proxy: FaultProxy, version: str, size: int
) -> None:
    proxy.inject(in_pieces_of(size), when=lambda seen: "watch" in seen.query)
    assert seen_names(kube, kubectl, version) == EXPECTED


@pytest.mark.parametrize("cleanly", [False, True])
def test_a_watch_that_breaks_off_gives_whole_events_and_then_says_so(
    kube: Kube, kubectl: Kubectl, proxy: FaultProxy, version: str, cleanly: bool
) -> None:
    proxy.inject(cut(5000, cleanly), when=lambda seen: "watch" in seen.query)
    events = kube.watch(CONFIG_MAP, kubectl.namespace, {"app": "redis"}, version, 60)
    assert next(events).manifest["metadata"]["name"] == "a"
    with pytest.raises(Unreachable, match=f"ConfigMap/{kubectl.namespace}: the API server http"):
        next(events)


def test_a_watch_that_falls_silent_ends_although_the_server_does_not_end_it(
    proxy: FaultProxy, clock: FakeClock, kubectl: Kubectl, version: str, tmp_path: Any
) -> None:
    impatient = client(proxy.kubeconfig(tmp_path, ADMIN_TOKEN), clock, request_timeout=0.5)
    proxy.inject(stall(5000), when=lambda seen: "watch" in seen.query)
    with pytest.raises(Unreachable, match="does not answer in time"):
        list(impatient.watch(CONFIG_MAP, kubectl.namespace, None, version, 1))


@pytest.mark.parametrize("way", ["through TLS", "through a proxy"])
def test_a_watch_in_which_nothing_happens_can_be_ended_from_another_thread(
    kube: Kube, api_server: ApiServer, kubectl: Kubectl, way: str
) -> None:
    if way == "through TLS":
        kube = connect(str(api_server.kubeconfig), None, 60.0).until(time.monotonic() + 60.0)
    version = kube.list(CONFIG_MAP, kubectl.namespace).resource_version
    watch = kube.watch(CONFIG_MAP, kubectl.namespace, None, version, 600)
    seen: list[object] = []

    def follow() -> None:
        try:
            seen.extend(event.manifest["metadata"]["name"] for event in watch if event.type != "BOOKMARK")
        except Exception as error:
            seen.append(error)

    follower = threading.Thread(target=follow, daemon=True)
    follower.start()
    kubectl("create", "configmap", "one")
    kubectl.wait_for("the watch is at work", lambda: "one" in seen)
    watch.end()
    follower.join(timeout=30)
    assert not follower.is_alive()
    assert [each for each in seen if isinstance(each, Exception)] == []
    assert list(watch) == []
    watch.end()
    assert kube.get(Key("ConfigMap", kubectl.namespace, "one"))


def test_a_watch_that_is_dropped_leaves_no_connection_open(kube: Kube, kubectl: Kubectl, version: str) -> None:
    gc.disable()
    try:
        watch = kube.watch(CONFIG_MAP, kubectl.namespace, None, version, 600)
        next(watch)
        response = watch._progress.response
        assert response
        assert not response.closed
        del watch
        assert response.closed
    finally:
        gc.enable()


def test_a_watch_that_is_ended_before_it_began_sees_nothing(kube: Kube, kubectl: Kubectl) -> None:
    watch = kube.watch(CONFIG_MAP, kubectl.namespace, None, "0", 600)
    watch.end()
    assert list(watch) == []


def test_a_watch_from_a_moment_that_the_server_forgot_says_to_list_again(kube: Kube, pod_monitors: Kubectl) -> None:
    with pytest.raises(Expired, match="list again"):
        list(kube.watch(POD_MONITOR, None, None, "1", 5))


def test_a_watch_that_is_told_410_in_the_middle_says_to_list_again(
    kube: Kube, kubectl: Kubectl, proxy: FaultProxy
) -> None:
    line = json.dumps({"type": "ERROR", "object": EXPIRED}) + "\n"
    proxy.inject(answer(200, line), when=lambda seen: "watch" in seen.query)
    with pytest.raises(Expired):
        list(kube.watch(CONFIG_MAP, kubectl.namespace, None, "1", 5))


@pytest.fixture
def pod_monitors(api_server: ApiServer, kubectl: Kubectl) -> Any:
    """kubectl, while the API server knows PodMonitors."""
    manifest = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "podmonitors.monitoring.coreos.com"},
        "spec": {
            "group": "monitoring.coreos.com",
            "names": {"kind": "PodMonitor", "plural": "podmonitors"},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                    },
                }
            ],
        },
    }
    api_server.kubectl.apply(manifest)
    kubectl.wait_for("PodMonitors are served", lambda: kubectl("get", "podmonitors") == "")
    yield kubectl
    api_server.kubectl("delete", "crd", "podmonitors.monitoring.coreos.com", "--ignore-not-found")


def test_an_optional_kind_that_is_installed_is_a_kind_like_any_other(kube: Kube, pod_monitors: Kubectl) -> None:
    assert kube.get(Key("PodMonitor", pod_monitors.namespace, "one")) is None
    assert kube.list(POD_MONITOR, pod_monitors.namespace) == []
    metadata = {"name": "one", "namespace": pod_monitors.namespace}
    manifest = {"apiVersion": POD_MONITOR.api_version, "kind": "PodMonitor", "metadata": metadata, "spec": {"a": 1}}
    assert kube.apply(manifest, force=True).created


@given(st.lists(st.binary(max_size=9).filter(lambda line: b"\n" not in line)), st.data())
def test_lines_are_the_same_in_whatever_pieces_they_come(whole: list[bytes], data: st.DataObject) -> None:
    text = b"".join(line + b"\n" for line in whole)
    ends = sorted(data.draw(st.lists(st.integers(0, len(text)))))
    pieces = [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]
    assert list(lines(pieces)) == whole


def test_a_rest_that_is_no_whole_line_is_not_taken_for_one() -> None:
    found = lines([b"one\ntw", b"o"])
    assert next(found) == b"one"
    with pytest.raises(DecodeError):
        next(found)


def test_a_client_straight_to_the_server_over_tls_works(api_server: ApiServer, kubectl: Kubectl) -> None:
    kube = connect(str(api_server.kubeconfig), None, 60.0).until(time.monotonic() + 60.0)
    assert kube.apply(config_map(kubectl), force=False).created
