"""From what was observed to the Inputs of `render`: who is primary, which epoch, which table of defaults."""

from __future__ import annotations

from redisop import names
from redisop.api.v1 import Redis, RedisSpec
from redisop.manifest import Key, Manifest
from redisop.plan.actions import Hold
from redisop.render.inputs import Inputs
from redisop.snapshot import Snapshot
from redisop.status import primary_of


def inputs_of(redis: Redis, snapshot: Snapshot, pod_monitors: bool) -> Inputs:
    """Return the facts that `render` needs, each from the best source that has it."""
    meta = redis.metadata
    config_map = snapshot.live.get(Key("ConfigMap", meta.namespace, names.config_map(meta.name)), {})
    service = snapshot.live.get(Key("Service", meta.namespace, names.primary_service(meta.name)), {})
    stateful_set = snapshot.live.get(Key("StatefulSet", meta.namespace, meta.name), {})
    annotations = stateful_set.get("metadata", {}).get("annotations", {})
    return Inputs(
        managed=True,
        primary=_home(snapshot, config_map, service),
        epoch=max(_number(config_map.get("data", {}).get("epoch")), _number(annotations.get(names.EPOCH))),
        fenced=config_map.get("data", {}).get("fenced") != "false",
        defaultsRevision=_number(annotations.get(names.DEFAULTS_REVISION)) or None,
        owner_uid=meta.uid,
        pod_monitors=pod_monitors,
    )


def effective_spec(spec: RedisSpec, inputs: Inputs, stateful_set: Manifest | None) -> tuple[RedisSpec, Hold | None]:
    """Return the spec to render, and why it is not the whole spec that the user wrote.

    Removing the highest ordinals must not remove the primary: it would be lost with its newest data.
    """
    if not 0 < spec.replicas <= inputs.primary or stateful_set is None:
        return spec, None
    kept = max(inputs.primary + 1, int(stateful_set["spec"].get("replicas", 1)))
    message = (
        f"going to {spec.replicas} members would remove the primary, ordinal {inputs.primary}; "
        f"make one of the first {spec.replicas} primary before"
    )
    return spec.model_copy(update={"replicas": kept}), Hold("PrimaryWouldGo", message)


def _home(snapshot: Snapshot, config_map: Manifest, service: Manifest) -> int:
    """Return the ordinal of the primary: the one member that leads, else what was last decided, else 0."""
    if primary := primary_of(snapshot):
        return primary.ordinal
    home = config_map.get("data", {}).get("home")
    if home is not None:
        return _number(home)
    selected: str = service.get("spec", {}).get("selector", {}).get(names.POD_NAME_LABEL, "")
    return _number(selected.rpartition("-")[2])


def _number(text: str | None) -> int:
    return int(text) if text is not None and text.isdecimal() else 0
