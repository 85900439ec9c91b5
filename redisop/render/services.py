"""The three Services: all members, the primary, everything that can answer reads."""

from __future__ import annotations

from redisop import names
from redisop.api.derived import Derived
from redisop.api.meta import Meta
from redisop.api.v1 import RedisSpec, Service
from redisop.manifest import Manifest
from redisop.render.inputs import Inputs


def headless_service(meta: Meta, spec: RedisSpec, derived: Derived, inputs: Inputs) -> Manifest:
    """Return `<name>-headless`: members find each other through it, Ready or not."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": names.headless_service(meta.name)},
        "spec": {
            "type": "ClusterIP",
            "clusterIP": "None",
            **_families(spec),
            "publishNotReadyAddresses": True,
            "selector": names.selector(meta.name),
            "ports": [_port()],
        },
    }


def primary_service(meta: Meta, spec: RedisSpec, derived: Derived, inputs: Inputs) -> Manifest:
    """Return `<name>-master`: it selects one pod by name, so one apply moves it and it never has no endpoint.

    Not gated by readiness: when a primary dies the link of every replica is down, the next primary's too.
    """
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(names.primary_service(meta.name), spec.services.primary),
        "spec": {
            **_exposure(spec.services.primary),
            **_families(spec),
            "publishNotReadyAddresses": True,
            "selector": {names.POD_NAME_LABEL: names.pod(meta.name, inputs.primary)},
            "ports": [_port(spec.services.primary.nodePort)],
        },
    }


def read_service(meta: Meta, spec: RedisSpec, derived: Derived, inputs: Inputs) -> Manifest | None:
    """Return `<name>-read`: every Ready member, the primary included; None where there is only one.

    Hibernation keeps it: a node port or a load balancer that was given away does not come back.
    """
    if derived.mode == "Standalone":
        return None
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(names.read_service(meta.name), spec.services.read),
        "spec": {
            **_exposure(spec.services.read),
            **_families(spec),
            "selector": names.selector(meta.name),
            "ports": [_port(spec.services.read.nodePort)],
        },
    }


def _metadata(name: str, service: Service) -> Manifest:
    return {"name": name, "labels": service.labels, "annotations": service.annotations}


def _exposure(service: Service) -> Manifest:
    exposure: Manifest = {"type": service.type}
    if service.loadBalancerClass is not None:
        exposure["loadBalancerClass"] = service.loadBalancerClass
    if service.loadBalancerSourceRanges:
        exposure["loadBalancerSourceRanges"] = list(service.loadBalancerSourceRanges)
    if service.externalTrafficPolicy is not None:
        exposure["externalTrafficPolicy"] = service.externalTrafficPolicy
    return exposure


def _families(spec: RedisSpec) -> Manifest:
    families: Manifest = {}
    if spec.network.ipFamilyPolicy is not None:
        families["ipFamilyPolicy"] = spec.network.ipFamilyPolicy
    if spec.network.ipFamilies:
        families["ipFamilies"] = list(spec.network.ipFamilies)
    return families


def _port(node_port: int | None = None) -> Manifest:
    port: Manifest = {
        "name": names.REDIS_PORT_NAME,
        "protocol": "TCP",
        "port": names.REDIS_PORT,
        "targetPort": names.REDIS_PORT,
    }
    if node_port is not None:
        port["nodePort"] = node_port
    return port
