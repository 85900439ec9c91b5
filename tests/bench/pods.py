"""What a pod costs at rest: the boot loop and the probes, as processor time of whole nodes, runtime included.

The same pods are measured twice: as rendered, and with Redis alone in them. The difference is what redisop adds; an
exec probe costs more in the container runtime than in the container, so the pod's own control group would hide it.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from redisop.api.read import read
from redisop.manifest import Manifest
from redisop.render import render
from tests.bench.figures import Figure
from tests.cluster.cluster import Cluster
from tests.cluster.kubectl import Kubectl

INSTANCES, MEMBERS = 4, 3
SETTLE_SECONDS, MEASURE_SECONDS = 30, 120
GOAL_MILLICORES = 10
PASSWORD = {"apiVersion": "v1", "kind": "Secret", "stringData": {"password": "at-rest"}}


def measure() -> Iterator[Figure]:
    """Yield the figures of pods at rest."""
    with Cluster() as cluster:
        cluster.enter()
        rendered = _millicores(cluster, "rendered", [manifest for n in range(INSTANCES) for manifest in _instance(n)])
        bare = _millicores(cluster, "bare", [_bare(manifest) for n in range(INSTANCES) for manifest in _instance(n)])
    yield Figure(f"{INSTANCES * MEMBERS} pods as rendered, at rest", rendered, "millicores a pod")
    yield Figure(f"{INSTANCES * MEMBERS} pods with Redis alone", bare, "millicores a pod")
    yield Figure("boot loop and probes", rendered - bare, "millicores a pod", GOAL_MILLICORES, more_is_better=False)


def _instance(number: int) -> list[Manifest]:
    spec = {"replicas": MEMBERS, "image": "redis:7.0-alpine", "memory": "64Mi", "storage": 0}
    metadata = {"name": f"rest-{number}"}
    redis = read({"apiVersion": "example.com/v1", "kind": "Redis", "metadata": metadata, "spec": spec}).redis
    assert redis is not None
    secret = PASSWORD | {"metadata": {"name": f"rest-{number}-auth"}}
    return [secret, *render(redis.metadata, redis.spec)]


def _bare(manifest: Manifest) -> Manifest:
    if manifest["kind"] == "StatefulSet":
        container = manifest["spec"]["template"]["spec"]["containers"][0]
        container["command"] = ["redis-server"]
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            del container[probe]
    return manifest


def _millicores(cluster: Cluster, namespace: str, manifests: list[Manifest]) -> float:
    """Return the processor time of all nodes a second and pod while these pods run and nothing else does."""
    kubectl = cluster.kubectl.in_namespace(namespace)
    cluster.kubectl("create", "namespace", namespace)
    kubectl.apply(manifests)
    kubectl.wait_for("all pods Ready", lambda: _ready(kubectl) == INSTANCES * MEMBERS, 180)
    time.sleep(SETTLE_SECONDS)
    before, began = _used(cluster), time.monotonic()
    time.sleep(MEASURE_SECONDS)
    used = (_used(cluster) - before) / (time.monotonic() - began)
    cluster.kubectl("delete", "namespace", namespace, "--wait=true")
    return used * 1000 / (INSTANCES * MEMBERS)


def _ready(kubectl: Kubectl) -> int:
    return sum(_is_ready(pod) for pod in kubectl.list("pods"))


def _is_ready(pod: dict[str, Any]) -> bool:
    return any(each["type"] == "Ready" and each["status"] == "True" for each in pod["status"].get("conditions", []))


def _used(cluster: Cluster) -> float:
    """Return the processor seconds that all processes of all nodes have used."""
    return sum(_seconds(cluster.id, node) for node in cluster.nodes)


def _seconds(cluster: str, node: str) -> float:
    first = Path(f"/sys/fs/cgroup/cpuacct/{cluster}/{node}/cpuacct.usage")
    if first.exists():
        return int(first.read_text()) / 1e9
    second = Path(f"/sys/fs/cgroup/{cluster}/{node}/cpu.stat")
    return int(second.read_text().split()[1]) / 1e6
