"""One member, more members, one again: a member that booted alone leads on, and is never wiped, nor wipes."""

import pytest

from tests.boot.conftest import Boot
from tests.boot.instance import Instance, until
from tests.boot.setups import Setup, matrix


def alone(prepare: Boot, setup: Setup) -> Instance:
    """Return an instance of one member that has booted, leads and has been written to."""
    instance = prepare(Setup(setup.persistence, 1, setup.version, setup.shell))
    instance.start()
    until(lambda: instance.fact(0) == "primary 0", "it leads", instance)
    assert instance.write() == 20
    return instance


@matrix(members=[1])
def test_a_single_member_leads_at_once_and_again_after_each_restart(prepare: Boot, setup: Setup) -> None:
    instance = alone(prepare, setup)
    assert instance.terminate(0) == {0: 0}
    instance.start(0)
    instance.await_primary()
    assert instance.log(0) == ["member 0 of 1, home is member 0, epoch 0: boots alone"] * 2
    assert instance.keys(0) == ({} if setup.persistence == "none" else {"db0": 21})


@matrix()
def test_scaled_up_in_place_it_leads_on_and_the_new_members_follow(prepare: Boot, setup: Setup) -> None:
    instance = alone(prepare, setup)
    run = instance.info(0)["run_id"]
    instance.scale(setup.members)
    instance.await_primary()
    assert instance.info(0)["run_id"] == run
    assert instance.keys(1) == {"db0": 21}


@matrix()
def test_a_member_that_crashes_before_it_sees_that_it_was_scaled_up_wipes_nobody(prepare: Boot, setup: Setup) -> None:
    instance = alone(prepare, setup)
    instance.scale(setup.members)
    instance.await_primary()
    instance.mount(0, count=1)
    instance.kill(0)
    instance.start(0)
    instance.await_hold("alone by the member list, but member 1 answers")
    assert instance.keys(1) == {"db0": 21}
    instance.mount(0)
    if setup.persistence == "aof":
        instance.await_primary()
    else:
        instance.await_hold("has data and this one has none")
    assert instance.keys(1) == {"db0": 21}


@matrix(members=[3])
def test_a_pod_that_is_left_over_after_scaling_down_never_leads(serving: Boot, setup: Setup) -> None:
    instance = serving(setup)
    instance.write()
    instance.terminate(1, 2)
    instance.members = 1
    instance.mount()
    instance.start(2)
    until(lambda: instance.info(2)["role"] == "slave" and instance.info(2)["master_link_status"] == "up", "", instance)
    instance.kill(0)
    instance.kill(2)
    instance.start(2)
    instance.await_hold("home .member 0. does not lead", member=2)


@matrix(persistence=["aof", "none"], members=[3])
def test_scaled_down_to_one_in_a_crash_it_leads_when_the_others_are_gone(serving: Boot, setup: Setup) -> None:
    instance = serving(setup)
    instance.write()
    instance.members = 1
    instance.mount()
    instance.kill(0)
    instance.start(0)
    instance.await_hold("alone by the member list, but member 1 answers")
    instance.terminate(1, 2)
    until(lambda: instance.primaries() == [0], "it leads", instance)


@pytest.mark.parametrize("count", [3, 1])
@matrix(persistence=["aof"], members=[2])
def test_scaled_while_serving_it_keeps_its_primary(serving: Boot, setup: Setup, count: int) -> None:
    instance = serving(setup)
    instance.write()
    run = instance.info(0)["run_id"]
    instance.scale(count)
    instance.await_primary()
    assert instance.info(0)["run_id"] == run
