"""Others who edit and apply an instance's objects: what they add stays, and nobody plays ping-pong."""

import json
from typing import Any

import pytest

from tests.cluster.audit import AuditLog
from tests.cluster.managed import Managed

MARKS = {"labels": {"argocd.argoproj.io/instance": "shops"}, "annotations": {"example.org/contact": "team-a"}}
CHILDREN = [
    *(("v1", "Service", "shop-master"), ("v1", "ConfigMap", "shop-config"), ("v1", "ServiceAccount", "shop")),
    *(("apps/v1", "StatefulSet", "shop"), ("networking.k8s.io/v1", "NetworkPolicy", "shop")),
]


@pytest.fixture
def shop(managed) -> Managed:
    shop: Managed = managed(storage=0, networkPolicy={"enabled": True})
    shop.up()
    return shop


def mark_all(shop: Managed) -> None:
    """Add labels and annotations to every child: by server-side apply, and by an edit."""
    for version, kind, name in CHILDREN:
        marked = {"apiVersion": version, "kind": kind, "metadata": {"name": name} | MARKS}
        shop.kubectl.apply(marked, "--field-manager=argocd-controller")
        shop.kubectl("annotate", kind, name, "edited=yes", "--field-manager=kubectl-edit")


def are_marked(shop: Managed) -> bool:
    found = [shop.kubectl.get(kind, name)["metadata"] for _, kind, name in CHILDREN]
    wanted = MARKS["annotations"] | {"edited": "yes"}
    return all(
        MARKS["labels"].items() <= each["labels"].items() and wanted.items() <= each["annotations"].items()
        for each in found
    )


def ours(shop: Managed, audit: AuditLog, since: Any) -> list[tuple[str, str]]:
    """Return the resource and name of each write of redisop."""
    writes = audit.writes(since, namespace=shop.kubectl.namespace)
    return [(write.resource, write.name) for write in writes if "redisop" in write.user_agent]


def edit(shop: Managed, kind: str, name: str, spec: dict[str, Any], manager: str) -> None:
    patch = json.dumps({"spec": spec})
    shop.kubectl("patch", kind, name, "--type=merge", "-p", patch, f"--field-manager={manager}")


def test_what_others_add_stays_and_what_they_change_is_set_right_once(shop, audit) -> None:
    mark_all(shop)
    since = audit.bookmark()
    assert [shop.once().returncode for _ in range(2)] == [0, 0]
    assert ours(shop, audit, since) == []

    edit(shop, "service", "shop-master", {"type": "NodePort"}, "kubectl-edit")
    edit(shop, "statefulset", "shop", {"minReadySeconds": 77}, "argocd-controller")
    since = audit.bookmark()
    assert [shop.once().returncode for _ in range(3)] == [0, 0, 0]
    assert sorted(ours(shop, audit, since)) == [("services", "shop-master"), ("statefulsets", "shop")]
    assert shop.kubectl.get("service", "shop-master")["spec"]["type"] == "ClusterIP"

    assert shop.once(memory="128Mi", config={"timeout": "5"}).returncode == 0
    assert are_marked(shop)


def test_what_others_change_is_left_to_them_where_the_document_says_so(shop, audit) -> None:
    mark_all(shop)
    assert shop.once(drift="Report").returncode == 0
    edit(shop, "service", "shop-master", {"type": "NodePort"}, "kubectl-edit")
    since = audit.bookmark()
    runs = [shop.once() for _ in range(3)]
    assert [run.returncode for run in runs] == [5, 5, 5], runs[0].stderr
    assert all("kubectl-edit set it, and drift is Report" in run.stderr for run in runs)
    assert ours(shop, audit, since) == [("redises/status", "shop")]
    condition = '--output=jsonpath={.status.conditions[?(@.type=="DriftDetected")].message}'
    told = shop.kubectl("get", "redis", "shop", condition)
    assert told == f"kubectl-edit owns spec.type of Service/{shop.kubectl.namespace}/shop-master"
    assert shop.kubectl.get("service", "shop-master")["spec"]["type"] == "NodePort"
    assert are_marked(shop)
