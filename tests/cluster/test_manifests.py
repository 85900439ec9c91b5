"""What the API server says to everything that render prints; what the README's tour says to it."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from redisop.manifest import to_yaml
from tests.cluster.instance import redisop
from tests.render import cases

ROOT = Path(__file__).parent.parent.parent
POD_MONITORS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "podmonitors.monitoring.coreos.com"},
    "spec": {
        "group": "monitoring.coreos.com",
        "scope": "Namespaced",
        "names": {"kind": "PodMonitor", "plural": "podmonitors"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}
DRY_RUN = ("apply", "--server-side", "--dry-run=server", "--validate=strict", "--output=json", "-f", "-")


@pytest.fixture(scope="module")
def pod_monitors(cluster):
    """Teach the cluster the one kind that Kubernetes does not know."""
    cluster.kubectl.apply(POD_MONITORS)
    cluster.kubectl("wait", "--for=condition=Established", "crd/podmonitors.monitoring.coreos.com", "--timeout=30s")


def here(case: str, namespace: str) -> str:
    """Return what the case renders, in this namespace."""
    subject = cases.redis(case)
    meta = subject.metadata.model_copy(update={"namespace": namespace})
    return to_yaml(cases.render(meta, subject.spec, cases.INPUTS.get(case, cases.Inputs())))


# The test cluster has IPv4 alone, and its API server refuses a family that it has not.
ACCEPTED = [case for case in cases.NAMES if case != "network-families"]


@pytest.mark.parametrize("case", ACCEPTED)
def test_the_server_accepts_each_manifest_strictly_and_says_the_same_twice(kubectl, pod_monitors, case):
    manifests = here(case, kubectl.namespace)
    first, second = (yaml.safe_load(kubectl(*DRY_RUN, stdin=manifests)) for _ in range(2))
    for answer in (first, second):
        for item in answer["items"]:
            # What the server makes up anew for an object that it does not store.
            del item["metadata"]["uid"], item["metadata"]["creationTimestamp"]
            for field in ("clusterIP", "clusterIPs", "ports", "healthCheckNodePort"):
                item["spec"].pop(field, None) if item["kind"] == "Service" else None
    assert first == second


@pytest.mark.parametrize("case", ["example", "odd-quantities", "pod-sidecars", "services", "scheduling"])
def test_applying_again_what_is_there_changes_nothing(kubectl, audit, case):
    manifests = here(case, kubectl.namespace)
    apply = ("apply", "--server-side", "--field-manager=redisop", "-f", "-")
    kubectl(*apply, stdin=manifests)
    before = _versions(kubectl)
    kubectl(*apply, stdin=manifests)
    assert {name: version for name, version in _versions(kubectl).items() if name in before} == before


def _versions(kubectl) -> dict[str, str]:
    # A StatefulSet's own status moves while its pods start; generation moves only with what was applied.
    objects = [*kubectl.list("serviceaccounts,configmaps,services,poddisruptionbudgets,statefulsets")]
    return {f"{each['kind']}/{each['metadata']['name']}": str(_moved(each)) for each in objects}


def _moved(manifest) -> tuple[object, object]:
    metadata = manifest["metadata"]
    applied = [each for each in metadata.get("managedFields", []) if each["manager"] == "redisop"]
    return metadata.get("generation"), applied


@pytest.mark.parametrize("case", ["example", "pod-sidecars", "monitoring", "pod"])
def test_pods_of_a_restricted_namespace_are_let_in_without_a_warning(kubectl, pod_monitors, case):
    """The standard is enforced on pods; a StatefulSet that would break it is only warned of."""
    done = kubectl.run(*DRY_RUN, stdin=here(case, kubectl.namespace))
    assert done.returncode == 0
    assert "would violate PodSecurity" not in done.stderr


def test_the_tour_of_the_readme_prints_what_stands_there(kubectl, pods):
    blocks = re.findall(r"```console\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    steps = [step for block in blocks for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:] if "kubectl" in step]
    assert len(steps) == 3
    for step in steps:
        command, _, expected = step.partition("\n")
        if command.startswith("kubectl get pods"):
            pods.wait_until_ready("my-redis-cluster-0", "my-redis-cluster-1")
        shown = _run(command, kubectl)
        assert _without_age(shown) == _without_age(expected)


def _run(command: str, kubectl) -> str:
    """Run a line of the README, with the kubectl and the redisop of this test."""
    first, _, second = command.rpartition(" | ")
    stdin = redisop(*first.split()[1:]) if first else ""
    done = subprocess.run(
        kubectl.command(*second.split()[1:]), input=stdin, capture_output=True, text=True, cwd=ROOT, check=True
    )
    return done.stdout


def _without_age(text: str) -> list[list[str]]:
    return [
        ["…" if re.fullmatch(r"(\d+[smh])+", word) else word for word in line.split()] for line in text.splitlines()
    ]
