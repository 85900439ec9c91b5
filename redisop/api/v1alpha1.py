"""`example.com/v1alpha1`: the early, flat form of a `Redis`. It is read and converted, and grows no new fields."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from redisop.api.meta import Meta
from redisop.api.scalars import Quantity
from redisop.api.v1 import Image, Part, Size, Text, ordered


class RedisSpec(Part):
    """What the owner of a Redis wants."""

    size: Annotated[int, Field(ge=0, le=15, description="replicas of v1.")] = 1
    image: Image | None = None
    memory: Size = Quantity.parse("256Mi")
    storage: Size = Quantity.parse("1Gi")
    version: Annotated[str, Field(max_length=11)] | None = None
    persistent: Annotated[bool, Field(description="false: no volumes, and nothing is kept.")] = True
    passwordSecret: Annotated[
        Text | None, Field(description="Secret with the key password. Unset: clients need no password.")
    ] = None
    redisConfig: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=4200)], ...],
        ordered(most=128, about="Lines of redis.conf: a key and its value."),
    ] = ()


class RedisStatus(Part):
    """What the cluster says of a Redis."""

    phase: Annotated[str, Field(max_length=32)] | None = None
    message: Annotated[str, Field(max_length=1024)] | None = None
    master: Annotated[str, Field(max_length=253)] | None = None
    slaves: Annotated[tuple[Annotated[str, Field(max_length=253)], ...], ordered(most=15)] = ()


class Redis(BaseModel):
    """A whole document. `status` is what the cluster says of it and never an input."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    apiVersion: Literal["example.com/v1alpha1"]
    kind: Literal["Redis"]
    metadata: Meta
    spec: RedisSpec = Field(default_factory=RedisSpec)
    status: dict[str, Any] | None = None
