"""What a topology expands to: the one place that knows how many processes a `Redis` has and what they are called."""

from __future__ import annotations

from dataclasses import dataclass

from redisop import names
from redisop.api.meta import Meta
from redisop.api.v1 import RedisSpec


@dataclass(frozen=True, slots=True)
class Member:
    """One Redis process: the name of its pod and the ordinal in it."""

    pod: str
    ordinal: int


@dataclass(frozen=True, slots=True)
class Shard:
    """One primary with its replicas."""

    members: tuple[Member, ...]


def layout(meta: Meta, spec: RedisSpec) -> tuple[Shard, ...]:
    """Return the shards that `spec` asks for; a hibernated `Redis` has one without members."""
    return (Shard(tuple(Member(names.pod(meta.name, ordinal), ordinal) for ordinal in range(spec.replicas))),)
