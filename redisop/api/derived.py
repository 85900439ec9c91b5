"""What follows from the fields of a spec: mode, version, image, sizes, times. The only place that computes it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from redisop import names
from redisop.api.defaults import Defaults
from redisop.api.scalars import Percent
from redisop.api.v1 import RedisSpec

_TAG = re.compile(r"v?([0-9]+(?:\.[0-9]+){0,2})(?![0-9.])")


@dataclass(frozen=True, slots=True)
class Derived:
    """Resolved values. Sizes in bytes, times in seconds."""

    mode: Literal["Standalone", "Replication"]
    version: str
    image: str
    exporter_image: str
    persistence_mode: Literal["None", "RDB", "AOF", "Both"]
    maxmemory: int
    replication_backlog: int
    grace_period: int
    secret_name: str
    secret_key: str
    defaults: Defaults


def derive(name: str, spec: RedisSpec, defaults: Defaults) -> Derived:
    """Return what follows from `spec` for the `Redis` called `name` under this table of defaults."""
    version = resolved_version(spec, defaults)
    return Derived(
        mode=resolved_mode(spec),
        version=version,
        image=spec.image or f"redis:{version}-{defaults.image_flavour}",
        exporter_image=spec.monitoring.exporter.image or defaults.exporter_image,
        persistence_mode=resolved_persistence(spec),
        maxmemory=maxmemory(spec),
        replication_backlog=replication_backlog(spec, defaults),
        grace_period=grace_period(spec, defaults),
        secret_name=spec.auth.secretRef.name if spec.auth.secretRef else names.secret(name),
        secret_key=spec.auth.secretRef.key if spec.auth.secretRef else names.PASSWORD_FILE,
        defaults=defaults,
    )


def resolved_mode(spec: RedisSpec) -> Literal["Standalone", "Replication"]:
    """Return the mode that `Auto` stands for."""
    if spec.mode == "Auto":
        return "Standalone" if spec.replicas == 1 else "Replication"
    return spec.mode


def resolved_version(spec: RedisSpec, defaults: Defaults) -> str:
    """Return the config dialect: `version`, else what the image tag says, else the table's."""
    return spec.version or image_version(spec.image) or defaults.version


def image_version(image: str | None) -> str | None:
    """Return the version that an image's tag says (`redis:7.0-alpine` says `7.0`), or None."""
    if image is None:
        return None
    tag = image.partition("@")[0].rpartition("/")[2].partition(":")[2]
    found = _TAG.match(tag)
    return found and found.group(1)


def resolved_persistence(spec: RedisSpec) -> Literal["None", "RDB", "AOF", "Both"]:
    """Return how data are kept: as chosen, else `AOF` with storage and `None` without."""
    return spec.persistence.mode or ("AOF" if spec.storage.value else "None")


def maxmemory(spec: RedisSpec) -> int:
    """Return Redis' `maxmemory` in bytes."""
    choice = spec.tuning.maxmemory.choice
    return spec.memory.bytes * choice.value // 100 if isinstance(choice, Percent) else choice.bytes


def replication_backlog(spec: RedisSpec, defaults: Defaults) -> int:
    """Return Redis' `repl-backlog-size` in bytes."""
    if spec.tuning.replicationBacklog:
        return spec.tuning.replicationBacklog.bytes
    return min(max(spec.memory.bytes // defaults.backlog_share, defaults.backlog_least), defaults.backlog_most)


def grace_period(spec: RedisSpec, defaults: Defaults) -> int:
    """Return the seconds that a pod gets to hand over, to save and to leave."""
    if spec.pod.terminationGracePeriodSeconds is not None:
        return spec.pod.terminationGracePeriodSeconds
    saving = spec.memory.bytes // defaults.grace_bytes_a_second
    return min(defaults.grace_base + saving, defaults.grace_most)
