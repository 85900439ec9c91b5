"""INFO of real servers becomes facts: 6.2, 7.0 and 8.2."""

import pytest
import redis

from redisop.snapshot.info import parse_info, unknown
from redisop.snapshot.vitals import Info
from tests.live.redis_process import RedisProcess, processes, until
from tests.redis_servers import VERSIONS

pytestmark = pytest.mark.parametrize("version", VERSIONS)


def facts(process: RedisProcess) -> Info:
    with redis.Redis(process.address, process.port) as client:
        client.set_response_callback("INFO", lambda reply, **_: reply)
        return parse_info(client.execute_command("INFO").decode())


@pytest.fixture
def pair(version):
    """A primary with three keys in two databases, and a replica in sync."""
    with processes(version, 2) as (primary, replica):
        primary.start("maxmemory 64mb", "appendonly yes")
        replica.start()
        primary.client.mset({"a": 1, "b": 2})
        primary.client.execute_command("SELECT", 7)
        primary.client.set("c", 3)
        replica.follow(primary)
        yield primary, replica


def test_a_primary_says_who_it_is_and_who_follows_it(pair, version):
    primary, replica = pair
    until(lambda: primary.client.info("replication")["slave0"]["state"] == "online")
    info, told = facts(primary), primary.client.info()
    assert unknown(info) == []
    assert info.role == "primary"
    assert info.run_id == told["run_id"]
    assert info.version == told["redis_version"]
    assert info.version.startswith(version)
    assert info.replication_id == told["master_replid"]
    assert info.maxmemory == 64 * 1024 * 1024
    assert info.used_memory > 100_000
    assert info.aof_enabled is True
    assert info.last_bgsave_ok is info.last_aof_rewrite_ok is info.last_aof_write_ok is True
    assert info.failover_state == "no-failover"
    assert [(each.address, each.port, each.state) for each in info.replicas] == [
        (replica.address, replica.port, "online")
    ]
    assert (info.primary_host, info.link, info.parked, info.blank, info.advanced) == (None, None, False, False, False)


def test_keys_are_counted_in_every_database(pair, version):
    assert [facts(process).keys for process in pair] == [3, 3]


def test_a_replica_in_sync_advances_once_the_stream_arrives(pair, version):
    primary, replica = pair
    primary.client.set("d", 4)
    until(lambda: facts(replica).advanced)
    info = facts(replica)
    assert info.role == "replica"
    assert (info.primary_host, info.primary_port) == (primary.address, primary.port)
    assert (info.link, info.link_down_seconds, info.sync_in_progress, info.parked) == ("up", None, False, False)
    assert info.last_io_seconds <= 2
    assert info.replication_id == facts(primary).replication_id
    assert info.position == replica.client.info("replication")["slave_repl_offset"]


def test_a_replica_has_not_advanced_before_the_stream_arrives(version):
    with processes(version, 2) as (primary, replica):
        primary.start("repl-ping-replica-period 3600")
        replica.start()
        primary.client.set("a", 1)
        replica.follow(primary)
        assert facts(replica).advanced is False
        primary.client.set("b", 2)
        until(lambda: facts(replica).advanced)


def test_a_parked_member_keeps_its_data_and_its_position(pair, version):
    primary, replica = pair
    primary.client.set("d", 4)
    until(lambda: facts(replica).advanced)
    replica.client.execute_command("REPLICAOF", "127.0.0.1", 1)
    info = facts(replica)
    assert (info.parked, info.keys, info.blank, info.link) == (True, 4, False, "down")
    assert info.position == replica.client.info("replication")["slave_repl_offset"]
    assert info.link_down_seconds in {0, 1, 2}


def test_a_promoted_member_shows_the_history_that_it_continues(pair, version):
    primary, replica = pair
    primary.client.set("d", 4)
    until(lambda: facts(replica).advanced)
    before = facts(replica)
    replica.client.execute_command("REPLICAOF", "NO", "ONE")
    info = facts(replica)
    assert info.role == "primary"
    assert info.second_replication_id == before.replication_id
    assert info.second_offset >= before.offset + 1


def test_a_member_that_boots_parked_is_blank_and_its_link_was_never_up(version):
    with processes(version) as (process,):
        process.start("replicaof 127.0.0.1 1")
        info = facts(process)
        assert (info.parked, info.blank, info.keys) == (True, True, 0)
        assert (info.link, info.link_down_seconds, info.last_io_seconds) == ("down", None, None)
        assert info.position is None


def test_a_member_that_started_from_its_log_has_data_but_no_position(version):
    with processes(version) as (process,):
        process.start("appendonly yes")
        process.client.set("a", 1)
        process.kill()
        process.start("appendonly yes", "replicaof 127.0.0.1 1")
        info = facts(process)
        assert (info.keys, info.blank, info.position) == (1, False, None)


def test_a_loading_member_is_not_blank(version):
    with processes(version) as (process,):
        process.start().restart_loading()
        info = until(lambda: answer(process))
        assert info.loading is True
        assert info.keys < 100
        assert info.blank is False


def answer(process: RedisProcess) -> Info | None:
    try:
        return facts(process)
    except redis.ConnectionError:
        return None
