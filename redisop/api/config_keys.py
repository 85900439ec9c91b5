"""The keys of `redis.conf`: which ones redisop sets itself, which ones take several words, and which ones a running
Redis accepts with `CONFIG SET`.

Data about Redis, taken from real servers and compared with them by a test. What a value means is Redis' business.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True)
class Owned:
    """Keys that a document may not set: their names, the beginnings of such names, and what to do instead."""

    instead: str
    keys: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()


# The first that fits a key speaks.
OWNED: Final = (
    Owned("use spec.tuning.maxmemory", ("maxmemory",)),
    Owned("use spec.tuning.maxmemoryPolicy", ("maxmemory-policy",)),
    Owned("use spec.tuning.replicationBacklog", ("repl-backlog-size",)),
    Owned("use spec.persistence.mode", ("appendonly", "rdb-del-sync-files")),
    Owned("use spec.persistence.appendfsync", ("appendfsync",)),
    Owned("use spec.persistence.save", ("save",)),
    Owned("use spec.auth.secretRef", ("requirepass", "masterauth")),
    Owned("users are reserved for a later version of redisop", ("user", "masteruser", "aclfile")),
    Owned("TLS is reserved for a later version of redisop", prefixes=("tls-",)),
    Owned("cluster mode is reserved for a later version of redisop", prefixes=("cluster-",)),
    Owned(
        "use spec.replication.policy",
        ("min-replicas-to-write", "min-replicas-max-lag", "min-slaves-to-write", "min-slaves-max-lag"),
    ),
    Owned(
        "who follows whom is decided while Redis runs",
        (
            "replicaof",
            "slaveof",
            "replica-announced",
            "replica-priority",
            "slave-priority",
            "replica-read-only",
            "slave-read-only",
            "replica-serve-stale-data",
            "slave-serve-stale-data",
        ),
        ("replica-announce-", "slave-announce-"),
    ),
    Owned(
        "the other members and the controller rely on it",
        ("repl-ping-replica-period", "repl-ping-slave-period", "tcp-keepalive"),
    ),
    Owned(
        "Redis listens on port 6379 of the pod's addresses; use spec.services and spec.networkPolicy",
        ("port", "bind", "bind-source-addr", "protected-mode", "unixsocket", "unixsocketperm"),
    ),
    Owned(
        "files have their fixed places on the volume",
        ("dir", "dbfilename", "appendfilename", "appenddirname", "pidfile", "logfile"),
    ),
    Owned("Redis runs as the container's process", ("daemonize", "supervised")),
    Owned(
        "it would let Redis read other files, load code or hide commands that redisop needs",
        ("include", "loadmodule", "loadmodule-ex", "rename-command"),
        ("enable-",),
    ),
    Owned("Sentinel is reserved for a later version of redisop", ("sentinel",)),
    Owned("write the name that Redis has used since version 5, with replica", prefixes=("slave-",)),
)

_NEWEST_MINOR: Final = 10**6
# How many words of the value make one line; 0: however many there are.
_WORDS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "client-output-buffer-limit": 4,
        "latency-tracking-info-percentiles": 0,
        "oom-score-adj-values": 3,
        "shutdown-on-sigint": 0,
        "shutdown-on-sigterm": 0,
    }
)


@dataclass(frozen=True, slots=True)
class Line:
    """A minor version of Redis: the keys that `CONFIG SET` accepts, and those that are read at start only."""

    version: tuple[int, int]
    live: frozenset[str]
    restart: frozenset[str]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LIVE_6_2: Final = _words(
    """
    acl-pubsub-default acllog-max-len active-defrag-cycle-max active-defrag-cycle-min active-defrag-ignore-bytes
    active-defrag-max-scan-fields active-defrag-threshold-lower active-defrag-threshold-upper active-expire-effort
    activedefrag activerehashing aof-load-truncated aof-rewrite-incremental-fsync aof-use-rdb-preamble appendfsync
    appendonly auto-aof-rewrite-min-size auto-aof-rewrite-percentage bind client-output-buffer-limit
    client-query-buffer-limit cluster-allow-reads-when-down cluster-allow-replica-migration cluster-announce-bus-port
    cluster-announce-ip cluster-announce-port cluster-announce-tls-port cluster-migration-barrier cluster-node-timeout
    cluster-replica-no-failover cluster-replica-validity-factor cluster-require-full-coverage cluster-slave-no-failover
    cluster-slave-validity-factor crash-log-enabled crash-memcheck-enabled dbfilename dir disable-thp dynamic-hz
    gopher-enabled hash-max-ziplist-entries hash-max-ziplist-value hll-sparse-max-bytes hz ignore-warnings
    jemalloc-bg-thread key-load-delay latency-monitor-threshold lazyfree-lazy-eviction lazyfree-lazy-expire
    lazyfree-lazy-server-del lazyfree-lazy-user-del lazyfree-lazy-user-flush lfu-decay-time lfu-log-factor
    list-compress-depth list-max-ziplist-size loglevel lua-replicate-commands lua-time-limit masterauth masteruser
    maxclients maxmemory maxmemory-eviction-tenacity maxmemory-policy maxmemory-samples min-replicas-max-lag
    min-replicas-to-write min-slaves-max-lag min-slaves-to-write no-appendfsync-on-rewrite notify-keyspace-events
    oom-score-adj oom-score-adj-values port proc-title-template protected-mode proto-max-bulk-len rdb-del-sync-files
    rdb-key-save-delay rdb-save-incremental-fsync rdbcompression repl-backlog-size repl-backlog-ttl
    repl-disable-tcp-nodelay repl-diskless-load repl-diskless-sync repl-diskless-sync-delay repl-ping-replica-period
    repl-ping-slave-period repl-timeout replica-announce-ip replica-announce-port replica-announced
    replica-ignore-maxmemory replica-lazy-flush replica-priority replica-read-only replica-serve-stale-data requirepass
    sanitize-dump-payload save set-max-intset-entries slave-announce-ip slave-announce-port slave-ignore-maxmemory
    slave-lazy-flush slave-priority slave-read-only slave-serve-stale-data slowlog-log-slower-than slowlog-max-len
    stop-writes-on-bgsave-error stream-node-max-bytes stream-node-max-entries tcp-keepalive timeout
    tracking-table-max-keys use-exit-on-panic watchdog-period zset-max-ziplist-entries zset-max-ziplist-value
    """
)
_RESTART_6_2: Final = _words(
    """
    aclfile always-show-logo appendfilename cluster-enabled daemonize databases io-threads io-threads-do-reads logfile
    pidfile rdbchecksum set-proc-title slaveof supervised syslog-enabled syslog-facility syslog-ident tcp-backlog
    unixsocket unixsocketperm
    """
)
_LIVE_7_0: Final = _LIVE_6_2 - _words(
    """
        dbfilename dir disable-thp gopher-enabled key-load-delay lua-replicate-commands rdb-key-save-delay
        use-exit-on-panic watchdog-period
        """
) | _words(
    """
        aof-disable-auto-gc aof-timestamp-enabled bind-source-addr busy-reply-threshold
        cluster-allow-pubsubshard-when-down cluster-announce-hostname cluster-link-sendbuf-limit
        cluster-preferred-endpoint-type hash-max-listpack-entries hash-max-listpack-value latency-tracking
        latency-tracking-info-percentiles list-max-listpack-size maxmemory-clients propagation-error-behavior
        repl-diskless-sync-max-replicas replica-ignore-disk-write-errors shutdown-on-sigint shutdown-on-sigterm
        shutdown-timeout zset-max-listpack-entries zset-max-listpack-value
        """
)
_RESTART_7_0: Final = _RESTART_6_2 | _words(
    """
    appenddirname cluster-config-file cluster-port dbfilename dir disable-thp enable-debug-command
    enable-module-command enable-protected-configs replicaof socket-mark-id
    """
)
_LIVE_8_2: Final = _LIVE_7_0 - _words("aof-disable-auto-gc") | _words(
    """
    cluster-announce-human-nodename cluster-compatibility-sample-ratio cluster-slot-stats-enabled
    hide-user-data-from-log locale-collate max-new-connections-per-cycle max-new-tls-connections-per-cycle
    replica-full-sync-buffer-limit set-max-listpack-entries set-max-listpack-value vset-force-single-threaded-execution
    """
)
_RESTART_8_2: Final = _RESTART_7_0 - _words("io-threads-do-reads") | _words(
    "aof-rewrite-cpulist bgsave-cpulist bio-cpulist server-cpulist"
)

LINES: Final = (
    Line((6, 2), _LIVE_6_2, _RESTART_6_2),
    Line((7, 0), _LIVE_7_0, _RESTART_7_0),
    Line((8, 2), _LIVE_8_2, _RESTART_8_2),
)


def line(version: str) -> Line:
    """Return the newest known line that is not newer than `version`; one number (`7`) means the newest of its kind.

    What is older than every known line is treated as the oldest one; rules refuse it elsewhere.
    """
    major, *minor = (int(number) for number in version.split(".")[:2])
    wanted = (major, minor[0] if minor else _NEWEST_MINOR)
    return next((known for known in reversed(LINES) if known.version <= wanted), LINES[0])


def owned(key: str) -> Owned | None:
    """Return who owns `key`, or None when a document may set it."""
    return next((owner for owner in OWNED if key in owner.keys or key.startswith(owner.prefixes)), None)


def restart_keys(version: str) -> frozenset[str]:
    """Return the keys that Redis of this version reads at start only."""
    return line(version).restart


def is_known(key: str, version: str) -> bool:
    """Tell whether Redis of the line of `version` has `key`."""
    known = line(version)
    return key in known.live or key in known.restart


def nearest(key: str, version: str) -> str | None:
    """Return the key of this version that `key` is most likely meant to be."""
    found = get_close_matches(key, _free_keys(line(version)), n=1, cutoff=0.75)
    return found[0] if found else None


def takes_words(key: str) -> bool:
    """Tell whether the value of `key` is a list of words."""
    return key in _WORDS


def arguments(key: str, value: str) -> list[str]:
    """Return the words that stand behind `key` in one line of `redis.conf` or in `CONFIG SET`.

    Most keys take the value as the one word that it is, spaces and all; a few are lists of words.
    """
    return value.split() if key in _WORDS else [value]


def directives(key: str, value: str) -> list[list[str]]:
    """Return the words behind `key` for each line of `redis.conf` that the value needs.

    Redis 6.2 takes one class of clients a line, where `CONFIG SET` and later versions take all of them in one.
    """
    words = arguments(key, value)
    size = _WORDS.get(key) or max(len(words), 1)
    return [words[start : start + size] for start in range(0, len(words), size)] or [[]]


@cache
def _free_keys(known: Line) -> tuple[str, ...]:
    return tuple(sorted(key for key in known.live | known.restart if owned(key) is None))
