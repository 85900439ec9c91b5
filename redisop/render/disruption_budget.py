"""The PodDisruptionBudget: how many members an eviction may take at once."""

from __future__ import annotations

from redisop import names
from redisop.api.derived import Derived
from redisop.api.meta import Meta
from redisop.api.v1 import RedisSpec
from redisop.manifest import Manifest
from redisop.render.inputs import Inputs


def disruption_budget(meta: Meta, spec: RedisSpec, derived: Derived, inputs: Inputs) -> Manifest | None:
    """Return the budget, or None with fewer than two pods: it would only block the drain of a node."""
    if spec.replicas < 2:
        return None
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": meta.name},
        "spec": {
            "maxUnavailable": spec.disruption.maxUnavailable,
            # Without storage a member that is out of sync may be the last copy: evicting it is losing data.
            "unhealthyPodEvictionPolicy": "AlwaysAllow" if spec.storage.value else "IfHealthyBudget",
            "selector": {"matchLabels": names.selector(meta.name)},
        },
    }
