"""The StatefulSet: members with stable names, each with a volume of its own."""

from __future__ import annotations

from redisop import names
from redisop.api.derived import Derived
from redisop.api.meta import Meta
from redisop.api.v1 import RedisSpec
from redisop.manifest import Manifest
from redisop.render.inputs import Inputs
from redisop.render.pod import pod_template


def stateful_set(meta: Meta, spec: RedisSpec, derived: Derived, inputs: Inputs) -> Manifest:
    """Return the StatefulSet."""
    manifest: Manifest = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {
            "name": meta.name,
            "annotations": {
                names.DEFAULTS_REVISION: str(derived.defaults.revision),
                names.EPOCH: str(inputs.epoch),
            },
        },
        "spec": {
            "replicas": spec.replicas,
            "serviceName": names.headless_service(meta.name),
            # Members wait for each other to take roles: one at a time would wait for ever.
            "podManagementPolicy": "Parallel",
            "updateStrategy": {"type": _update_strategy(spec, inputs)},
            "minReadySeconds": spec.update.minReadySeconds,
            "persistentVolumeClaimRetentionPolicy": {
                "whenDeleted": spec.persistence.retention.whenDeleted,
                # With no pods wanted `Delete` would take every volume: hibernation keeps them all.
                "whenScaled": spec.persistence.retention.whenScaled if spec.replicas else "Retain",
            },
            "selector": {"matchLabels": names.selector(meta.name)},
            "template": pod_template(meta, spec, derived),
        },
    }
    if spec.storage.value:
        manifest["spec"]["volumeClaimTemplates"] = [_claim(spec)]
    return manifest


def _update_strategy(spec: RedisSpec, inputs: Inputs) -> str:
    """Return who restarts pods: the StatefulSet's controller only where nobody knows better and the user let it."""
    return "RollingUpdate" if spec.update.strategy == "Rolling" and not inputs.managed else "OnDelete"


def _claim(spec: RedisSpec) -> Manifest:
    claim: Manifest = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": names.DATA_VOLUME},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": spec.storage.canonical()}},
            "volumeMode": "Filesystem",
        },
    }
    if spec.persistence.storageClassName is not None:
        claim["spec"]["storageClassName"] = spec.persistence.storageClassName
    return claim
