"""What can be chosen about the controller in a cluster, and what all its manifests have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from redisop import names
from redisop.manifest import Manifest

NAME: Final = "redisop"
NAMESPACE: Final = "redisop-system"
HTTP_PORT: Final = 8080
HTTP_PORT_NAME: Final = "http"
SELECTOR: Final = {f"{names.RECOMMENDED_PREFIX}name": NAME, f"{names.RECOMMENDED_PREFIX}component": "controller"}
RBAC: Final = "rbac.authorization.k8s.io"


@dataclass(frozen=True, slots=True)
class Options:
    """`watch_namespaces`: those to look after, empty for all. `without` are names of `install.PARTS`."""

    image: str
    namespace: str = NAMESPACE
    watch_namespaces: tuple[str, ...] = ()
    replicas: int = 1
    pod_monitor: bool = False
    without: frozenset[str] = frozenset()


def metadata(name: str, namespace: str | None = None, labels: dict[str, str] | None = None) -> Manifest:
    """Return the metadata of one of the manifests."""
    where = {} if namespace is None else {"namespace": namespace}
    return {"name": name, **where, "labels": SELECTOR | (labels or {})}
