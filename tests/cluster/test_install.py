"""What `redisop install` prints, as it stands, on the whole cluster: the controller in its image, with its rights."""

import base64
import json
import os
import re
import signal

import pytest
import yaml

from tests.cluster import operator_image
from tests.cluster.instance import IMAGES, redisop
from tests.cluster.pods import Pods

# The controller looks after every Redis in the cluster, also after those of tests beside it.
pytestmark = pytest.mark.alone

NAMESPACE = "redisop-system"
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:redisop"
SPEC = {"replicas": 2, "image": IMAGES["7.0"], "memory": "64Mi", "storage": "64Mi"}


@pytest.fixture(scope="module")
def operator(cluster):
    """kubectl in the namespace of a controller of two replicas that was just installed."""
    cluster.leave()  # the way to the package index
    archive = operator_image.ensure()
    cluster.enter()
    cluster.load(archive)
    printed = redisop("install", "--image", operator_image.IMAGE, "--replicas", "2")
    cluster.kubectl.apply(printed, "--field-manager=redisop")
    kubectl = cluster.kubectl.in_namespace(NAMESPACE)
    kubectl("wait", "--for=condition=Available", "deployment/redisop", "--timeout=60s")
    kubectl("rollout", "status", "deployment/redisop", "--timeout=60s")
    yield kubectl
    others = [each for each in yaml.safe_load_all(printed) if each["kind"] != "CustomResourceDefinition"]
    cluster.kubectl("delete", "--wait=false", "-f", "-", stdin=yaml.safe_dump_all(others))


@pytest.fixture
def shop(operator, kubectl):
    """kubectl in a namespace where a Redis is Ready that nobody but the controller has looked after."""
    document = {"apiVersion": "example.com/v1", "kind": "Redis", "metadata": {"name": "shop"}, "spec": SPEC}
    kubectl.wait_for("Redis is known", lambda: kubectl.apply(document))
    kubectl("wait", "--for=condition=Ready", "redis/shop", "--timeout=90s")
    return kubectl


def controllers(operator) -> list[str]:
    return [pod["metadata"]["name"] for pod in operator.list("pods", "app.kubernetes.io/name=redisop")]


def leader(operator) -> str:
    """Return the name of the pod that has the Lease; its identity is that and something of its own."""
    holder: str = operator.get("lease", "redisop")["spec"]["holderIdentity"]
    return holder


def test_a_redis_that_is_created_becomes_ready_and_serves(shop, operator, audit, redis_cli):
    client = redis_cli.client("svc/shop-master")
    assert client.set("key", "value")
    assert [request for request in audit.requests(user=ACCOUNT) if request.code in (401, 403)] == []


def test_the_log_is_lines_for_people_and_has_no_secret(shop, operator):
    lines = [line for pod in controllers(operator) for line in operator("logs", pod).splitlines()]
    assert [line for line in lines if not re.match(r'ts=\S+ level=\w+ msg="[^"]+"', line)] == []
    assert any("looks after Redis objects in all namespaces" in line for line in lines)
    last = [line for line in lines if f"redis=shop namespace={shop.namespace} " in line][-1]
    assert 'level=info msg="Redis cluster with 2 replicas deployed"' in last
    secret = shop.get("secret", "shop-auth")["data"]["password"]
    assert [line for line in lines if secret in line or base64.b64decode(secret).decode() in line] == []


def test_nothing_but_restricted_pods_is_let_in_beside_it(operator):
    run = ("run", "intruder", f"--image={operator_image.IMAGE}", "--privileged", "--restart=Never")
    ended = operator.run(*run)
    assert ended.returncode != 0
    assert 'violates PodSecurity "restricted' in ended.stderr


def test_the_other_one_takes_over_from_a_controller_that_was_killed(shop, operator):
    before = leader(operator)
    pod = before.partition("_")[0]
    for process in Pods(operator).processes(pod, "python"):
        os.kill(process, signal.SIGKILL)
    shop("patch", "redis", "shop", "--type=merge", "-p", json.dumps({"spec": {"replicas": 3}}))
    shop("wait", "--for=jsonpath={.status.replicas}=3", "redis/shop", "--timeout=60s")
    shop("wait", "--for=condition=Ready", "redis/shop", "--timeout=90s")
    assert leader(operator) != before
    operator("wait", "--for=condition=Ready", "pod", "--all", "--timeout=60s")


MAY = {
    "view": {"get", "list", "watch"},
    "edit": {"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"},
    "admin": {"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"},
}


@pytest.mark.parametrize("role", MAY)
def test_users_may_do_with_redis_what_their_role_lets_them_do_with_anything(operator, kubectl, role):
    kubectl("create", "rolebinding", role, f"--clusterrole={role}", f"--user={role}")
    asked = [(verb, "redises", "") for verb in sorted(MAY["admin"])]
    asked += [("patch", "redises", "scale"), ("patch", "redises", "status")]
    reviews = [review(role, kubectl.namespace, *each) for each in asked]
    whole = json.dumps({"apiVersion": "v1", "kind": "List", "items": reviews})

    def may() -> set[tuple[str, str, str]]:
        answers = kubectl("create", "-f", "-", '--output=jsonpath={.status.allowed}{"\\n"}', stdin=whole).split()
        return {each for each, answer in zip(asked, answers, strict=True) if answer == "true"}

    expected = {(verb, "redises", "") for verb in MAY[role]}
    expected |= {("patch", "redises", "scale")} if role != "view" else set()
    kubectl.wait_for("the roles are put together", lambda: may() == expected, 20)


def review(user: str, namespace: str, verb: str, resource: str, subresource: str) -> dict[str, object]:
    attributes = {"group": "example.com", "namespace": namespace, "verb": verb, "resource": resource}
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "metadata": {},
        "spec": {"user": user, "resourceAttributes": attributes | {"subresource": subresource}},
    }
