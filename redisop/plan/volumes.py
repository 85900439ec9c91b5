"""Volumes: claims that should be larger. Nothing here ever makes one smaller or removes one."""

from __future__ import annotations

from redisop import names
from redisop.api.scalars import Quantity
from redisop.api.v1 import RedisSpec
from redisop.manifest import Manifest
from redisop.snapshot import Snapshot


def claims_to_grow(spec: RedisSpec, snapshot: Snapshot) -> list[Manifest]:
    """Return, for each data claim that asks for less than `spec` wants, the part of it that should be otherwise."""
    if not spec.storage.value:
        return []
    wanted = spec.storage.canonical()
    return [
        {
            "apiVersion": names.CLAIM.api_version,
            "kind": names.CLAIM.kind,
            "metadata": {"name": claim["metadata"]["name"], "namespace": claim["metadata"]["namespace"]},
            "spec": {"resources": {"requests": {"storage": wanted}}},
        }
        for claim in snapshot.claims
        if Quantity.parse(claim["spec"]["resources"]["requests"]["storage"]).value < spec.storage.value
    ]
