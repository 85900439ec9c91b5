"""The installations whose manifests stand in golden/install/, by name."""

from redisop.install import install
from redisop.install.options import Options
from redisop.manifest import Manifest

IMAGE = "registry.example.com/redisop:0.1.0"
CASES = {
    "cluster": Options(IMAGE),
    "namespaced": Options(IMAGE, namespace="ops", watch_namespaces=("shop", "web")),
    "tenant": Options(
        IMAGE,
        namespace="shop",
        watch_namespaces=("shop",),
        without=frozenset({"namespace", "crd", "user-roles", "deletion-policies"}),
    ),
    "two-replicas": Options(IMAGE, replicas=2, pod_monitor=True),
}


def manifests(case: str) -> list[Manifest]:
    """Return what is installed, without the CRD, which stands in crds/."""
    return [manifest for manifest in install(CASES[case]) if manifest["kind"] != "CustomResourceDefinition"]


def path(case: str, manifest: Manifest) -> str:
    """Return where a manifest stands below golden/, without the suffix; as `install --output-dir` would have it."""
    metadata = manifest["metadata"]
    place = [metadata["namespace"]] if "namespace" in metadata else []
    return "/".join(["install", case, *place, f"{manifest['kind'].lower()}-{metadata['name']}"])
