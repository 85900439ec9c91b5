"""What a `Redis` should be, as far as policies need it."""

from __future__ import annotations

from dataclasses import dataclass

from redisop.api.v1 import RedisSpec
from redisop.layout import Shard


@dataclass(frozen=True, slots=True)
class Wanted:
    """`home` is the ordinal that the Service selects, `redis_conf` what members of this `version` should run with."""

    spec: RedisSpec
    shards: tuple[Shard, ...]
    home: int
    version: str
    redis_conf: str
