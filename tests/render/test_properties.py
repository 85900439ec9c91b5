"""What holds for whatever document is accepted: rendering succeeds, says the same twice, and is let into a restricted
namespace."""

from typing import Any

import yaml
from hypothesis import HealthCheck, given, settings

from redisop.api.read import read
from redisop.api.v1 import Redis
from redisop.manifest import Manifest, key, to_yaml
from redisop.render import render
from tests.api.documents import good_documents

FEW = settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow]
)
# https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted
VOLUMES = {
    *("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral"),
    *("persistentVolumeClaim", "projected", "secret"),
}
SECCOMP = {"RuntimeDefault", "Localhost"}


def redis(document: Any) -> Redis:
    found = read(document).redis
    assert found is not None
    return found


@FEW
@given(good_documents())
def test_every_accepted_document_is_rendered_and_the_same_twice(document: Any) -> None:
    subject = redis(document)
    text = to_yaml(render(subject.metadata, subject.spec))
    assert to_yaml(render(subject.metadata, subject.spec)) == text
    assert to_yaml(render(*_meta_and_spec(redis(document)))) == text
    assert list(yaml.safe_load_all(text)) == render(subject.metadata, subject.spec)


@FEW
@given(good_documents())
def test_no_two_manifests_have_the_same_key(document: Any) -> None:
    subject = redis(document)
    keys = [key(manifest) for manifest in render(subject.metadata, subject.spec)]
    assert len(set(keys)) == len(keys)


@FEW
@given(good_documents())
def test_pods_meet_the_restricted_standard(document: Any) -> None:
    subject = redis(document)
    (stateful_set,) = (each for each in render(subject.metadata, subject.spec) if each["kind"] == "StatefulSet")
    assert list(violations(stateful_set["spec"]["template"]["spec"])) == []


def _meta_and_spec(subject: Redis) -> tuple[Any, Any]:
    return subject.metadata, subject.spec


def violations(pod: Manifest) -> list[str]:
    """What the restricted Pod Security Standard has against a pod."""
    found = [field for field in ("hostNetwork", "hostPID", "hostIPC") if pod.get(field)]
    for volume in pod.get("volumes", []):
        found += [f"volume {volume['name']}: {kind}" for kind in volume.keys() - {"name"} - VOLUMES]
    security = pod["securityContext"]
    for container in [*pod.get("initContainers", []), *pod["containers"]]:
        own = container.get("securityContext", {})
        capabilities = own.get("capabilities", {})
        seccomp = own.get("seccompProfile", security.get("seccompProfile", {})).get("type")
        faults = {
            "privileged": own.get("privileged", False),
            "may gain privileges": own.get("allowPrivilegeEscalation", True),
            "keeps capabilities": "ALL" not in capabilities.get("drop", []),
            "adds capabilities": bool(set(capabilities.get("add", [])) - {"NET_BIND_SERVICE"}),
            "may be root": not own.get("runAsNonRoot", security.get("runAsNonRoot", False)),
            "is root": own.get("runAsUser", security.get("runAsUser")) == 0,
            "has no seccomp profile": seccomp not in SECCOMP,
            "takes a port of the host": any(port.get("hostPort") for port in container.get("ports", [])),
            "has another procMount": own.get("procMount", "Default") != "Default",
        }
        found += [f"container {container['name']} {fault}" for fault, there in faults.items() if there]
    return found
