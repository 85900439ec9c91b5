"""What must hold without an operator: fresh instances, crashes, restarts, deletions, and who may not lead.

Under AOF a home that led last leads again. A dump holds everything only after an orderly stop. Without persistence a
home that restarts is blank, and holds as long as anybody else has data.
"""

import time

from tests.boot.conftest import Boot
from tests.boot.instance import PORT, TICK, Instance, until
from tests.boot.setups import Setup, matrix

NEWER_ELSEWHERE = "has data and this one has none|is ahead of this one|cannot tell whether"
ALL = {"db0": 41}  # two times twenty writes, and `seq`


def written(instance: Instance) -> None:
    """Write forty entries, and let a dump-keeping home have a dump of the first twenty."""
    assert instance.write() == 20
    if instance.setup.persistence == "rdb":
        instance.call(instance.home, "SAVE")
    assert instance.write() == 20


@matrix()
def test_in_a_fresh_instance_home_leads_and_the_others_follow(prepare: Boot, setup: Setup) -> None:
    instance = prepare(setup)
    instance.start()
    instance.await_primary()
    written(instance)
    until(instance.converged, "all have what was written", instance)


@matrix()
def test_home_that_crashes_leads_again_only_with_a_log(serving: Boot, setup: Setup) -> None:
    instance = serving(setup)
    written(instance)
    instance.kill(0)
    instance.start(0)
    if setup.persistence == "aof":
        instance.await_primary()
    else:
        instance.await_hold(NEWER_ELSEWHERE)
    assert instance.keys(1) == ALL


@matrix()
def test_home_that_was_stopped_in_order_leads_again_unless_it_keeps_nothing(serving: Boot, setup: Setup) -> None:
    instance = serving(setup)
    written(instance)
    assert instance.terminate(0) == {0: 0}
    instance.start(0)
    if setup.persistence == "none":
        instance.await_hold(NEWER_ELSEWHERE)
    else:
        instance.await_primary()
    assert instance.keys(1) == ALL


@matrix()
def test_home_whose_pod_was_deleted_is_followed_at_its_new_address(serving: Boot, setup: Setup) -> None:
    instance = serving(setup)
    written(instance)
    instance.delete(0)
    instance.start(0)
    if setup.persistence == "none":
        instance.await_hold(NEWER_ELSEWHERE)
    else:
        instance.await_primary()
        assert instance.info(1)["master_host"] == instance.address[0] != instance.block.address(0, 0)
    assert instance.keys(1) == ALL


@matrix()
def test_a_replica_that_crashed_follows_again(serving: Boot, setup: Setup) -> None:
    instance = serving(setup)
    written(instance)
    instance.kill(1)
    instance.write()
    instance.start(1)
    instance.await_primary()


@matrix()
def test_a_replica_that_was_deleted_follows_again(serving: Boot, setup: Setup) -> None:
    instance = serving(setup)
    written(instance)
    instance.delete(1)
    instance.lose_volume(1)
    instance.write()
    instance.start(1)
    instance.await_primary()


@matrix()
def test_a_replica_that_is_new_after_scaling_up_follows(serving: Boot, setup: Setup) -> None:
    instance = serving(setup)
    written(instance)
    instance.scale(setup.members + 1)
    instance.await_primary()
    assert instance.keys(setup.members) == ALL


@matrix()
def test_all_members_that_crashed_at_once_serve_what_home_keeps(serving: Boot, setup: Setup) -> None:
    instance = serving(setup)
    written(instance)
    members = range(setup.members)
    if setup.persistence == "rdb":
        for member in members:
            instance.call(member, "SAVE")
    instance.kill(*members)
    instance.start()
    instance.await_primary()
    assert instance.keys(0) == ({} if setup.persistence == "none" else ALL)


@matrix()
def test_all_members_that_were_deleted_at_once_serve_what_home_keeps(serving: Boot, setup: Setup) -> None:
    instance = serving(setup)
    written(instance)
    instance.delete(*range(setup.members))
    instance.start()
    instance.await_primary()
    assert instance.keys(0) == ({} if setup.persistence == "none" else ALL)


@matrix(persistence=["rdb"])
def test_home_whose_dump_is_older_than_a_replicas_holds(serving: Boot, setup: Setup) -> None:
    instance = serving(setup)
    written(instance)
    for member in range(1, setup.members):
        instance.call(member, "SAVE")
    instance.kill(*range(setup.members))
    instance.start()
    instance.await_hold("is ahead of this one")
    assert instance.keys(1) == ALL


@matrix()
def test_home_holds_while_a_member_is_missing(serving: Boot, setup: Setup) -> None:
    instance = serving(setup)
    written(instance)
    missing = setup.members - 1
    instance.terminate(*range(setup.members))
    instance.start(*range(missing))
    instance.await_hold(f"member {missing} does not answer")
    instance.start(missing)
    instance.await_primary()


@matrix()
def test_home_holds_while_a_member_is_frozen(serving: Boot, setup: Setup) -> None:
    instance = serving(setup)
    written(instance)
    frozen = setup.members - 1
    instance.terminate(*range(setup.members))
    instance.start(frozen)
    until(lambda: instance.answers(frozen), "it is up", instance)
    instance.freeze(frozen)
    instance.start()
    instance.await_hold(f"member {frozen} does not answer")
    instance.thaw(frozen)
    instance.await_primary()


@matrix()
def test_home_whose_volume_was_lost_holds_though_the_others_have_keys_in_other_databases_only(
    serving: Boot, setup: Setup
) -> None:
    instance = serving(setup)
    with instance.client(0, timeout=5) as client:
        client.execute_command("SELECT", 5)
        client.set("only", "here")
        assert client.wait(setup.members - 1, 3000) == setup.members - 1
    instance.delete(0)
    instance.lose_volume(0)
    instance.start(0)
    instance.await_hold("has data and this one has none")
    assert instance.keys(1) == {"db5": 1}


@matrix(persistence=["aof"])
def test_flushed_data_do_not_come_back_with_a_member_that_was_down(serving: Boot, setup: Setup) -> None:
    instance = serving(setup, may_lose=True)
    written(instance)
    absent = setup.members - 1
    instance.kill(absent)
    instance.call(0, "FLUSHALL")
    instance.kill(0)
    instance.start()
    instance.await_hold(f"member {absent} has data and this one has none")
    assert instance.keys(0) == {}


@matrix()
def test_after_a_move_of_home_nobody_leads_until_all_mounted_files_agree(serving: Boot, setup: Setup) -> None:
    instance = serving(setup)
    written(instance)
    switch_over(instance, 1, lagging=(0,))
    until(
        lambda: instance.fact(1) == "primary 1" and instance.fact(0) == "replica",
        "both wrote down what they are",
        instance,
    )
    instance.terminate(*range(setup.members))
    instance.start()
    instance.await_hold("member 0 does not take member 1 for home")
    assert "member 1 does not take member 0 for home" in (instance.hold(0) or "")
    instance.mount()
    instance.await_primary()
    assert instance.keys(1) == ({} if setup.persistence == "none" else ALL)


@matrix(persistence=["aof"])
def test_home_that_crashed_before_its_log_was_rewritten_after_a_sync_holds(serving: Boot, setup: Setup) -> None:
    instance = serving(setup)
    instance.write()
    until(lambda: not rewrites(instance, 1), "member 1 has written its log anew after its first sync", instance)
    instance.call(1, "CONFIG", "SET", "rdb-key-save-delay", 1_000_000)  # microseconds
    instance.call(1, "REPLICAOF", "NO", "ONE")  # its history ends here: to follow again takes a full sync
    instance.call(1, "REPLICAOF", instance.address[0], PORT)
    until(lambda: instance.converged() and rewrites(instance, 1), "it writes its log anew after another", instance)
    switch_over(instance, 1)
    instance.write()
    time.sleep(4 * TICK)
    assert rewrites(instance, 1)
    kept = instance.keys(0)
    instance.kill(1)
    instance.start(1)
    instance.await_hold(NEWER_ELSEWHERE)
    assert instance.keys(0) == kept == ALL


@matrix()
def test_with_policy_available_a_blank_home_leads(serving: Boot, setup: Setup) -> None:
    instance = serving(setup, policy="Available", may_lose=True)
    written(instance)
    instance.delete(0)
    instance.lose_volume(0)
    instance.start(0)
    instance.await_primary()
    assert instance.keys(1) == {}


def rewrites(instance: Instance, member: int) -> bool:
    info = instance.info(member)
    return bool(info["aof_rewrite_in_progress"] or info["aof_rewrite_scheduled"])


def switch_over(instance: Instance, to: int, *, lagging: tuple[int, ...] = ()) -> None:
    """Move the primary as an operator does; the mounted files of `lagging` stay old."""
    old = instance.home
    instance.await_level(to, old)
    instance.move_home(to, lagging=lagging)
    instance.call(old, "REPLICAOF", "127.0.0.1", 1)
    instance.call(to, "REPLICAOF", "NO", "ONE")
    for member in range(instance.members):
        if member != to:
            instance.call(member, "REPLICAOF", instance.address[to], PORT)
