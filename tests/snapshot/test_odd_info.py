"""No text, however odd, becomes anything else than facts in their range, or unknown."""

from dataclasses import fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redisop.snapshot.info import parse_info, unknown
from redisop.snapshot.vitals import Info, Replica

# As Redis 7.0.15 says it, shortened to what is read.
REPLICA = """# Server\r
redis_version:7.0.15\r
run_id:cc0a16e7b981204d9316b51f4c29adff0bdccad7\r
uptime_in_seconds:12\r
\r
# Memory\r
used_memory:984328\r
maxmemory:0\r
\r
# Persistence\r
loading:0\r
async_loading:0\r
rdb_bgsave_in_progress:0\r
rdb_last_bgsave_status:ok\r
aof_enabled:1\r
aof_rewrite_in_progress:0\r
aof_rewrite_scheduled:0\r
aof_last_bgrewrite_status:ok\r
aof_last_write_status:ok\r
\r
# Replication\r
role:slave\r
master_host:10.0.0.7\r
master_port:6379\r
master_link_status:down\r
master_last_io_seconds_ago:3\r
master_sync_in_progress:0\r
slave_repl_offset:1400\r
master_link_down_since_seconds:3\r
connected_slaves:2\r
slave0:ip=fd00::7,port=6379,state=online,offset=1399,lag=1\r
slave1:ip=10.0.0.9,port=6379,state=wait_bgsave,offset=0,lag=0\r
master_failover_state:no-failover\r
master_replid:71d30c6edd3c70dfd50b76fbfc3596739e174129\r
master_replid2:0000000000000000000000000000000000000000\r
master_repl_offset:1400\r
second_repl_offset:-1\r
repl_backlog_histlen:700\r
\r
# Keyspace\r
db0:keys=2,expires=0,avg_ttl=0\r
db11:keys=5,expires=1,avg_ttl=10\r
"""
LINES = REPLICA.split("\r\n")
WORDS = ["", "-1", "0", "1", "slave", "master", "up", "9223372036854775808", "-9223372036854775809", "1e9", "٣", "０",
         "\x1b[31m", "nan", "a b", "x" * 10_000, "keys=", "keys=-1", "ip=,port=70000", "ok", "no"]  # fmt: skip


def test_what_a_replica_says_is_understood():
    assert parse_info(REPLICA) == Info(
        run_id="cc0a16e7b981204d9316b51f4c29adff0bdccad7",
        version="7.0.15",
        uptime_seconds=12,
        role="replica",
        replication_id="71d30c6edd3c70dfd50b76fbfc3596739e174129",
        offset=1400,
        second_replication_id=None,
        second_offset=None,
        backlog=700,
        failover_state="no-failover",
        replicas=(Replica("fd00::7", 6379, "online", 1399, 1), Replica("10.0.0.9", 6379, "wait_bgsave", 0, 0)),
        primary_host="10.0.0.7",
        primary_port=6379,
        link="down",
        link_down_seconds=3,
        last_io_seconds=3,
        sync_in_progress=False,
        loading=False,
        keys=7,
        used_memory=984328,
        maxmemory=0,
        bgsave_running=False,
        last_bgsave_ok=True,
        aof_enabled=True,
        aof_rewrite_running=False,
        aof_rewrite_scheduled=False,
        last_aof_rewrite_ok=True,
        last_aof_write_ok=True,
    )


@given(
    st.lists(st.sampled_from(LINES)), st.lists(st.tuples(st.sampled_from(LINES), st.sampled_from(WORDS) | st.text()))
)
@settings(deadline=None)
def test_every_fact_is_in_its_range_or_unknown(lines, odd):
    lines += [f"{line.partition(':')[0]}:{word}" for line, word in odd]
    said = {line.partition(":")[0] for line in lines}
    info = parse_info("\r\n".join(lines))
    for field in fields(Info):
        value = getattr(info, field.name)
        if type(value) is int:
            assert 0 <= value < 2**63, field.name
        elif type(value) is str:
            assert value.isascii(), field.name
            assert value.isprintable(), field.name
            assert len(value) <= 255, field.name
    assert info.run_id is None or "run_id" in said
    assert info.blank is False or {"loading", "# Keyspace", "role"} & said


@given(st.text().filter(lambda text: "# Keyspace" not in text))
@settings(deadline=None)
def test_any_text_gives_nothing_but_unknown(text):
    assert unknown(parse_info(text)) == ["role", "run_id", "replication_id", "loading", "keys"]


@pytest.mark.parametrize("line", [line for line in LINES if ":" in line])
def test_a_missing_line_takes_away_its_own_fact_alone(line):
    whole, less = parse_info(REPLICA), parse_info(REPLICA.replace(line + "\r\n", ""))
    assert len([field for field in fields(Info) if getattr(whole, field.name) != getattr(less, field.name)]) <= 2


@pytest.mark.parametrize("name", ["role", "run_id", "master_replid", "loading", "# Keyspace"])
def test_an_answer_without_an_indispensable_fact_is_told_from_a_complete_one(name):
    assert unknown(parse_info(REPLICA)) == []
    assert len(unknown(parse_info("\r\n".join(line for line in LINES if not line.startswith(name))))) == 1


def test_unknown_keys_are_not_no_keys():
    assert parse_info(REPLICA.replace("keys=5", "keys=many")).keys is None
    assert parse_info(REPLICA.replace("keys=5", "keys=-5")).keys is None
    assert parse_info(REPLICA.replace("db11:keys=5,", "db11:")).keys is None


@pytest.mark.parametrize("offset", ["-1", "9223372036854775808", "99999999999999999999", "1e3", "0x10", " ", "１"])
def test_an_impossible_offset_is_unknown_and_neither_blank_nor_a_position(offset):
    empty = REPLICA.partition("db0:")[0]
    info = parse_info(empty.replace("slave_repl_offset:1400", f"slave_repl_offset:{offset}"))
    assert (info.keys, info.offset, info.position, info.blank) == (0, None, None, False)


@pytest.mark.parametrize(
    ("keys", "offset", "loading", "blank"),
    [(0, 0, 0, True), (0, 1, 0, True), (0, 2, 0, False), (1, 0, 0, False), (0, 0, 1, False)],
)
def test_blank_is_only_what_surely_has_nothing_to_lose(keys, offset, loading, blank):
    text = f"role:slave\nloading:{loading}\nslave_repl_offset:{offset}\n# Keyspace\n" + f"db3:keys={keys}\n" * bool(
        keys
    )
    assert parse_info(text).blank is blank


def test_a_link_that_was_never_up_is_not_down_for_half_a_century():
    never = parse_info(REPLICA.replace("down_since_seconds:3", "down_since_seconds:1796053349"))
    assert never.link_down_seconds is None


def test_a_diskless_load_beside_the_old_data_is_loading():
    assert parse_info(REPLICA.replace("async_loading:0", "async_loading:1")).loading is True
