"""From what was observed to the Inputs of `render`: who is primary, which epoch, which table of defaults."""

from __future__ import annotations

from redisop import names
from redisop.api.v1 import Redis
from redisop.manifest import Key, Manifest
from redisop.render.inputs import Inputs
from redisop.snapshot import Snapshot
from redisop.status import primary_of


def inputs_of(redis: Redis, snapshot: Snapshot, pod_monitors: bool) -> Inputs:
    """Return the facts that `render` needs, each from the best source that has it."""
    meta = redis.metadata
    config_map = snapshot.live.get(Key("ConfigMap", meta.namespace, names.config_map(meta.name)), {})
    stateful_set = snapshot.live.get(Key("StatefulSet", meta.namespace, meta.name), {})
    data = config_map.get("data", {})
    revisions = (_annotation(child, names.DEFAULTS_REVISION) for child in (stateful_set, config_map))
    return Inputs(
        managed=True,
        primary=_home(redis, snapshot, data, stateful_set),
        epoch=max(_number(data.get("epoch")), _annotation(stateful_set, names.EPOCH)),
        fenced=data.get("fenced") != "false",
        defaultsRevision=next(filter(None, revisions), None),
        owner_uid=meta.uid,
        pod_monitors=pod_monitors,
    )


def _home(redis: Redis, snapshot: Snapshot, data: Manifest, stateful_set: Manifest) -> int:
    """Return the ordinal of the primary: the one member that leads, else what was last decided, else 0."""
    if primary := primary_of(snapshot):
        return primary.ordinal
    members = max(redis.spec.replicas, stateful_set.get("spec", {}).get("replicas", 0))
    claims = [int(claim["metadata"]["name"].rpartition("-")[2]) for claim in snapshot.claims]
    # A number that somebody mistyped must not bring members into being.
    decided = (_number(text) for text in (data.get("home"), _selected(redis, snapshot)) if text is not None)
    return next((ordinal for ordinal in decided if ordinal < members or ordinal in claims), 0)


def _selected(redis: Redis, snapshot: Snapshot) -> str | None:
    """Return the ordinal of the pod that `<name>-master` selects."""
    meta = redis.metadata
    service = snapshot.live.get(Key("Service", meta.namespace, names.primary_service(meta.name)), {})
    pod: str | None = service.get("spec", {}).get("selector", {}).get(names.POD_NAME_LABEL)
    return pod.rpartition("-")[2] if pod else None


def _annotation(child: Manifest, name: str) -> int:
    return _number(child.get("metadata", {}).get("annotations", {}).get(name))


def _number(text: str | None) -> int:
    return int(text) if text is not None and text.isdecimal() else 0
