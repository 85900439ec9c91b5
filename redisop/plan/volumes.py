"""Volumes: claims that should be larger. Nothing here ever makes one smaller or removes one."""

from __future__ import annotations

from redisop import names
from redisop.api.scalars import Quantity
from redisop.api.v1 import RedisSpec
from redisop.diff import Change, Consequence, Difference
from redisop.manifest import key
from redisop.snapshot import Snapshot


def claims_to_grow(name: str, spec: RedisSpec, snapshot: Snapshot) -> tuple[Change, ...]:
    """Return a Change for each data claim of the `Redis` called `name` that asks for less than `spec` wants."""
    if not spec.storage.value:
        return ()
    wanted = spec.storage.canonical()
    path = ("spec", "resources", "requests", "storage")
    changes = []
    for claim in snapshot.claims:
        asked = claim["spec"]["resources"]["requests"]["storage"]
        if Quantity.parse(asked).value >= spec.storage.value:
            continue
        manifest = {
            "apiVersion": names.CLAIM.api_version,
            "kind": names.CLAIM.kind,
            "metadata": {"name": claim["metadata"]["name"], "namespace": claim["metadata"]["namespace"]},
            "spec": {"resources": {"requests": {"storage": wanted}}},
        }
        difference = Difference(path, asked, wanted, None, Consequence.VOLUME)
        reason = f"{difference.field} is {asked}, should be {wanted}"
        changes.append(Change(key(claim), "update", manifest, (difference,), Consequence.VOLUME, reason))
    return tuple(changes)
