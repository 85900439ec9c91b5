"""The numbered tables of what redisop chooses where the user did not.

A released table is never edited, since a pod template is made from it and a changed template restarts every Redis.
A new choice is a new table; an instance keeps the one it was first applied with (`defaultsRevision`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Defaults:
    """One table. Sizes in bytes, times in seconds."""

    revision: int
    version: str
    image_flavour: str
    exporter_image: str
    exporter_memory: str
    backlog_share: int
    backlog_least: int
    backlog_most: int
    grace_base: int
    grace_bytes_a_second: int
    grace_most: int
    startup_period: int
    startup_failures: int
    readiness_period: int
    probe_timeout: int
    run_volume_size: str


TABLES: Final = {
    1: Defaults(
        revision=1,
        version="6.2",
        image_flavour="alpine",
        exporter_image="oliver006/redis_exporter:v1.74.0-alpine",
        exporter_memory="64Mi",
        backlog_share=16,
        backlog_least=1024**2,
        backlog_most=256 * 1024**2,
        grace_base=30,
        grace_bytes_a_second=100 * 10**6,
        grace_most=600,
        startup_period=1,
        startup_failures=1_000_000,
        readiness_period=10,
        probe_timeout=5,
        run_volume_size="1Mi",
    ),
}
NEWEST: Final = max(TABLES)
