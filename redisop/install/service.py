"""The Service by which the controller's metrics are found."""

from __future__ import annotations

from redisop.install.options import HTTP_PORT, HTTP_PORT_NAME, NAME, SELECTOR, Options, metadata
from redisop.manifest import Manifest


def service(options: Options) -> list[Manifest]:
    """Return the Service. It has no address of its own: what a pod counts is that pod's."""
    port = {"name": HTTP_PORT_NAME, "port": HTTP_PORT, "targetPort": HTTP_PORT_NAME, "protocol": "TCP"}
    return [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata(f"{NAME}-metrics", options.namespace),
            "spec": {"clusterIP": "None", "selector": SELECTOR, "ports": [port]},
        }
    ]
