"""What members say about themselves, and how a member is told apart from another that took its place.

Everything here is a fact as Redis told it, under Kubernetes' and Redis' present words. `None` is *unknown*, which is
neither down nor empty. Whoever decides something from these facts does it elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

from redisop import names
from redisop.manifest import Key, Manifest, key

# Following this address is following nobody: port 1 of the member itself, where nothing listens.
PARKING_HOST: Final = "127.0.0.1"
PARKING_PORT: Final = 1


class Trouble(StrEnum):
    """Why a member did not say what it was asked."""

    NO_ADDRESS = "no address"
    UNREACHABLE = "unreachable"
    REFUSED = "refused"
    TIMEOUT = "timeout"
    CLOSED = "closed"
    WRONG_PASSWORD = "wrong password"  # noqa: S105
    LOADING = "loading"
    BUSY = "busy"
    ERROR_REPLY = "error reply"
    PROTOCOL_ERROR = "protocol error"
    OTHER_IDENTITY = "other identity"


# An error is a reply too, and a process that replies lives. Nonsense proves nothing: it need not come from Redis.
_SAID_BY_REDIS: Final = {Trouble.WRONG_PASSWORD, Trouble.LOADING, Trouble.BUSY, Trouble.ERROR_REPLY}


@dataclass(frozen=True, slots=True)
class Target:
    """Where to ask one member: the pod, its ordinal, its uid, and its address, None while it has none."""

    pod: Key
    ordinal: int
    uid: str
    address: str | None
    port: int = names.REDIS_PORT


@dataclass(frozen=True, slots=True)
class Identity:
    """The process that a command is meant for, and the history that it had; None: whichever history."""

    run_id: str
    replication_id: str | None = None


@dataclass(frozen=True, slots=True)
class Replica:
    """One replica as its primary sees it. `state` is Redis' word, `online` when in sync; `lag` in seconds."""

    address: str | None
    port: int | None
    state: str | None
    offset: int | None
    lag: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Info:
    """What `INFO` says. Offsets and sizes in bytes; None where it says nothing, or nothing sensible."""

    run_id: str | None = None
    version: str | None = None
    uptime_seconds: int | None = None

    role: Literal["primary", "replica"] | None = None
    replication_id: str | None = None
    offset: int | None = None
    second_replication_id: str | None = None
    second_offset: int | None = None
    backlog: int | None = None
    """Bytes of the replication stream that it still has; a full sync sets it to 0."""
    failover_state: str | None = None
    replicas: tuple[Replica, ...] = ()

    primary_host: str | None = None
    primary_port: int | None = None
    link: Literal["up", "down"] | None = None
    link_down_seconds: int | None = None
    """None also while the link is up, and when it was never up since the process started."""
    last_io_seconds: int | None = None
    sync_in_progress: bool | None = None

    loading: bool | None = None
    keys: int | None = None
    """Keys in all databases; while it is loading, those loaded so far."""
    used_memory: int | None = None
    maxmemory: int | None = None

    bgsave_running: bool | None = None
    last_bgsave_ok: bool | None = None
    aof_enabled: bool | None = None
    aof_rewrite_running: bool | None = None
    aof_rewrite_scheduled: bool | None = None
    last_aof_rewrite_ok: bool | None = None
    last_aof_write_ok: bool | None = None

    @property
    def parked(self) -> bool:
        """It follows nobody, by order: it has no role until somebody gives it one."""
        following = (self.primary_host, self.primary_port)
        return self.role == "replica" and following == (PARKING_HOST, PARKING_PORT)

    @property
    def position(self) -> int | None:
        """The offset, or None where it tells nothing.

        Redis forgets its offset when it starts from an append only file, and 6.2 also after a refused sync; what it
        then shows is 0 or 1, even with data.
        """
        return self.offset if self.offset is not None and self.offset > 1 else None

    @property
    def blank(self) -> bool:
        """It surely has nothing to lose: no key in any database, and no offset."""
        return self.loading is False and self.keys == 0 and self.offset is not None and self.offset <= 1

    @property
    def advanced(self) -> bool:
        """It is a replica in sync that has received something since its last full sync.

        Until then `link: up` only says that a copy was delivered, not that the stream after it arrives.
        """
        return self.role == "replica" and self.link == "up" and bool(self.backlog)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vitals(Info):
    """What the member in the pod `pod` said when asked, or that it did not answer (`trouble`) and why (`sentence`).

    `silent_seconds` and `silent_probes` count from the first of the questions in a row to which nothing came back;
    `previous` is what the pod of this name said when it last answered before, maybe under another uid. They come from
    memory: None and 0 say nothing after a restart of redisop.
    """

    pod: str
    ordinal: int
    uid: str
    address: str | None
    port: int = names.REDIS_PORT
    namespace: str | None = None
    trouble: Trouble | None = None
    sentence: str = ""
    silent_seconds: float | None = None
    silent_probes: int = 0
    previous: Vitals | None = None

    @property
    def answered(self) -> bool:
        """It told its facts: role, run_id, replication id, loading and keys are known."""
        return self.trouble is None

    @property
    def alive(self) -> bool:
        """Redis replied, be it with an error."""
        return self.answered or self.trouble in _SAID_BY_REDIS

    @property
    def target(self) -> Target:
        """Where it was asked."""
        return Target(Key("Pod", self.namespace, self.pod), self.ordinal, self.uid, self.address, self.port)

    @property
    def identity(self) -> Identity | None:
        """What commands that follow from these facts are meant for; None when it did not answer."""
        return Identity(self.run_id, self.replication_id) if self.answered and self.run_id else None


def target(pod: Manifest) -> Target:
    """Return where to ask the member in `pod`, a pod of a StatefulSet.

    A pod whose containers have ended keeps its address in its status, while somebody else may already have it.
    """
    status = pod.get("status", {})
    ended = status.get("phase") in {"Succeeded", "Failed"}
    metadata = pod["metadata"]
    return Target(
        key(pod),
        int(metadata["name"].rpartition("-")[2]),
        metadata["uid"],
        None if ended else status.get("podIP") or None,
    )
