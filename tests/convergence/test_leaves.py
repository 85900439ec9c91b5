"""Every field of the spec: set, changed, taken back, the live objects are those of a new instance with that spec."""

import dataclasses
import json
from typing import Any, get_args, get_origin

import pytest
from pydantic import BaseModel

from redisop.api.v1 import RedisSpec
from redisop.manifest import Manifest
from tests.convergence.site import Site

MAPPED = [{"name": "a", "value": "1"}, {"name": "a", "value": "2"}]
RESTRICTED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
CONTAINERS = [{"name": name, "image": "busybox", "securityContext": RESTRICTED} for name in ("one", "two")]
LABELS = ({"team": "x"}, {"team": "y", "other": "z"})
AMOUNTS = ({"cpu": "100m"}, {"cpu": "0.2", "ephemeral-storage": "1Gi"})
TERMS = [[{"weight": weight, "podAffinityTerm": {"topologyKey": "a"}}] for weight in (1, 2)]
AFFINITY = [{"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": term}} for term in TERMS]
RACK = {"topologyKey": "rack", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {"matchLabels": {"a": "b"}}}
SPREADS = [{"maxSkew": skew, **RACK} for skew in (2, 3)]
PEERS = [{"podSelector": {"matchLabels": {"a": "b"}}}, {"ipBlock": {"cidr": "10.0.0.0/8"}}]
PORTS = {"primary": (31111, 31112), "read": (31113, 31114)}
NODE_PORT = {"services.{}.type": "NodePort"}
BALANCER = {"services.{}.type": "LoadBalancer"}
MONITOR = {"monitoring.exporter.enabled": True}

# Two values of each leaf, and what else the document says meanwhile.
LEAVES: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "replicas": (2, 4, {}),
    "image": ("redis:6.2-alpine", "registry.example.com/redis:6.2.14", {}),
    "memory": ("512Mi", "1Gi", {}),
    "version": ("6.2", "7.2", {}),
    "mode": ("Replication", "Replication", {"replicas": 1}),
    "persistence.mode": ("RDB", "Both", {}),
    "persistence.appendfsync": ("Always", "No", {}),
    "persistence.save": ([{"seconds": 5, "changes": 1}], [], {"persistence.mode": "RDB"}),
    "persistence.retention.whenDeleted": ("Delete", "Retain", {}),
    "persistence.retention.whenScaled": ("Delete", "Retain", {}),
    "tuning.maxmemory": ("50%", "100Mi", {}),
    "tuning.maxmemoryPolicy": ("allkeys-lru", "volatile-ttl", {}),
    "tuning.replicationBacklog": ("32Mi", "64Mi", {}),
    "config": ({"timeout": "5"}, {"databases": "3", "hz": "20"}, {}),
    "auth.enabled": (False, True, {}),
    "auth.secretRef": ({"name": "mine"}, {"name": "yours", "key": "word"}, {}),
    "replication.policy": ("Durable", "Available", {}),
    **{
        f"services.{role}.{field}": (one, other, {key.format(role): value for key, value in rest.items()})
        for role in ("primary", "read")
        for field, one, other, rest in [
            ("type", "NodePort", "LoadBalancer", {}),
            ("annotations", *LABELS, {}),
            ("labels", *LABELS, {}),
            ("nodePort", *PORTS[role], NODE_PORT),
            ("loadBalancerClass", "example.com/a", "example.com/a", {}),
            ("loadBalancerSourceRanges", ["10.0.0.0/8"], ["10.0.0.0/8", "192.168.0.0/16"], BALANCER),
            ("externalTrafficPolicy", "Local", "Cluster", BALANCER),
        ]
    },
    "network.ipFamilyPolicy": ("SingleStack", "PreferDualStack", {}),
    "network.ipFamilies": (["IPv4"], ["IPv4"], {}),
    "networkPolicy.enabled": (True, False, {}),
    "networkPolicy.allowFrom": (PEERS[:1], PEERS, {"networkPolicy.enabled": True}),
    "networkPolicy.operatorNamespace": ("ops", "other", {"networkPolicy.enabled": True}),
    "scheduling.spread.node": ("Disabled", "Required", {}),
    "scheduling.spread.zone": ("Disabled", "Required", {}),
    "scheduling.affinity": (*AFFINITY, {}),
    "scheduling.tolerations": ([{"key": "a", "operator": "Exists"}], [{"key": "b", "value": "c"}], {}),
    "scheduling.nodeSelector": (*LABELS, {}),
    "scheduling.topologySpreadConstraints": (SPREADS[:1], SPREADS[1:], {}),
    "scheduling.priorityClassName": ("system-node-critical", "system-cluster-critical", {}),
    "scheduling.schedulerName": ("mine", "yours", {}),
    "pod.labels": (*LABELS, {}),
    "pod.annotations": (*LABELS, {}),
    "pod.resources.requests": (*AMOUNTS, {}),
    "pod.resources.limits": (*AMOUNTS, {}),
    "pod.securityContext": ({"runAsUser": 1001}, {"fsGroup": 5}, {}),
    "pod.containerSecurityContext": ({"runAsUser": 1001}, {"runAsNonRoot": True}, {}),
    "pod.serviceAccountName": ("mine", "yours", {}),
    "pod.imagePullSecrets": ([{"name": "a"}], [{"name": "b"}, {"name": "c"}], {}),
    "pod.imagePullPolicy": ("Always", "Never", {}),
    "pod.sidecars": (CONTAINERS[:1], CONTAINERS, {}),
    "pod.initContainers": (CONTAINERS[:1], CONTAINERS, {}),
    "pod.volumes": ([{"name": "a", "emptyDir": {}}], [{"name": "b", "emptyDir": {"medium": "Memory"}}], {}),
    "pod.volumeMounts": (
        [{"name": "a", "mountPath": "/a"}],
        [{"name": "a", "mountPath": "/b", "readOnly": True}],
        {"pod.volumes": [{"name": "a", "emptyDir": {}}]},
    ),
    "pod.env": (MAPPED[:1], MAPPED[1:], {}),
    "pod.terminationGracePeriodSeconds": (40, 50, {}),
    "probes.maxLag": ("20s", "1m", {}),
    "probes.liveness.period": ("20s", "1m", {}),
    "probes.liveness.timeout": ("2s", "3s", {}),
    "probes.liveness.failures": (3, 4, {}),
    "update.strategy": ("OnDelete", "Supervised", {}),
    "update.minReadySeconds": (1, 2, {}),
    "update.syncTimeout": ("10m", "20m", {}),
    "update.routeLead": ("1s", "2s", {}),
    "disruption.maxUnavailable": (0, 2, {}),
    "paused": (True, False, {}),
    "drift": ("Report", "Correct", {}),
    "deletion.protected": (True, False, {}),
    "monitoring.exporter.enabled": (True, False, {}),
    "monitoring.exporter.image": ("example.com/exporter:1", "example.com/exporter:2", MONITOR),
    "monitoring.exporter.resources.requests": (*AMOUNTS, MONITOR),
    "monitoring.exporter.resources.limits": (*AMOUNTS, MONITOR),
    "monitoring.podMonitor.enabled": (True, False, MONITOR),
    "monitoring.podMonitor.labels": (*LABELS, {**MONITOR, "monitoring.podMonitor.enabled": True}),
    "monitoring.podMonitor.interval": ("10s", "20s", {**MONITOR, "monitoring.podMonitor.enabled": True}),
    "metadata.inherit.labels": (["a"], ["a", "b"], {}),
    "metadata.inherit.annotations": (["a"], ["b"], {}),
    "defaultsRevision": (1, 1, {}),
}

# What no child shows, and who acts on it instead.
OF_THE_LOOP = {
    "update.strategy": "who restarts members; the StatefulSet of a managed instance restarts none",
    "update.syncTimeout": "how long a roll waits",
    "update.routeLead": "how a switchover is made",
    "paused": "whether the loop does anything",
    "drift": "what the loop does about changes of others",
    "deletion.protected": "the finalizer of the Redis itself",
    "defaultsRevision": "there is one table of defaults",
    "monitoring.podMonitor.enabled": "the kind is not known here; shown where it is",
    "monitoring.podMonitor.labels": "the kind is not known here; shown where it is",
    "monitoring.podMonitor.interval": "the kind is not known here; shown where it is",
    "network.ipFamilies": "this API server has the one family only",
}
# What volumes cannot follow: shown in test_volumes.
OF_VOLUMES = {"storage", "persistence.storageClassName"}


def leaves(model: type[BaseModel], path: str = "") -> list[str]:
    found = []
    for name, field in model.model_fields.items():
        inner = field.annotation
        choices = [inner, *get_args(inner)]
        models = [each for each in choices if isinstance(each, type) and issubclass(each, BaseModel)]
        if models and name != "secretRef" and get_origin(inner) is not tuple:
            found += leaves(models[0], f"{path}{name}.")
        else:
            found.append(f"{path}{name}")
    return found


def test_every_field_of_the_spec_has_its_values_here() -> None:
    assert set(leaves(RedisSpec)) - OF_VOLUMES == set(LEAVES)
    assert set(OF_THE_LOOP) <= set(LEAVES)


def document(values: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = {}
    for path, value in values.items():
        *outer, last = path.split(".")
        place = spec
        for step in outer:
            place = place.setdefault(step, {})
        place[last] = value
    return spec


IGNORED = {"creationTimestamp", "generation", "managedFields", "resourceVersion", "uid", "ownerReferences"}
ASSIGNED = {"clusterIP", "clusterIPs", "healthCheckNodePort"}


def children(site: Site, node_port_given: bool) -> dict[str, Manifest]:
    """Return what a user sees of the children, with X for the name, and without what the server chose."""
    found = {}
    for key, manifest in site.objects().items():
        if site.name not in key.name or key.kind == "Secret":
            continue
        content = {field: value for field, value in manifest.items() if field not in {"metadata", "status"}}
        metadata = {field: value for field, value in manifest["metadata"].items() if field not in IGNORED and value}
        if key.kind == "Service":
            content["spec"] = {field: value for field, value in content["spec"].items() if field not in ASSIGNED}
            for port in content["spec"]["ports"]:
                if not node_port_given:
                    port.pop("nodePort", None)
        text = json.dumps(content | {"metadata": metadata}).replace(site.name, "X")
        found[f"{key.kind} {key.name.replace(site.name, 'X')}"] = json.loads(text)
    return found


# One of each kind of child and of change; all of them in the second tier.
SAMPLE = {
    *(
        "replicas",
        "memory",
        "persistence.mode",
        "config",
        "auth.enabled",
        "services.read.type",
        "networkPolicy.allowFrom",
    ),
    *("scheduling.affinity", "pod.sidecars", "monitoring.exporter.enabled", "metadata.inherit.labels"),
}


@pytest.mark.parametrize(
    "leaf", [pytest.param(leaf, marks=() if leaf in SAMPLE else pytest.mark.full) for leaf in LEAVES]
)
def test_a_field_set_changed_and_taken_back_leaves_what_a_new_instance_has(still_site: Site, leaf: str) -> None:
    one, other, rest = LEAVES[leaf]
    base = {"replicas": 2, **rest}
    if leaf not in rest:
        base.pop(leaf, None)
    site = dataclasses.replace(still_site, name="subject-of-it")
    metadata = {"labels": {"a": "1", "b": "2"}, "annotations": {"a": "1", "b": "2"}}
    shown = []
    port = leaf.endswith("nodePort")
    # A class comes and goes with the type only.
    meanwhile = (
        {leaf.replace("Class", "").replace("loadBalancer", "type"): "LoadBalancer"}
        if leaf.endswith("BalancerClass")
        else {}
    )
    first, second = base | meanwhile | {leaf: one}, base | meanwhile | {leaf: other}
    for number, values in enumerate([base, first, second, base, second, base]):
        created = site.find("Redis", site.name) is None
        site.put(**document(values))
        if created:
            site.edit("Redis", site.name, {"metadata": metadata})
        outcome = site.run(wait=False, created=created)
        assert not outcome.failures, outcome.failures
        assert not [change for change in outcome.changes if change.verb in {"refuse", "replace", "leave"}]
        fresh = dataclasses.replace(still_site, name=f"fresh-{number}-of-it")
        if leaf == "paused":
            continue
        shown.append(children(site, port and leaf in values))
        if number > 3:  # the same documents as before
            continue
        if port:  # a port is there for one Service only
            continue
        fresh.put(**document(values))
        fresh.edit("Redis", fresh.name, {"metadata": metadata})
        fresh.run(wait=False)
        assert shown[-1] == children(fresh, False), values
        site.run(wait=False)
        assert site.written == [], values
    if leaf != "paused":
        assert shown[0] == shown[3] == shown[5]
        assert (shown[0] == shown[1] == shown[2]) == (leaf in OF_THE_LOOP), "a field that changes nothing is a fault"
