"""The PodMonitor, with which a Prometheus operator finds the exporter sidecars."""

from __future__ import annotations

from redisop import names
from redisop.api.derived import Derived
from redisop.api.meta import Meta
from redisop.api.v1 import RedisSpec
from redisop.manifest import Manifest
from redisop.render.inputs import Inputs


def pod_monitor(meta: Meta, spec: RedisSpec, derived: Derived, inputs: Inputs) -> Manifest | None:
    """Return the PodMonitor when it is wanted and the cluster knows the kind."""
    wanted = spec.monitoring.podMonitor
    if not (wanted.enabled and inputs.pod_monitors):
        return None
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PodMonitor",
        "metadata": {"name": meta.name, "labels": wanted.labels},
        "spec": {
            "selector": {"matchLabels": names.selector(meta.name)},
            "podMetricsEndpoints": [{"port": names.METRICS_PORT_NAME, "interval": f"{wanted.interval.seconds}s"}],
        },
    }
