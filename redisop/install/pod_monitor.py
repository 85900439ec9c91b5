"""The PodMonitor, with which a Prometheus operator finds the controller's metrics."""

from __future__ import annotations

from redisop.install.options import HTTP_PORT_NAME, NAME, SELECTOR, Options, metadata
from redisop.manifest import Manifest


def pod_monitor(options: Options) -> list[Manifest]:
    """Return the PodMonitor when it is wanted."""
    if not options.pod_monitor:
        return []
    return [
        {
            "apiVersion": "monitoring.coreos.com/v1",
            "kind": "PodMonitor",
            "metadata": metadata(NAME, options.namespace),
            "spec": {"selector": {"matchLabels": SELECTOR}, "podMetricsEndpoints": [{"port": HTTP_PORT_NAME}]},
        }
    ]
