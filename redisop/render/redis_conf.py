"""`redis.conf`, without what only the pod knows: the entry script adds the password and the pod's address.

`min-replicas-to-write` is never written here: without an operator a lost replica must not stop writes.
"""

from __future__ import annotations

import re
from hashlib import sha256

from redisop import names
from redisop.api import config_keys
from redisop.api.derived import Derived
from redisop.api.redis_conf_lines import quoted
from redisop.api.v1 import RedisSpec

_PLAIN = re.compile(r"[A-Za-z0-9._/:%*,@+-]+")


def redis_conf(spec: RedisSpec, derived: Derived) -> str:
    """Return the text of `redis.conf`."""
    lines = [
        "# Made by redisop from a Redis document: change that, not this.",
        *_fixed(),
        *_memory(spec, derived),
        *_persistence(spec, derived),
        *(line for key, value in sorted(spec.config.items()) for line in config_lines(key, value)),
    ]
    return "\n".join(lines) + "\n"


def restart_digest(spec: RedisSpec, derived: Derived) -> str | None:
    """Return a digest of the settings that Redis takes at start only, or None when there are none.

    Only those may stand in the pod template: a setting that can change live must not restart anything.
    """
    restart = config_keys.restart_keys(derived.version)
    lines = [line for key, value in sorted(spec.config.items()) if key in restart for line in config_lines(key, value)]
    return sha256("\n".join(lines).encode()).hexdigest()[:16] if lines else None


def config_lines(key: str, value: str) -> list[str]:
    """Return the lines of `redis.conf` for a key; what is not plain is quoted, so that no value can add a line."""
    return [" ".join([key, *map(_argument, words)]) for words in config_keys.directives(key, value)]


def _fixed() -> list[str]:
    return [
        f"port {names.REDIS_PORT}",
        "bind * -::*",
        "protected-mode no",
        f"dir {names.DATA_PATH}",
        "tcp-keepalive 15",
        # Replicas testify whether they still hear the primary; with the default of 10 s they are silent too long.
        "repl-ping-replica-period 1",
        "repl-diskless-sync yes",
        "repl-diskless-sync-delay 0",
    ]


def _memory(spec: RedisSpec, derived: Derived) -> list[str]:
    return [
        f"maxmemory {derived.maxmemory}",
        f"maxmemory-policy {spec.tuning.maxmemoryPolicy}",
        f"repl-backlog-size {derived.replication_backlog}",
    ]


def _persistence(spec: RedisSpec, derived: Derived) -> list[str]:
    log = derived.persistence_mode in {"AOF", "Both"}
    dump = derived.persistence_mode in {"RDB", "Both"}
    points = [f"{point.seconds} {point.changes}" for point in spec.persistence.save] if dump else []
    lines = [f"appendonly {'yes' if log else 'no'}"]
    if log:
        lines.append(f"appendfsync {spec.persistence.appendfsync.lower()}")
    lines += [f"save {point}" for point in points] or ['save ""']
    if derived.persistence_mode == "None":
        # A full sync leaves a dump behind, and the next boot would load that old state as data.
        lines.append("rdb-del-sync-files yes")
    return lines


def _argument(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else quoted(text)
