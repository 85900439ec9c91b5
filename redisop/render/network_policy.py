"""The NetworkPolicy: members, the operator and the peers that the user named may connect."""

from __future__ import annotations

from redisop import names
from redisop.api.derived import Derived
from redisop.api.meta import Meta
from redisop.api.v1 import RedisSpec
from redisop.manifest import Manifest
from redisop.render.inputs import Inputs


def network_policy(meta: Meta, spec: RedisSpec, derived: Derived, inputs: Inputs) -> Manifest | None:
    """Return the policy when it is wanted."""
    if not spec.networkPolicy.enabled:
        return None
    operator = {names.NAMESPACE_LABEL: spec.networkPolicy.operatorNamespace}
    ingress = [
        {
            "from": [
                {"podSelector": {"matchLabels": names.selector(meta.name)}},
                {"namespaceSelector": {"matchLabels": operator}},
            ],
            "ports": [_port(names.REDIS_PORT)],
        }
    ]
    if spec.networkPolicy.allowFrom:
        ports = [_port(names.REDIS_PORT)]
        if spec.monitoring.exporter.enabled:
            ports.append(_port(names.METRICS_PORT))
        ingress.append({"from": list(spec.networkPolicy.allowFrom), "ports": ports})
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": meta.name},
        "spec": {
            "podSelector": {"matchLabels": names.selector(meta.name)},
            "policyTypes": ["Ingress"],
            "ingress": ingress,
        },
    }


def _port(number: int) -> Manifest:
    return {"protocol": "TCP", "port": number}
