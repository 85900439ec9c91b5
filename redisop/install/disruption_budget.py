"""One of two controllers stays while a node is drained; of a single one that would block the drain for ever."""

from __future__ import annotations

from redisop.install.options import NAME, SELECTOR, Options, metadata
from redisop.manifest import Manifest


def disruption_budget(options: Options) -> list[Manifest]:
    """Return the PodDisruptionBudget, none for a single pod."""
    if options.replicas < 2:
        return []
    return [
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": metadata(NAME, options.namespace),
            "spec": {
                "maxUnavailable": 1,
                "unhealthyPodEvictionPolicy": "AlwaysAllow",
                "selector": {"matchLabels": SELECTOR},
            },
        }
    ]
