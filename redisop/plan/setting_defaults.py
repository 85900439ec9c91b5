"""What Redis itself takes for a setting that no file names: where a running member goes back to.

The values are those of the newest known version that has the key; the few that were others before stand apart.
"""

from __future__ import annotations

from typing import Final

from redisop.api.config_keys import line

_NEWEST: Final = """
    appendfsync everysec
    rdb-del-sync-files no
    acl-pubsub-default resetchannels
    acllog-max-len 128
    active-defrag-cycle-max 25
    active-defrag-cycle-min 1
    active-defrag-ignore-bytes 104857600
    active-defrag-max-scan-fields 1000
    active-defrag-threshold-lower 10
    active-defrag-threshold-upper 100
    active-expire-effort 1
    activedefrag no
    activerehashing yes
    aof-disable-auto-gc no
    aof-load-truncated yes
    aof-rewrite-incremental-fsync yes
    aof-timestamp-enabled no
    aof-use-rdb-preamble yes
    auto-aof-rewrite-min-size 67108864
    auto-aof-rewrite-percentage 100
    busy-reply-threshold 5000
    client-output-buffer-limit normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60
    client-query-buffer-limit 1073741824
    crash-log-enabled yes
    crash-memcheck-enabled yes
    disable-thp yes
    dynamic-hz yes
    gopher-enabled no
    hash-max-listpack-entries 512
    hash-max-listpack-value 64
    hash-max-ziplist-entries 512
    hash-max-ziplist-value 64
    hide-user-data-from-log no
    hll-sparse-max-bytes 3000
    hz 10
    ignore-warnings
    jemalloc-bg-thread yes
    key-load-delay 0
    latency-monitor-threshold 0
    latency-tracking yes
    latency-tracking-info-percentiles 50 99 99.9
    lazyfree-lazy-eviction no
    lazyfree-lazy-expire no
    lazyfree-lazy-server-del no
    lazyfree-lazy-user-del no
    lazyfree-lazy-user-flush no
    lfu-decay-time 1
    lfu-log-factor 10
    list-compress-depth 0
    list-max-listpack-size -2
    list-max-ziplist-size -2
    locale-collate
    loglevel notice
    lua-replicate-commands yes
    lua-time-limit 5000
    max-new-connections-per-cycle 10
    max-new-tls-connections-per-cycle 1
    maxclients 10000
    maxmemory-clients 0
    maxmemory-eviction-tenacity 10
    maxmemory-samples 5
    no-appendfsync-on-rewrite no
    notify-keyspace-events
    oom-score-adj no
    oom-score-adj-values 0 200 800
    proc-title-template {title} {listen-addr} {server-mode}
    propagation-error-behavior ignore
    proto-max-bulk-len 536870912
    rdb-key-save-delay 0
    rdb-save-incremental-fsync yes
    rdbcompression yes
    repl-backlog-ttl 3600
    repl-disable-tcp-nodelay no
    repl-diskless-load disabled
    repl-diskless-sync yes
    repl-diskless-sync-delay 5
    repl-diskless-sync-max-replicas 0
    repl-timeout 60
    replica-full-sync-buffer-limit 0
    replica-ignore-disk-write-errors no
    replica-ignore-maxmemory yes
    replica-lazy-flush no
    sanitize-dump-payload no
    set-max-intset-entries 512
    set-max-listpack-entries 128
    set-max-listpack-value 64
    shutdown-on-sigint default
    shutdown-on-sigterm default
    shutdown-timeout 10
    slowlog-log-slower-than 10000
    slowlog-max-len 128
    stop-writes-on-bgsave-error yes
    stream-node-max-bytes 4096
    stream-node-max-entries 100
    timeout 0
    tracking-table-max-keys 1000000
    use-exit-on-panic no
    vset-force-single-threaded-execution no
    watchdog-period 0
    zset-max-listpack-entries 128
    zset-max-listpack-value 64
    zset-max-ziplist-entries 128
    zset-max-ziplist-value 64
"""
_BEFORE: Final = {"acl-pubsub-default": ((7, 0), "allchannels"), "repl-diskless-sync": ((7, 0), "no")}


def default(key: str, version: str) -> str | None:
    """Return the value that Redis of this version starts with; None where that is not known."""
    changed, before = _BEFORE.get(key, (None, None))
    if changed and line(version).version < changed:
        return before
    return DEFAULTS.get(key)


def _table(text: str) -> dict[str, str]:
    rows = (row.strip().partition(" ") for row in text.strip().splitlines())
    return {key: value for key, _, value in rows}


DEFAULTS: Final = _table(_NEWEST)
