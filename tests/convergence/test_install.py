"""What `redisop install` prints, on a real API server: it is taken as it stands, and protection holds."""

import json
import shlex
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from redisop import names
from redisop.install import install
from redisop.install.options import Options
from redisop.manifest import Manifest, list_of
from redisop.reconcile.rights import controller_rules
from tests.cluster.api_server import ApiServer
from tests.cluster.kubectl import Kubectl
from tests.convergence.conftest import make_site
from tests.convergence.site import Site, until
from tests.convergence.test_controller import Running, is_ready
from tests.install.cases import CASES, IMAGE

DRY_RUN = "--dry-run=server"
POD_MONITOR = next(kind for kind in names.KINDS if kind.kind == "PodMonitor")


@pytest.fixture(scope="module")
def installed() -> Iterator[Kubectl]:
    """kubectl, where redisop was just installed, for all namespaces; on a server of its own, since it is for all."""
    with ApiServer() as server:
        kubectl = server.kubectl
        own_namespace, *rest = install(Options(IMAGE))
        kubectl.apply(own_namespace)
        kubectl.apply(rest, "--field-manager=redisop")
        kubectl.apply(namespace("shop"))
        kubectl.wait_for("Redis is known", lambda: kubectl.apply(redis("probe", protected=True)))
        # The server takes up policies a moment after they were made.
        kubectl.wait_for("policies hold", lambda: refused(kubectl, "rd", "probe", "-n", "shop", DRY_RUN))
        yield kubectl


def namespace(name: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def redis(name: str, protected: bool, namespace: str = "shop") -> Manifest:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "example.com/v1", "kind": "Redis", "metadata": metadata, "spec": spec(protected)}


def spec(protected: bool) -> Manifest:
    return {"deletion": {"protected": protected}}


@pytest.mark.parametrize("case", CASES)
def test_the_api_server_takes_everything_as_it_stands(installed: Kubectl, case: str) -> None:
    installed.apply([namespace(name) for name in ("ops", "web")])
    installed.apply(definition(POD_MONITOR))
    manifests = install(CASES[case])
    server_side = ("apply", "--server-side", "--dry-run=server", "--validate=strict", "--field-manager=redisop")
    shown = installed.wait_for(
        "all kinds are known",
        lambda: installed(*server_side, "-o", "json", "-f", "-", stdin=json.dumps(list_of(manifests))),
    )
    stored = json.loads(shown)["items"]
    assert len(stored) == len(manifests)
    for manifest, kept in zip(manifests, stored, strict=True):
        assert is_within(manifest, kept), manifest["metadata"]["name"]


def definition(kind: names.Kind) -> Manifest:
    """Return a CRD that lets in everything."""
    group, _, version = kind.api_version.partition("/")
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind.kind, "plural": kind.plural},
            "versions": [{"name": version, "served": True, "storage": True, "schema": schema}],
        },
    }


def is_within(wanted: object, there: object) -> bool:
    """Tell whether the server stores what it was sent, besides what it adds."""
    if isinstance(wanted, dict) and isinstance(there, dict):
        return all(name in there and is_within(value, there[name]) for name, value in wanted.items())
    if isinstance(wanted, list) and isinstance(there, list):
        return len(wanted) == len(there) and all(map(is_within, wanted, there))
    return wanted == there


# -- protection -------------------------------------------------------------------------------------------------------


def refused(kubectl: Kubectl, *arguments: str) -> str:
    """Return what kubectl says when the server refuses to delete that, and nothing when it does."""
    ended = kubectl.run("delete", *arguments, "--wait=false")
    return ended.stderr if ended.returncode else ""


def test_a_protected_redis_cannot_be_deleted_and_the_answer_says_how_it_can(installed: Kubectl) -> None:
    installed.apply([redis("kept", protected=True), redis("free", protected=False)])
    for arguments in (("rd", "kept", "-n", "shop"), ("rd", "--all", "-n", "shop")):
        said = refused(installed, *arguments)
        assert "Redis kept is protected from deletion (spec.deletion.protected). To allow it: kubectl patch" in said
    command = said.partition("To allow it: kubectl ")[2].splitlines()[0]
    installed(*shlex.split(command))
    assert refused(installed, "rd", "kept", "-n", "shop") == ""


def test_any_other_redis_can_be_deleted(installed: Kubectl) -> None:
    bare = {**redis("bare", protected=False), "spec": {}}
    installed.apply([redis("free", protected=False), bare])
    assert refused(installed, "rd", "free", "bare", "-n", "shop") == ""


def test_a_namespace_with_a_protected_redis_cannot_be_deleted(installed: Kubectl) -> None:
    installed.apply([namespace("full"), namespace("empty")])
    installed.apply([redis("free", protected=False, namespace="full"), redis("kept", protected=True, namespace="full")])
    assert refused(installed, "namespace", "empty") == ""
    said = installed.wait_for("the policy knows the Redis", lambda: refused(installed, "namespace", "full", DRY_RUN))
    assert "in this namespace Redis kept is protected from deletion (spec.deletion.protected)." in said
    installed("patch", "rd", "kept", "-n", "full", "--type=merge", "-p", json.dumps({"spec": spec(False)}))
    installed.wait_for("the policy knows that", lambda: not refused(installed, "namespace", "full", DRY_RUN))


def test_without_the_kind_namespaces_can_be_deleted_as_before() -> None:
    with ApiServer() as server:
        kubectl = server.kubectl
        policies = [each for each in install(Options(IMAGE)) if each["kind"].startswith("ValidatingAdmissionPolicy")]
        kubectl.apply([*policies, namespace("empty")])
        for _ in range(8):  # the policies take hold in the meantime
            assert refused(kubectl, "namespace", "empty", DRY_RUN) == ""
            time.sleep(0.25)


def test_in_namespaced_mode_only_the_namespaces_looked_after_are_protected() -> None:
    with ApiServer() as server:
        kubectl = server.kubectl
        manifests = install(Options(IMAGE, watch_namespaces=("shop",)))
        chosen = ("CustomResourceDefinition", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
        kubectl.apply([each for each in manifests if each["kind"] in chosen])
        kubectl.apply([namespace("shop"), namespace("other")])
        both = [redis("r", protected=True), redis("r", protected=True, namespace="other")]
        kubectl.wait_for("Redis is known", lambda: kubectl.apply(both))
        kubectl.wait_for("policies hold", lambda: refused(kubectl, "rd", "r", "-n", "shop", DRY_RUN))
        kubectl.wait_for("policies hold", lambda: refused(kubectl, "namespace", "shop", DRY_RUN))
        assert refused(kubectl, "namespace", "other", DRY_RUN) == ""
        assert refused(kubectl, "rd", "r", "-n", "other") == ""


# -- rights -----------------------------------------------------------------------------------------------------------


# What is told as Events, and a kind that the server of these tests does not know.
SELDOM = {"events", "podmonitors"}
# An apply of what does not exist is a patch to the audit log, and needs this one besides.
UNSEEN = {"create"}
LOOKED_AT_AFTER_A_CONFLICT = (
    *("configmaps", "networkpolicies", "persistentvolumeclaims", "poddisruptionbudgets", "secrets"),
    *("serviceaccounts", "services"),
)


def test_the_rights_in_a_namespace_are_enough_for_all_that_the_controller_does(
    site: Site, api_server: ApiServer, tmp_path: Path
) -> None:
    kubectl = api_server.kubectl.in_namespace(site.namespace)
    manifests = install(Options(IMAGE, namespace=site.namespace, watch_namespaces=(site.namespace,)))
    kubectl.apply([each for each in manifests if each["kind"] in ("ServiceAccount", "Role", "RoleBinding")])
    token = kubectl("create", "token", "redisop").strip()
    running = Running(make_site(api_server, site.namespace, site.proxy, tmp_path, token))
    running.thread.start()
    grows = {"storageClassName": "grows", "retention": {"whenDeleted": "Delete"}}
    for document in (
        {"replicas": 2, "networkPolicy": {"enabled": True}, "persistence": {"storageClassName": "grows"}},
        {"replicas": 3, "storage": "2Gi", "deletion": {"protected": True}, "persistence": grows},
        {"replicas": 1, "pod": {"serviceAccountName": "default"}, "storage": "2Gi", "persistence": grows},
    ):
        redis, _ = site.put(**document)
        until(is_ready(site, generation=redis.metadata.generation))
    running.stop()
    asked = api_server.audit.requests(user=f"system:serviceaccount:{site.namespace}:redisop")
    assert [request for request in asked if request.code == 403] == []
    used = {(request.resource, request.verb) for request in asked}
    granted = {(rule["resources"][0], verb) for rule in controller_rules() for verb in rule["verbs"]}
    assert used <= granted
    unused = {(resource, verb) for resource, verb in granted - used if resource not in SELDOM and verb not in UNSEEN}
    # Pods are deleted of an instance that can only start anew together; here none has to.
    assert unused == {("pods", "delete"), *((resource, "get") for resource in LOOKED_AT_AFTER_A_CONFLICT)}
