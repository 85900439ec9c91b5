"""A parked member: answers no reads, takes no writes, lets no replica in; until it leads, or has synced once."""

import time

import pytest
import redis

from tests.boot.conftest import Boot
from tests.boot.instance import until
from tests.boot.setups import Setup, matrix


@matrix()
def test_a_parked_member_answers_reads_with_an_error_and_not_with_no_such_key(serving: Boot, setup: Setup) -> None:
    instance = serving(setup)
    instance.write()
    instance.kill(*range(setup.members))
    instance.start(0)
    until(lambda: instance.hold(0), "it is parked", instance)
    with pytest.raises(redis.ResponseError, match=r"MASTERDOWN|Link with MASTER is down"):
        instance.call(0, "GET", "seq")
    with pytest.raises(redis.ResponseError, match=r"READONLY|read only replica|Link with MASTER is down"):
        instance.call(0, "SET", "seq", "1")


@matrix()
def test_a_replica_that_was_in_sync_answers_reads_while_its_primary_is_away(serving: Boot, setup: Setup) -> None:
    instance = serving(setup)
    instance.write()
    instance.kill(0)
    until(lambda: instance.info(1)["master_link_status"] == "down", "its link is down", instance)
    assert instance.call(1, "GET", "seq") == "20"


@matrix(persistence=["none"])
def test_replicas_ask_a_parked_home_now_and_then_and_keep_their_position(serving: Boot, setup: Setup) -> None:
    instance = serving(setup)
    instance.write()
    instance.kill(0)
    position = instance.info(1)["slave_repl_offset"]
    instance.start(0)
    instance.await_hold("has data and this one has none")
    before = instance.info(0)["total_connections_received"]
    time.sleep(3)
    asked = instance.info(0)["total_connections_received"] - before
    assert asked < 100  # about one a second from each replica, and what tests and scripts ask; it was thousands
    assert instance.info(1)["slave_repl_offset"] >= position > 1


@matrix(persistence=["aof"])
def test_a_member_that_an_operator_promotes_lets_replicas_in(prepare: Boot, setup: Setup) -> None:
    instance = prepare(setup)
    instance.move_home(1)
    instance.start()
    instance.assign_roles()
    until(lambda: instance.info(1)["connected_slaves"] == setup.members - 1, "they are in", instance)
