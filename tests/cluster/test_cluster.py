"""The test cluster itself: that it is what the other tests take it for."""

import pytest

from tests.cluster.cluster import Cluster

PASSWORD = "s3cret"
RESTRICTED = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}


def redis_pod(name: str, image: str = "redis:7.0-alpine", node: str | None = None, claim: str | None = None) -> dict:
    """Return a Redis that meets the restricted standard; its data are on the claim, if any."""
    data = {"persistentVolumeClaim": {"claimName": claim}} if claim else {"emptyDir": {}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "nodeName": node,
            "automountServiceAccountToken": False,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 999,
                "runAsGroup": 1000,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [
                {
                    "name": "redis",
                    "image": image,
                    "args": ["--requirepass", PASSWORD, "--appendonly", "yes"],
                    "securityContext": RESTRICTED,
                    "readinessProbe": {"tcpSocket": {"port": 6379}, "periodSeconds": 1},
                    "volumeMounts": [{"name": "data", "mountPath": "/data"}],
                }
            ],
            "volumes": [{"name": "data", **data}, {"name": "auth", "secret": {"secretName": "auth"}}],
        },
    }


SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "auth"}, "stringData": {"password": PASSWORD}}


def service(name: str) -> dict:
    ports = [{"name": "redis", "port": 6379}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": {"app": name}, "ports": ports},
    }


def claim(name: str, storage_class: str | None, size: str) -> dict:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    if storage_class:
        spec["storageClassName"] = storage_class
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def test_three_nodes_are_ready(cluster: Cluster):
    ready = cluster.kubectl("get", "nodes", "--no-headers").split("\n")[:-1]
    assert [line.split()[:2] for line in ready] == [["n1", "Ready"], ["n2", "Ready"], ["n3", "Ready"]]


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("redis:6.2-alpine", "6.2"),
        ("redis:6.2", "6.2"),
        ("redis:7.0-alpine", "7.0"),
        ("redis:7.0", "7.0"),
        ("redis:7.0-bookworm", "7.0"),
        ("redis:8.2-alpine", "8.2"),
        ("redis:8.2", "8.2"),
    ],
)
def test_every_redis_image_starts_under_the_restricted_standard(kubectl, pods, redis_cli, image, version):
    kubectl.apply([SECRET, redis_pod("one", image)])
    pods.wait_until_ready("one")
    assert redis_cli.info("one", "server")["redis_version"].startswith(f"{version}.")
    assert redis_cli("one", "SET", "key", "value") == "OK"
