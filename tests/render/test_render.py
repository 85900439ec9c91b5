"""What holds for every child of every `Redis`: purity, labels, order, Kubernetes' own schemas."""

import copy
import json

import kubernetes_validate
import pytest

from redisop.api.read import read
from redisop.api.v1 import Redis
from redisop.manifest import Manifest, key
from redisop.render import render
from redisop.render.inputs import Inputs
from tests.render import cases

KUBERNETES = ["1.30", "1.31", "1.32", "1.33", "1.34", "1.35", "1.36", "1.37"]


def redis(name: str = "shop", annotations: dict[str, str] | None = None, **spec: object) -> Redis:
    metadata = {"name": name, "annotations": annotations or {}}
    found = read({"apiVersion": "example.com/v1", "kind": "Redis", "metadata": metadata, "spec": spec})
    assert found.redis is not None, [str(violation) for violation in found.violations]
    return found.redis


def rendered(inputs: Inputs | None = None, **spec: object) -> dict[str, Manifest]:
    subject = redis(**spec)
    return {str(key(manifest)): manifest for manifest in render(subject.metadata, subject.spec, inputs or Inputs())}


@pytest.mark.parametrize("version", KUBERNETES)
@pytest.mark.parametrize("case", cases.NAMES)
def test_kubernetes_schemas_accept_every_manifest(case: str, version: str) -> None:
    for manifest in cases.manifests(case):
        if manifest["kind"] != "PodMonitor":
            kubernetes_validate.validate(manifest, version, strict=True)


@pytest.mark.parametrize("case", cases.NAMES)
def test_rendering_twice_gives_the_same_and_leaves_its_arguments_alone(case: str) -> None:
    subject = cases.redis(case)
    before = subject.model_copy(deep=True)
    first = copy.deepcopy(render(subject.metadata, subject.spec))
    assert render(subject.metadata, subject.spec) == first
    assert subject == before


@pytest.mark.parametrize("case", cases.NAMES)
def test_a_selector_uses_the_two_frozen_labels_or_the_name_of_one_pod(case: str) -> None:
    name = cases.redis(case).metadata.name
    frozen = {"app": "redis", "redis-cr": name}
    for manifest in cases.manifests(case):
        selector = manifest.get("spec", {}).get("selector")
        if manifest["kind"] == "Service" and manifest["metadata"]["name"].endswith("-master"):
            assert list(selector) == ["statefulset.kubernetes.io/pod-name"]
        elif manifest["kind"] == "Service":
            assert selector == frozen
        elif selector is not None:
            assert selector == {"matchLabels": frozen}


@pytest.mark.parametrize("case", cases.NAMES)
def test_no_manifest_has_an_empty_map_that_the_server_would_drop(case: str) -> None:
    allowed = {"emptyDir"}

    def empty(value: object, at: str) -> list[str]:
        if isinstance(value, dict):
            found = [] if value or at.rpartition(".")[2] in allowed else [at]
            return found + [fault for part, inner in value.items() for fault in empty(inner, f"{at}.{part}")]
        if isinstance(value, list):
            return [fault for number, inner in enumerate(value) for fault in empty(inner, f"{at}[{number}]")]
        return []

    for manifest in cases.manifests(case):
        assert empty(manifest, manifest["kind"]) == []


def test_manifests_come_in_an_order_in_which_each_prefix_is_safe() -> None:
    kinds = [name.partition("/")[0] for name in rendered(replicas=3, networkPolicy={"enabled": True})]
    assert kinds == [
        *("ServiceAccount", "ConfigMap", "Service", "Service", "Service"),
        *("PodDisruptionBudget", "NetworkPolicy", "StatefulSet"),
    ]


def test_users_labels_may_add_and_never_override() -> None:
    manifests = rendered(
        replicas=2,
        services={"primary": {"labels": {"team": "shop"}}},
        pod={"labels": {"team": "shop", "tier": "cache"}},
    )
    assert manifests["Service/shop-master"]["metadata"]["labels"]["team"] == "shop"
    assert manifests["Service/shop-master"]["metadata"]["labels"]["redis-cr"] == "shop"
    template = manifests["StatefulSet/shop"]["spec"]["template"]["metadata"]["labels"]
    assert (template["tier"], template["app"]) == ("cache", "redis")
    assert "team" not in manifests["ConfigMap/shop-config"]["metadata"]["labels"]


def test_the_primary_stands_in_the_service_and_the_config_map_and_nowhere_else() -> None:
    here, there = rendered(replicas=3), rendered(Inputs(primary=2), replicas=3)
    changed = {name for name in here if here[name] != there[name]}
    assert changed == {"ConfigMap/shop-config", "Service/shop-master"}
    assert there["ConfigMap/shop-config"]["data"]["home"] == "2"
    assert there["Service/shop-master"]["spec"]["selector"] == {"statefulset.kubernetes.io/pod-name": "shop-2"}


def test_a_higher_epoch_restarts_nothing() -> None:
    here, there = rendered(replicas=3), rendered(Inputs(epoch=4), replicas=3)
    assert {name for name in here if here[name] != there[name]} == {"ConfigMap/shop-config", "StatefulSet/shop"}
    assert here["StatefulSet/shop"]["spec"] == there["StatefulSet/shop"]["spec"]


def test_scaling_restarts_nothing() -> None:
    template = rendered(replicas=1)["StatefulSet/shop"]["spec"]["template"]
    for replicas in (0, 2, 3, 15):
        assert rendered(replicas=replicas)["StatefulSet/shop"]["spec"]["template"] == template


@pytest.mark.parametrize("primary", [-1, 3, 15])
def test_a_primary_that_is_no_member_is_refused(primary: int) -> None:
    with pytest.raises(ValueError, match="the last one is shop-2"):
        rendered(Inputs(primary=primary), replicas=3)


def test_hibernation_keeps_the_primary_of_the_time_before_and_every_claim() -> None:
    manifests = rendered(
        Inputs(primary=2), replicas=0, persistence={"retention": {"whenScaled": "Delete", "whenDeleted": "Delete"}}
    )
    assert manifests["ConfigMap/shop-config"]["data"]["home"] == "2"
    retention = manifests["StatefulSet/shop"]["spec"]["persistentVolumeClaimRetentionPolicy"]
    assert retention == {"whenDeleted": "Delete", "whenScaled": "Retain"}


@pytest.mark.parametrize(
    ("managed", "strategy", "expected"),
    [
        (False, "Rolling", "RollingUpdate"),
        (False, "Supervised", "OnDelete"),
        (False, "OnDelete", "OnDelete"),
        (True, "Rolling", "OnDelete"),
        (True, "Supervised", "OnDelete"),
        (True, "OnDelete", "OnDelete"),
    ],
)
def test_pods_are_restarted_by_the_stateful_set_only_where_nobody_manages_them(
    managed: bool, strategy: str, expected: str
) -> None:
    manifests = rendered(Inputs(managed=managed), replicas=2, update={"strategy": strategy})
    assert manifests["StatefulSet/shop"]["spec"]["updateStrategy"] == {"type": expected}


def test_adoption_changes_the_owner_and_the_strategy_only() -> None:
    here = rendered(replicas=3)
    there = rendered(Inputs(managed=True, owner_uid="8b2c1f0e"), replicas=3)
    for name, manifest in there.items():
        (owner,) = manifest["metadata"].pop("ownerReferences")
        assert (owner["kind"], owner["name"], owner["controller"]) == ("Redis", "shop", True), name
    there["StatefulSet/shop"]["spec"]["updateStrategy"] = {"type": "RollingUpdate"}
    assert here == there


@pytest.mark.parametrize(
    ("change", "restarts"),
    [
        ({"config": {"maxclients": "5000"}}, False),
        ({"config": {"databases": "32"}}, True),
        ({"persistence": {"mode": "RDB"}}, False),
        ({"tuning": {"maxmemoryPolicy": "allkeys-lru"}}, False),
        ({"memory": "1Gi"}, True),
        ({"image": "redis:8.2-alpine"}, True),
    ],
)
def test_only_what_redis_takes_at_start_changes_the_pod_template(change: dict[str, object], restarts: bool) -> None:
    base: dict[str, object] = {"replicas": 2, "image": "redis:7.0-alpine"}
    before = rendered(**base)["StatefulSet/shop"]["spec"]["template"]
    after = rendered(**{**base, **change})["StatefulSet/shop"]["spec"]["template"]
    assert (before != after) == restarts


def test_no_password_stands_in_a_manifest_and_redis_gets_it_from_a_file() -> None:
    manifests = rendered(replicas=2, auth={"secretRef": {"name": "shared", "key": "redis"}})
    assert not any(name.startswith("Secret/") for name in manifests)
    pod = manifests["StatefulSet/shop"]["spec"]["template"]["spec"]
    volume = {"name": "auth", "secret": {"secretName": "shared", "items": [{"key": "redis", "path": "password"}]}}
    assert volume in pod["volumes"]
    assert "secretKeyRef" not in json.dumps(pod)


def test_a_namespace_stands_on_every_child() -> None:
    subject = redis()
    meta = subject.metadata.model_copy(update={"namespace": "shop"})
    assert {manifest["metadata"]["namespace"] for manifest in render(meta, subject.spec)} == {"shop"}


def test_a_pod_monitor_is_left_out_where_the_kind_is_unknown() -> None:
    spec: dict[str, object] = {"monitoring": {"exporter": {"enabled": True}, "podMonitor": {"enabled": True}}}
    assert "PodMonitor/shop" in rendered(**spec)
    assert "PodMonitor/shop" not in rendered(Inputs(pod_monitors=False), **spec)


@pytest.mark.parametrize(
    ("given", "request_", "limit"),
    [
        ({}, "64Mi", "64Mi"),
        ({"limits": {"memory": "32Mi"}}, "32Mi", "32Mi"),
        ({"requests": {"memory": "1Gi"}}, "1Gi", "1Gi"),
        ({"requests": {"memory": "16Mi"}, "limits": {"memory": "128Mi"}}, "16Mi", "128Mi"),
    ],
)
def test_the_exporter_never_requests_more_memory_than_its_limit(given: object, request_: str, limit: str) -> None:
    manifests = rendered(monitoring={"exporter": {"enabled": True, "resources": given}})
    (exporter,) = manifests["StatefulSet/shop"]["spec"]["template"]["spec"]["containers"][1:]
    assert exporter["resources"] == {"requests": {"memory": request_}, "limits": {"memory": limit}}


def test_a_setting_of_two_classes_becomes_a_line_for_each() -> None:
    manifests = rendered(config={"client-output-buffer-limit": "normal 0 0 0 replica 64mb 32mb 60"})
    lines = manifests["ConfigMap/shop-config"]["data"]["redis.conf"].splitlines()
    assert [line for line in lines if line.startswith("client-")] == [
        "client-output-buffer-limit normal 0 0 0",
        "client-output-buffer-limit replica 64mb 32mb 60",
    ]
