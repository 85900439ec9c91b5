"""`redisop run` on the whole cluster: instances live by themselves, and at rest nobody hears of it."""

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.instance import IMAGES, REDISOP

SPEC = {"image": IMAGES["7.0"], "memory": "64Mi", "storage": 0}
REST_SECONDS = 10


@pytest.fixture
def controller(crd, kubectl) -> Iterator[subprocess.Popen[str]]:
    """A controller of one namespace, outside of the pods."""
    where = ["-n", kubectl.namespace, "--lease-namespace", kubectl.namespace, "--kubeconfig", str(kubectl.kubeconfig)]
    command = [REDISOP, "run", "--metrics-address", "", "--log-format", "json", *where]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    yield process
    if process.poll() is None:
        process.kill()
        process.communicate()


def create(kubectl, name: str, **spec: Any) -> None:
    document = {"apiVersion": "example.com/v1", "kind": "Redis", "metadata": {"name": name}, "spec": SPEC | spec}
    kubectl.apply(document)


def wait_until_ready(kubectl, *names: str) -> None:
    kubectl("wait", "--for=condition=Ready", *(f"redis/{name}" for name in names), "--timeout=90s")


def asked(audit, kubectl, since: int) -> list[str]:
    """Return what the controller asked of the API server since then, but for its Lease and its watches."""
    requests = audit.requests(since, namespace=kubectl.namespace)
    return [
        str(request)
        for request in requests
        if "redisop" in request.user_agent and request.resource != "leases" and request.verb != "watch"
    ]


def test_instances_live_by_themselves_and_at_rest_nothing_is_asked_or_written(
    controller, kubectl, audit, pods, redis_cli
) -> None:
    broken = {"image": "127.0.0.1:1/redis:7.0"}
    create(kubectl, "broken", **broken)
    create(kubectl, "one", replicas=1)
    create(kubectl, "two", replicas=2)
    create(kubectl, "three", replicas=3, storage="64Mi")
    wait_until_ready(kubectl, "one", "two", "three")
    assert redis_cli.client("svc/two-master").set("key", "value")

    # A kubelet that tries an image again and again says so in its pod's status, which is worth a look and no write.
    kubectl("delete", "redis/broken")
    kubectl.wait_for("the broken one's pod is gone", lambda: not kubectl.list("pods", "redis-cr=broken"))
    time.sleep(3)
    since = audit.bookmark()
    time.sleep(REST_SECONDS)
    assert asked(audit, kubectl, since) == []

    pods.delete("two-0", "two-1")
    kubectl("scale", "redis/one", "--replicas=2")
    kubectl("wait", "--for=jsonpath={.status.readyReplicas}=2", "redis/one", "--timeout=60s")
    wait_until_ready(kubectl, "one", "two", "three")
    assert controller.poll() is None

    controller.send_signal(signal.SIGTERM)
    log = [json.loads(line) for line in controller.communicate(timeout=15)[1].splitlines()]
    assert controller.returncode == 0
    assert [line for line in log if line["level"] == "error" and line.get("redis") != "broken"] == []
    kubectl("delete", "redis", "--all", "--timeout=30s")  # nothing holds on to it while nobody looks after it


def test_a_controller_that_was_killed_is_followed_by_one_that_restarts_nothing(
    controller, kubectl, audit, pods
) -> None:
    create(kubectl, "shop", replicas=2)
    wait_until_ready(kubectl, "shop")
    before = {pod["metadata"]["uid"] for pod in kubectl.list("pods", "redis-cr=shop")}
    controller.kill()
    controller.communicate()
    since = audit.bookmark()
    where = ["-n", kubectl.namespace, "--kubeconfig", str(kubectl.kubeconfig)]
    with subprocess.Popen([REDISOP, "run", "--no-leader-elect", "--metrics-address", "", *where]) as second:
        kubectl.wait_for("it lists", lambda: asked(audit, kubectl, since))
        time.sleep(5)
        second.send_signal(signal.SIGTERM)
    assert {pod["metadata"]["uid"] for pod in kubectl.list("pods", "redis-cr=shop")} == before
    assert {line.split()[2] for line in asked(audit, kubectl, since)} == {"list"}
