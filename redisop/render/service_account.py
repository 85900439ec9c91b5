"""The ServiceAccount of the pods: no rights, no token."""

from __future__ import annotations

from redisop.api.derived import Derived
from redisop.api.meta import Meta
from redisop.api.v1 import RedisSpec
from redisop.manifest import Manifest
from redisop.render.inputs import Inputs


def service_account(meta: Meta, spec: RedisSpec, derived: Derived, inputs: Inputs) -> Manifest | None:
    """Return the ServiceAccount, or None when the user named another."""
    if spec.pod.serviceAccountName is not None:
        return None
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": meta.name},
        "automountServiceAccountToken": False,
    }
