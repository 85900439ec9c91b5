"""The namespace of the controller, into which nothing but restricted pods are let."""

from __future__ import annotations

from redisop.install.options import Options, metadata
from redisop.manifest import Manifest


def namespace(options: Options) -> list[Manifest]:
    """Return the namespace."""
    restricted = {"pod-security.kubernetes.io/enforce": "restricted"}
    return [{"apiVersion": "v1", "kind": "Namespace", "metadata": metadata(options.namespace, labels=restricted)}]
