"""Boot script and operator: the script keeps still while one is at work, and finishes nothing but what is safe."""

import time
from collections.abc import Callable

import pytest

from tests.boot.conftest import Boot
from tests.boot.instance import PORT, QUIET, TICK, Instance, Operator, operator, until
from tests.boot.setups import Setup, matrix

PARKED = ("REPLICAOF", "127.0.0.1", 1)


@pytest.mark.parametrize("at", ["home", "another"])
@matrix(persistence=["aof"])
def test_while_an_operator_is_at_work_on_any_member_nobody_leads(serving: Boot, setup: Setup, at: str) -> None:
    instance = serving(setup)
    instance.write()
    instance.kill(0)
    instance.start(0)
    member = 0 if at == "home" else setup.members - 1
    until(lambda: instance.answers(member), "it answers", instance)
    with operator(instance, member):
        time.sleep(5 * QUIET * TICK)
        assert instance.primaries() == []
        assert instance.log(0)[-1].endswith("boots parked")
    instance.await_primary()


@matrix(persistence=["aof"])
def test_an_operator_that_froze_with_open_connections_is_not_at_work(serving: Boot, setup: Setup) -> None:
    instance = serving(setup)
    instance.write()
    instance.kill(0)
    instance.start(0)
    until(lambda: instance.answers(0), "it answers", instance)
    with operator(instance) as frozen:
        frozen.freeze()
        instance.await_primary()
        assert len(named(instance, 0)) == 1
        assert named(instance, 0)[0] >= 10


@matrix()
def test_a_new_instance_with_an_operator_takes_its_roles_from_it_alone(prepare: Boot, setup: Setup) -> None:
    instance = prepare(setup)
    instance.start()
    until(lambda: all(instance.answers(member) for member in range(setup.members)), "all answer", instance)
    with operator(instance) as at_work:
        time.sleep(3 * QUIET * TICK)
        assert instance.primaries() == []
        instance.move_home(1)
        at_work.send(1, "REPLICAOF", "NO", "ONE")
        for member in {*range(setup.members)} - {1}:
            at_work.send(member, "REPLICAOF", instance.address[1], PORT)
        instance.await_primary()


# The steps of a planned switchover from member 0 to member 1, as far as members and mounted files see them.


def intent(instance: Instance, _: Operator) -> None:
    instance.move_home(1)


def intent_seen_by_some(instance: Instance, _: Operator) -> None:
    instance.move_home(1, lagging=(0,))


def pause(_: Instance, at_work: Operator) -> None:
    at_work.send(0, "CLIENT", "PAUSE", 5000, "WRITE")


def level(instance: Instance, _: Operator) -> None:
    instance.await_level(1, 0)


def park(_: Instance, at_work: Operator) -> None:
    at_work.send(0, *PARKED)
    at_work.send(0, "CLIENT", "UNPAUSE")


def promote(_: Instance, at_work: Operator) -> None:
    at_work.send(1, "REPLICAOF", "NO", "ONE")


def repoint(instance: Instance, at_work: Operator) -> None:
    at_work.send(0, "REPLICAOF", instance.address[1], PORT)


SWITCHOVER: list[Callable[[Instance, Operator], None]] = [intent, pause, level, park, promote, repoint]


@pytest.mark.parametrize("last", [intent, pause])
@matrix()
def test_an_operator_that_dies_before_it_parks_leaves_the_primary_alone(
    serving: Boot, setup: Setup, last: Callable[[Instance, Operator], None]
) -> None:
    instance = serving(setup)
    instance.write()
    with operator(instance) as dying:
        for step in SWITCHOVER[: SWITCHOVER.index(last) + 1]:
            step(instance, dying)
    until(lambda: "is alive" in (instance.hold(1) or ""), "the new home sees that the primary lives", instance)
    time.sleep(4 * TICK)
    assert instance.primaries() == [0]
    until(lambda: instance.write(1, to=0), "the primary takes writes", instance)


@pytest.mark.parametrize("last", [park, promote, repoint])
@matrix()
def test_an_operator_that_dies_after_it_parked_leaves_a_switchover_that_is_finished(
    serving: Boot, setup: Setup, last: Callable[[Instance, Operator], None]
) -> None:
    instance = serving(setup)
    instance.write()
    with operator(instance) as dying:
        for step in SWITCHOVER[: SWITCHOVER.index(last) + 1]:
            step(instance, dying)
    instance.await_primary()
    assert instance.keys(0) == {"db0": 21}
    assert instance.write() == 20


@matrix()
def test_an_operator_that_dies_after_it_parked_with_mounted_files_that_lag(serving: Boot, setup: Setup) -> None:
    instance = serving(setup)
    instance.write()
    with operator(instance) as dying:
        for step in (intent_seen_by_some, pause, level, park):
            step(instance, dying)
    instance.await_hold("member 0 does not take member 1 for home")
    instance.mount()
    instance.await_primary()
    assert instance.keys(0) == {"db0": 21}


@matrix(persistence=["aof"])
def test_a_deposed_primary_is_known_as_such_before_it_has_synced(serving: Boot, setup: Setup) -> None:
    """Its log may end before the next primary's, and its mounted epoch may still be the one it led in."""
    instance = serving(setup)
    instance.write()
    with operator(instance) as at_work:
        at_work.send(0, *PARKED)
        until(lambda: instance.fact(0) == "replica", "it wrote down that it no longer leads", instance)
        at_work.send(1, "REPLICAOF", "NO", "ONE")
        instance.write(to=1, confirmed=False)
    instance.kill(*range(setup.members))
    instance.start()
    instance.await_hold("cannot tell whether")
    assert instance.keys(1) == {"db0": 41}


def named(instance: Instance, member: int) -> list[int]:
    """Return how long each of the operator's connections to `member` has been idle, in seconds."""
    with instance.client(member) as client:
        return [int(entry["idle"]) for entry in client.client_list() if entry["name"] == "redisop"]
