"""The controller's pods."""

from __future__ import annotations

from typing import Any, Final

from redisop.install.options import HTTP_PORT, HTTP_PORT_NAME, NAME, SELECTOR, Options, metadata
from redisop.manifest import Manifest

# No user of the image's base, nor of a node.
_USER: Final = 65532
# The controller leaves within ten.
_GRACE_SECONDS: Final = 15
# A node that is gone keeps its pods for five minutes by default; until then nobody would act in their place.
_LOST_NODE_SECONDS: Final = 30


def deployment(options: Options) -> list[Manifest]:
    """Return the Deployment."""
    return [
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": metadata(NAME, options.namespace),
            "spec": {
                "replicas": options.replicas,
                "revisionHistoryLimit": 3,
                "selector": {"matchLabels": SELECTOR},
                # The new pod knows everything and stands by when the old one gives up its lead.
                "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
                "template": {"metadata": {"labels": SELECTOR}, "spec": _pod(options)},
            },
        }
    ]


def _pod(options: Options) -> dict[str, Any]:
    return {
        "serviceAccountName": NAME,
        "automountServiceAccountToken": True,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": _GRACE_SECONDS,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(options)],
        "tolerations": [_leaves_soon("not-ready"), _leaves_soon("unreachable")],
        "topologySpreadConstraints": [_spread("kubernetes.io/hostname"), _spread("topology.kubernetes.io/zone")],
    }


def _container(options: Options) -> dict[str, Any]:
    return {
        "name": "controller",
        "image": options.image,
        "args": [
            "run",
            f"--metrics-address=:{HTTP_PORT}",
            *(f"--namespace={namespace}" for namespace in options.watch_namespaces),
        ],
        "ports": [{"name": HTTP_PORT_NAME, "containerPort": HTTP_PORT, "protocol": "TCP"}],
        # The first list of thousands of objects may take a while, in which it is alive and not ready.
        "livenessProbe": _probe("/healthz", period=10, failures=6),
        "readinessProbe": _probe("/readyz", period=5, failures=3),
        # Memory for some 5,000 instances of three members, asked for as if there were 200. No limit of CPU: a failover
        # that waits for its share is a longer failover.
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }


def _probe(path: str, period: int, failures: int) -> dict[str, Any]:
    asked = {"path": path, "port": HTTP_PORT_NAME}
    return {"httpGet": asked, "periodSeconds": period, "timeoutSeconds": 5, "failureThreshold": failures}


def _leaves_soon(trouble: str) -> dict[str, Any]:
    key = f"node.kubernetes.io/{trouble}"
    return {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _LOST_NODE_SECONDS}


def _spread(topology: str) -> dict[str, Any]:
    return {
        "maxSkew": 1,
        "topologyKey": topology,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": SELECTOR},
    }
