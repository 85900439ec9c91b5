"""How home judges each other member, row by row: who it is, what it knows, whose data are newer. And how it looks."""

import time
from pathlib import Path

import pytest

from tests.boot.conftest import Boot
from tests.boot.instance import PORT, TICK, until
from tests.boot.setups import Setup, matrix

INTERPOSED = """#!/bin/sh
# A redis-cli in which the world changes while home looks at member 1.
real={real} other={other}
case "$REDISOP_SELF $*" in
  "cache-0 -h $other INFO") {instead};;
  *) exec "$real" "$@";;
esac
"""

SLOW = """#!/bin/sh
[ "$REDISOP_SELF" != cache-0 ] || sleep 0.6
exec {real} "$@"
"""


# -- it does not answer (see test_rows), is loading, leads, or takes somebody else for home ----------------------------


@matrix()
def test_home_holds_while_a_member_is_loading(serving: Boot, setup: Setup) -> None:
    """What a loading Redis answers is seen in test_ready. Here its answer is made: a real load cannot be held still."""
    instance = serving(setup)
    instance.terminate(0)
    loading = instance.folder / "loading"
    loading.write_text("1")
    instead = f'"$real" "$@" | sed "s/^loading:0/loading:$(cat {loading})/"'
    instance.interpose("redis-cli", INTERPOSED, other=instance.address[1], instead=instead)
    instance.start(0)
    instance.await_hold("member 1 does not answer, or is loading")
    loading.write_text("0")
    instance.await_primary()


@matrix()
def test_home_holds_while_another_member_leads(serving: Boot, setup: Setup) -> None:
    instance = serving(setup)
    instance.write()
    instance.terminate(0)
    instance.call(1, "REPLICAOF", "NO", "ONE")
    instance.start(0)
    until(lambda: instance.hold(0) == "member 1 leads, but the Service selects member 0", "home holds", instance)
    time.sleep(4 * TICK)
    assert instance.primaries() == [1]


@matrix(persistence=["none", "aof"])
def test_of_two_members_that_both_take_themselves_for_home_none_leads(prepare: Boot, setup: Setup) -> None:
    instance = prepare(setup)
    instance.mount(1, home=1)
    instance.start()
    until(
        lambda: instance.hold(1) == "member 0 does not take member 1 for home, or not yet", "member 1 holds", instance
    )
    instance.await_hold("member 1 does not take member 0 for home, or not yet")


@matrix(persistence=["none"])
def test_a_member_shows_whom_it_takes_for_home_from_its_first_moment(prepare: Boot, setup: Setup) -> None:
    instance = prepare(setup)
    instance.move_home(1)
    instance.start(0)
    until(lambda: instance.answers(0), "it answers", instance)
    assert instance.info(0)["slave_priority"] == 101


# -- it is blank; the policy; it has data and home has none (see test_rows) --------------------------------------------


@matrix()
def test_where_nobody_has_a_key_nothing_can_be_lost(serving: Boot, setup: Setup) -> None:
    instance = serving(setup, may_lose=True)
    instance.write()
    instance.call(0, "FLUSHALL")
    until(lambda: instance.keys(1) == {}, "all is flushed", instance)
    instance.delete(0)
    instance.lose_volume(0)
    instance.start(0)
    instance.await_primary()


@matrix(persistence=["aof", "rdb"])
def test_a_blank_member_is_no_objection(serving: Boot, setup: Setup) -> None:
    instance = serving(setup)
    instance.write()
    instance.terminate(*range(setup.members))
    instance.lose_volume(1)
    instance.start()
    instance.await_primary()
    assert instance.keys(1) == {"db0": 21}


@matrix(persistence=["rdb"])
def test_with_policy_available_a_home_with_older_data_leads(serving: Boot, setup: Setup) -> None:
    instance = serving(setup, policy="Available", may_lose=True)
    instance.write()
    instance.call(0, "SAVE")
    instance.write()
    instance.kill(0)
    instance.start(0)
    instance.await_primary()
    assert instance.keys(1) == {"db0": 21}


# -- one history, both positions known ---------------------------------------------------------------------------------


@matrix(persistence=["rdb"])
def test_a_member_that_is_behind_in_the_same_history_is_no_objection(serving: Boot, setup: Setup) -> None:
    instance = serving(setup)
    instance.write()
    instance.terminate(1)
    instance.write()
    instance.terminate(0)
    instance.start(0, 1)
    instance.await_primary()
    assert instance.keys(1) == {"db0": 41}


@matrix(persistence=["rdb"], versions=["6.2"])
def test_a_position_that_a_replica_forgot_when_its_sync_was_refused_is_unknown_and_not_old(
    serving: Boot, setup: Setup
) -> None:
    instance = serving(setup)
    instance.write()
    instance.call(0, "SAVE")
    instance.write()
    instance.call(0, "ACL", "SETUSER", "redisop-replica", "-psync", "-sync")
    instance.call(0, "CLIENT", "KILL", "TYPE", "replica")
    until(lambda: instance.info(1)["slave_repl_offset"] <= 1, "member 1 forgot its position", instance)
    instance.kill(0)
    instance.start(0)
    assert instance.info(1)["slave_repl_offset"] <= 1
    instance.await_hold("cannot tell whether member 1 or this one has the newer data")
    assert instance.info(0)["master_replid"] == instance.info(1)["master_replid"]
    assert instance.keys(1) == {"db0": 41}


@matrix(persistence=["rdb"])
def test_a_dump_made_without_replicas_holds_no_position_and_is_never_taken_for_a_complete_log(
    prepare: Boot, setup: Setup
) -> None:
    """Redis writes its position into a dump only once it has had a replica; then `primary` beside it proves nothing."""
    instance = prepare(Setup("rdb", 1, setup.version, setup.shell))
    instance.start()
    until(lambda: instance.fact(0) == "primary 0", "it leads alone", instance)
    instance.write()
    instance.call(0, "SAVE")
    instance.scale(setup.members)
    instance.await_primary()
    instance.write()
    instance.kill(0)
    instance.start(0)
    instance.await_hold("cannot tell whether member 1 or this one has the newer data")
    assert instance.keys(1) == {"db0": 41}


# -- a log, and what home wrote down beside it -------------------------------------------------------------------------


@pytest.mark.parametrize("fact", ["replica", "primary 6", "primary 70", "primary", "", None])
@matrix(persistence=["aof"], members=[2])
def test_a_log_counts_only_with_the_fact_that_it_led_in_the_present_epoch(
    serving: Boot, setup: Setup, fact: str | None
) -> None:
    instance = serving(setup)
    instance.epoch = 7
    instance.mount()
    until(lambda: instance.fact(0) == "primary 7", "home wrote down the new epoch", instance)
    instance.write()
    instance.kill(0)
    file = Path(instance.file(0, "data", "redisop.role"))
    file.unlink()
    if fact is not None:
        file.write_text(fact)
    instance.start(0)
    instance.await_hold("cannot tell whether member 1 or this one has the newer data")
    instance.kill(0)
    file.write_text("primary 7\n")
    instance.start(0)
    instance.await_primary()


@matrix(persistence=["aof"])
def test_the_fact_is_what_the_design_says(serving: Boot, setup: Setup) -> None:
    instance = serving(setup)
    assert instance.file(0, "data", "redisop.role").read_text() == "primary 0\n"
    until(lambda: instance.fact(1) == "replica", "the replica wrote down what it is", instance)
    assert instance.file(1, "data", "redisop.role").read_text() == "replica\n"
    assert sorted(path.name for path in instance.file(1, "data").glob("redisop*")) == ["redisop.role"]


# -- a link that is up -------------------------------------------------------------------------------------------------


@matrix(persistence=["aof", "none"])
def test_home_holds_while_a_member_follows_somebody_unknown_who_lives(
    serving: Boot, prepare: Boot, setup: Setup
) -> None:
    stranger = prepare(Setup("none", 1, setup.version, setup.shell), may_lose=True)
    stranger.start()
    instance = serving(setup, policy="Available", may_lose=True)
    instance.terminate(0)
    instance.call(1, "REPLICAOF", stranger.address[0], PORT)
    until(lambda: instance.info(1)["master_link_status"] == "up", "member 1 follows a stranger", instance)
    instance.start(0)
    instance.await_hold(f"somebody follows {stranger.address[0]}, which is alive")


@matrix(persistence=["aof"])
def test_home_holds_while_it_follows_somebody_who_lives(serving: Boot, setup: Setup) -> None:
    instance = serving(setup)
    instance.move_home(1)
    until(lambda: instance.hold(1) == f"home (this member) follows {instance.address[0]}, which is alive", "", instance)
    time.sleep(4 * TICK)
    assert instance.primaries() == [0]


# -- how it looks ------------------------------------------------------------------------------------------------------


@matrix(persistence=["aof"])
def test_what_changes_between_two_looks_ends_the_attempt(serving: Boot, setup: Setup) -> None:
    instance = serving(setup)
    instance.write()
    instance.kill(0)
    change = '"$real" -h "$other" CONFIG SET replica-priority 101 >/dev/null'
    instead = f'"$real" "$@"; {change}'
    instance.interpose("redis-cli", INTERPOSED, other=instance.address[1], instead=instead)
    instance.start(0)
    instance.await_hold("member 1 does not take member 0 for home")


@matrix(persistence=["aof"])
def test_data_that_come_and_go_between_two_looks_end_the_attempt(serving: Boot, setup: Setup) -> None:
    instance = serving(setup, may_lose=True)
    instance.write()
    instance.kill(0)
    instance.call(1, "CONFIG", "SET", "replica-read-only", "no")
    instance.call(1, "FLUSHALL")
    change = '[ "$("$real" -h "$other" DEL stray)" = 1 ] || "$real" -h "$other" SET stray 1 >/dev/null'
    instead = f'"$real" "$@"; {change}'
    instance.interpose("redis-cli", INTERPOSED, other=instance.address[1], instead=instead)
    instance.start(0)
    instance.await_hold("the members changed between two looks")


@matrix(persistence=["aof"])
def test_a_look_that_took_two_seconds_is_too_old_to_act_on(serving: Boot, setup: Setup) -> None:
    """An operator that has just come waits 2 s, so that a script that had looked before has finished."""
    instance = serving(setup)
    instance.write()
    instance.kill(0)
    instance.interpose("timeout", SLOW)
    instance.start(0)
    instance.await_hold("looking at all members took too long")
