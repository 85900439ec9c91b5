"""The test cluster itself: that it is what the other tests take it for."""

import socket
import subprocess
import time
import urllib.request

import pytest
import redis

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
            "nodeSelector": {"kubernetes.io/hostname": node} if node else {},
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


def test_every_redis_image_starts_under_the_restricted_standard(kubectl, pods, redis_cli):
    images = {
        f"redis-{minor}{suffix}".replace(".", "-"): (f"redis:{minor}{suffix}", minor)
        for minor in ("6.2", "7.0", "8.2")
        for suffix in ("-alpine", "", "-bookworm")
    }
    kubectl.apply([SECRET, *(redis_pod(name, image) for name, (image, _) in images.items())])
    pods.wait_until_ready(*images)
    for name, (_, minor) in images.items():
        assert redis_cli.info(name, "server")["redis_version"].startswith(f"{minor}.")


def test_the_two_flavours_of_an_image_have_their_own_userland(kubectl, pods):
    kubectl.apply([SECRET, redis_pod("alpine", "redis:7.0-alpine"), redis_pod("debian", "redis:7.0")])
    pods.wait_until_ready("alpine", "debian")
    programs = ["sh", "sed", "tr", "od", "timeout"]
    for pod, owners in (
        ("alpine", {"/bin/busybox"}),
        ("debian", {"/usr/bin/dash", "/usr/bin/sed", "/usr/bin/tr", "/usr/bin/od", "/usr/bin/timeout"}),
    ):
        where = "for name; do readlink -f $(command -v $name); done"
        assert set(kubectl("exec", pod, "--", "sh", "-c", where, "-", *programs).split()) == owners
    assert "not found" in kubectl("exec", "debian", "--", "sh", "-c", "busybox; ps", check=False)


def test_a_stand_in_for_the_exporter_answers_http(kubectl, pods):
    exporter = {
        "name": "exporter",
        "image": "oliver006/redis_exporter:v1.74.0",
        "securityContext": RESTRICTED,
        "readinessProbe": {"httpGet": {"path": "/health", "port": 9121}, "periodSeconds": 1},
    }
    pod = redis_pod("one")
    pod["spec"]["containers"].append(exporter)
    kubectl.apply([SECRET, pod])
    pods.wait_until_ready("one")
    with urllib.request.urlopen(f"http://{pods.address('one')}:9121/metrics", timeout=5) as answer:
        assert answer.read().startswith(b"# TYPE redis_")


def test_services_and_their_names_work_in_pods_on_nodes_and_here(cluster, kubectl, pods, redis_cli):
    kubectl.apply([SECRET, redis_pod("one", node="n1"), redis_pod("two", node="n2"), service("one")])
    pods.wait_until_ready("one", "two")
    kubectl.wait_for("an answer", lambda: redis_cli("svc/one", "SET", "key", "value") == "OK", 5)
    ask = ["redis-cli", "-a", PASSWORD, "-h"]
    for pod in ("one", "two"):  # on the same node as what they ask, and on another
        for name in ("one", f"one.{kubectl.namespace}.svc.cluster.local"):
            assert kubectl("exec", pod, "--", *ask, name, "GET", "key").endswith("value\n")
    for node in cluster.nodes:
        from_node = cluster.command_in([*ask, redis_cli.address("svc/one"), "GET", "key"], node)
        assert subprocess.run(from_node, capture_output=True, timeout=10).stdout == b"value\n"


def test_nothing_reaches_the_outside(cluster, kubectl, pods):
    outside = "192.0.2.1"
    with socket.socket() as here, pytest.raises(OSError, match="unreachable"):
        here.connect((outside, 80))
    assert subprocess.check_output(cluster.command_in(["ip", "route", "show", "default"])) == b""
    kubectl.apply([SECRET, redis_pod("one")])
    pods.wait_until_ready("one")
    ask = ["redis-cli", "-h", outside, "PING"]
    assert "unreachable" in kubectl("exec", "one", "--", *ask, check=False)
    for node in cluster.nodes:
        done = subprocess.run(cluster.command_in(ask, node), capture_output=True, text=True, timeout=30)
        assert "unreachable" in done.stderr


def test_a_volume_is_made_kept_and_expanded(kubectl, pods, redis_cli):
    kubectl.apply([SECRET, claim("data", None, "1Gi"), redis_pod("one", claim="data", node="n1")])
    pods.wait_until_ready("one")
    redis_cli("one", "SET", "key", "value")
    pods.delete("one", force=True)
    kubectl.apply(claim("data", None, "2Gi"))
    kubectl.apply(redis_pod("one", claim="data", node="n2"))
    pods.wait_until_ready("one")
    assert redis_cli("one", "GET", "key") == "value"
    kubectl.wait_for("2Gi", lambda: kubectl.get("pvc", "data")["status"]["capacity"]["storage"] == "2Gi")


def test_a_volume_of_the_class_fixed_does_not_grow(kubectl):
    kubectl.apply(claim("data", "fixed", "1Gi"))
    kubectl.wait_for("bound", lambda: kubectl.get("pvc", "data")["status"]["phase"] == "Bound")
    with pytest.raises(AssertionError, match="must support resize"):
        kubectl.apply(claim("data", "fixed", "2Gi"))


def test_the_audit_log_tells_who_wrote_what(kubectl, audit):
    since = audit.bookmark()
    kubectl.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}})
    kubectl("get", "configmaps")
    kubectl("create", "configmap", "two", "--as=somebody", check=False)
    written = audit.writes(since, namespace=kubectl.namespace)
    assert [(each.user, each.verb, each.resource, each.name, each.code) for each in written] == [
        ("admin", "patch", "configmaps", "one", 201),
        ("somebody", "create", "configmaps", "", 403),
    ]
    assert audit.writes(audit.bookmark(), user="admin", namespace=kubectl.namespace) == []


@pytest.mark.alone
def test_a_writer_knows_what_was_acknowledged_and_how_long_nothing_was(kubectl, pods, redis_cli, writer):
    kubectl.apply([SECRET, redis_pod("one"), service("one")])
    pods.wait_until_ready("one")
    client = redis_cli.client("svc/one")
    written = writer("svc/one", node="n2", rate=200)
    kubectl.wait_for("writes", lambda: len(written.acknowledged()) > 100)
    killed = time.monotonic()
    pods.kill_container("one")
    kubectl.wait_for("a restart", lambda: pods.restarts("one") == 1)
    kubectl.wait_for("writes again", lambda: max(written.acknowledged().values()) > killed + 1)
    written.stop()
    assert written.errors(since=killed)
    outage = written.longest_gap(since=killed)
    assert 0.1 < outage < time.monotonic() - killed
    assert written.longest_gap(until=killed) < outage
    assert written.lost(client.keys()) == []
    gone = list(written.acknowledged())[50]
    client.delete(gone)
    assert written.lost(client.keys()) == [gone]


@pytest.mark.alone
def test_a_cut_node_runs_on_unheard(cluster, kubectl, pods, redis_cli):
    client = redis_on_n3(kubectl, pods, redis_cli)
    run = client.info("server")["run_id"]
    cluster.cut("n3")
    with pytest.raises(redis.TimeoutError):
        client.ping()
    cluster.join("n3")
    kubectl.wait_for("an answer", lambda: client.info("server")["run_id"] == run)


@pytest.mark.alone
def test_a_frozen_node_keeps_connections_and_says_nothing(cluster, kubectl, pods, redis_cli):
    client = redis_on_n3(kubectl, pods, redis_cli)
    run = client.info("server")["run_id"]
    cluster.freeze("n3")
    with socket.create_connection((pods.address("one"), 6379), timeout=2), pytest.raises(redis.TimeoutError):
        client.ping()
    cluster.thaw("n3")
    assert client.info("server")["run_id"] == run


@pytest.mark.alone
def test_a_killed_node_is_gone_until_it_is_started_with_its_disk(cluster, kubectl, pods, redis_cli):
    client = redis_on_n3(kubectl, pods, redis_cli)
    client.set("key", "value")
    uid = kubectl.get("pod", "one")["metadata"]["uid"]
    cluster.kill("n3")
    with pytest.raises((redis.TimeoutError, redis.ConnectionError)):
        client.ping()
    cluster.start("n3")
    cluster.wait_until_ready("n3")
    kubectl.wait_for("the container started again", lambda: pods.restarts("one") == 1)
    pods.wait_until_ready("one")
    assert kubectl.get("pod", "one")["metadata"]["uid"] == uid
    assert redis_cli("one", "GET", "key") == "value"


@pytest.mark.alone
@pytest.mark.full
def test_the_pods_of_a_lost_node_are_evicted(cluster, kubectl, pods, redis_cli):
    redis_on_n3(kubectl, pods, redis_cli)
    began = time.monotonic()
    cluster.cut("n3")
    status = '--output=jsonpath={.status.conditions[?(@.type=="Ready")].status}'
    kubectl.wait_for("n3 is lost", lambda: kubectl("get", "node", "n3", status) == "Unknown")
    assert time.monotonic() - began > 10
    kubectl.wait_for("eviction", lambda: "deletionTimestamp" in kubectl.get("pod", "one")["metadata"])
    cluster.heal()
    kubectl.wait_for("the pod is gone", lambda: not kubectl.list("pods"))


def redis_on_n3(kubectl, pods, redis_cli) -> redis.Redis:
    """Start the pod ``one`` with a volume on node n3; return a connected client that waits two seconds."""
    kubectl.apply([SECRET, claim("data", None, "1Gi"), redis_pod("one", node="n3", claim="data")])
    pods.wait_until_ready("one")
    client = redis_cli.client("one", seconds=2)
    client.ping()
    return client


def test_an_api_server_alone_checks_manifests_and_keeps_an_audit_log(api_server):
    since = api_server.audit.bookmark()
    with pytest.raises(AssertionError, match=r"spec\.replicas"):
        api_server.kubectl.apply(
            {
                "apiVersion": "apps/v1",
                "kind": "StatefulSet",
                "metadata": {"name": "one"},
                "spec": {"replicas": "two", "selector": {"matchLabels": {"app": "one"}}},
            },
            "--dry-run=server",
        )
    assert [(each.verb, each.resource) for each in api_server.audit.writes(since, user="admin")] == [
        ("patch", "statefulsets")
    ]
