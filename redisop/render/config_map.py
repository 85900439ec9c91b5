"""The ConfigMap that the pods mount: Redis' configuration, the scripts, and the facts that the boot rule reads.

The scripts read the facts anew each time they act, so a fact may change while pods run; the container's command names
none of them.
"""

from __future__ import annotations

from redisop import names
from redisop.api.derived import Derived
from redisop.api.meta import Meta
from redisop.api.v1 import RedisSpec
from redisop.manifest import Manifest
from redisop.render.inputs import Inputs
from redisop.render.redis_conf import redis_conf
from redisop.render.scripts import ENTRY, HANDOVER, READY


def config_map(meta: Meta, spec: RedisSpec, derived: Derived, inputs: Inputs) -> Manifest:
    """Return the ConfigMap."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": names.config_map(meta.name),
            # As on the StatefulSet, which is away for a moment when it is made anew.
            "annotations": {names.DEFAULTS_REVISION: str(derived.defaults.revision)},
        },
        "data": {
            "members": str(spec.replicas),
            "home": str(inputs.primary),
            "epoch": str(inputs.epoch),
            "policy": spec.replication.policy,
            "fenced": "true" if inputs.fenced else "false",
            "max-lag": str(spec.probes.maxLag.seconds),
            "redis.conf": redis_conf(spec, derived),
            "entry.sh": ENTRY,
            "ready.sh": READY,
            "handover.sh": HANDOVER,
        },
    }
