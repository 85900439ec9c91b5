"""Reading the text that `INFO` answers. Total: a missing or odd line leaves its fact unknown and harms no other.

What comes out is safe to print: words are checked against what Redis writes there, numbers against their range.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal

from redisop.snapshot.vitals import Info, Replica

_ID: Final = re.compile(r"[0-9a-f]{40}")
_NO_ID: Final = "0" * 40
_WORD: Final = re.compile(r"[!-~]{1,255}")
_VERSION: Final = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9}){0,3}")
_NUMBER: Final = re.compile(r"[0-9]{1,19}")
_LARGEST: Final = 2**63 - 1
_LARGEST_PORT: Final = 65535
_DATABASE: Final = re.compile(r"db[0-9]{1,9}")
_REPLICA: Final = re.compile(r"slave[0-9]{1,9}")
_KEYSPACE: Final = "# Keyspace"

Said = Mapping[str, str]


def parse_info(text: str) -> Info:
    """Return the facts in `text`, the answer to a plain `INFO` of Redis 6.2 or later."""
    said = _fields(text, ":", "\n")
    role = _role(said)
    return Info(
        run_id=_id(said, "run_id"),
        version=_match(_VERSION, said, "redis_version"),
        uptime_seconds=_number(said, "uptime_in_seconds"),
        role=role,
        replication_id=_id(said, "master_replid"),
        offset=_number(said, "master_repl_offset" if role == "primary" else "slave_repl_offset"),
        second_replication_id=_id(said, "master_replid2"),
        second_offset=_number(said, "second_repl_offset"),
        backlog=_number(said, "repl_backlog_histlen"),
        failover_state=_match(_WORD, said, "master_failover_state"),
        replicas=tuple(_replica(value) for name, value in said.items() if _REPLICA.fullmatch(name)),
        primary_host=_match(_WORD, said, "master_host"),
        primary_port=_port(said, "master_port"),
        link=_link(said),
        link_down_seconds=_link_down_seconds(said),
        last_io_seconds=_number(said, "master_last_io_seconds_ago"),
        sync_in_progress=_flag(said, "master_sync_in_progress"),
        loading=_loading(said),
        keys=_keys(said),
        used_memory=_number(said, "used_memory"),
        maxmemory=_number(said, "maxmemory"),
        bgsave_running=_flag(said, "rdb_bgsave_in_progress"),
        last_bgsave_ok=_ok(said, "rdb_last_bgsave_status"),
        aof_enabled=_flag(said, "aof_enabled"),
        aof_rewrite_running=_flag(said, "aof_rewrite_in_progress"),
        aof_rewrite_scheduled=_flag(said, "aof_rewrite_scheduled"),
        last_aof_rewrite_ok=_ok(said, "aof_last_bgrewrite_status"),
        last_aof_write_ok=_ok(said, "aof_last_write_status"),
    )


def unknown(info: Info) -> list[str]:
    """Return the facts without which nothing can be said about a member, as far as `info` lacks them."""
    needed = ("role", "run_id", "replication_id", "loading", "keys")
    return [name for name in needed if getattr(info, name) is None]


def _fields(text: str, between: str, end: str) -> dict[str, str]:
    """Return the fields of `text`. Only the first separator counts: an IPv6 address has colons of its own."""
    parts = (line.strip().partition(between) for line in text.split(end))
    return {name: value for name, _, value in parts if name}


def _role(said: Said) -> Literal["primary", "replica"] | None:
    match said.get("role"):
        case "master":
            return "primary"
        case "slave":
            return "replica"
    return None


def _link(said: Said) -> Literal["up", "down"] | None:
    match said.get("master_link_status"):
        case "up":
            return "up"
        case "down":
            return "down"
    return None


def _link_down_seconds(said: Said) -> int | None:
    """A link that was never up is down for -1 s, or, on 6.2, since 1970."""
    seconds = _number(said, "master_link_down_since_seconds")
    uptime = _number(said, "uptime_in_seconds")
    return None if seconds is None or uptime is None or seconds > uptime else seconds


def _loading(said: Said) -> bool | None:
    """A diskless sync that keeps the old data until the new are complete counts as loading too (`async_loading`)."""
    loading = _flag(said, "loading")
    return loading if loading is None else loading or bool(_flag(said, "async_loading"))


def _keys(said: Said) -> int | None:
    """No line for a database without keys; no section at all when the answer is not complete."""
    if _KEYSPACE not in said:
        return None
    counts = [_number(_fields(value, "=", ","), "keys") for name, value in said.items() if _DATABASE.fullmatch(name)]
    return None if None in counts else sum(count for count in counts if count is not None)


def _replica(value: str) -> Replica:
    said = _fields(value, "=", ",")
    return Replica(
        address=_match(_WORD, said, "ip"),
        port=_port(said, "port"),
        state=_match(_WORD, said, "state"),
        offset=_number(said, "offset"),
        lag=_number(said, "lag"),
    )


def _match(pattern: re.Pattern[str], said: Said, name: str) -> str | None:
    value = said.get(name, "")
    return value if pattern.fullmatch(value) else None


def _id(said: Said, name: str) -> str | None:
    value = _match(_ID, said, name)
    return None if value == _NO_ID else value


def _number(said: Said, name: str) -> int | None:
    digits = _match(_NUMBER, said, name)
    return None if digits is None or int(digits) > _LARGEST else int(digits)


def _port(said: Said, name: str) -> int | None:
    number = _number(said, name)
    return None if number is None or number > _LARGEST_PORT else number


def _flag(said: Said, name: str) -> bool | None:
    return {"0": False, "1": True}.get(said.get(name, ""))


def _ok(said: Said, name: str) -> bool | None:
    return {"ok": True, "err": False}.get(said.get(name, ""))
