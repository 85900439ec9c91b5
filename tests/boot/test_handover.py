"""The preStop hook: waits only while this member is primary, with a replica, and an operator is at work on it."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.boot.conftest import Boot
from tests.boot.instance import PORT, Instance, operator, until
from tests.boot.setups import Setup, matrix

AT_ONCE = 10  # seconds: less than the 15 that it waits for, and enough for a busy machine


@contextmanager
def hook(instance: Instance, member: int) -> Iterator[subprocess.Popen[bytes]]:
    """The hook, running inside the pod of `member`."""
    environment = instance.environment(member)
    process = subprocess.Popen([*instance.shell, instance.folder / "handover.sh"], env=environment)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@matrix(persistence=["aof"])
def test_without_an_operator_it_returns_at_once(serving: Boot, setup: Setup) -> None:
    instance = serving(setup)
    with hook(instance, 0) as process:
        assert process.wait(AT_ONCE) == 0


@matrix(persistence=["aof"], members=[3])
def test_on_a_replica_it_returns_at_once_even_if_that_has_a_replica(serving: Boot, setup: Setup) -> None:
    instance = serving(setup)
    instance.call(2, "REPLICAOF", instance.address[1], PORT)
    until(lambda: instance.info(1)["connected_slaves"] == 1, "member 2 follows member 1", instance)
    with operator(instance), hook(instance, 1) as process:
        assert process.wait(AT_ONCE) == 0


@matrix(persistence=["aof"])
def test_on_a_primary_it_waits_until_the_role_has_moved(serving: Boot, setup: Setup) -> None:
    instance = serving(setup)
    with operator(instance) as at_work, hook(instance, 0) as process:
        time.sleep(3)
        assert process.poll() is None
        instance.move_home(1)
        at_work.send(0, "REPLICAOF", "127.0.0.1", 1)
        at_work.send(1, "REPLICAOF", "NO", "ONE")
        assert process.wait(AT_ONCE) == 0
        at_work.send(0, "REPLICAOF", instance.address[1], PORT)


@matrix(persistence=["aof"])
def test_it_waits_no_longer_than_fifteen_seconds(serving: Boot, setup: Setup) -> None:
    instance = serving(setup)
    began = time.monotonic()
    with operator(instance), hook(instance, 0) as process:
        assert process.wait(25) == 0
    assert time.monotonic() - began > 13


@matrix(persistence=["none"], members=[1])
def test_without_a_replica_to_take_over_it_returns_at_once(prepare: Boot, setup: Setup) -> None:
    instance = prepare(setup)
    instance.start()
    until(lambda: instance.primaries() == [0], "it leads", instance)
    with operator(instance), hook(instance, 0) as process:
        assert process.wait(AT_ONCE) == 0


@matrix(persistence=["aof"])
def test_an_operator_that_froze_is_not_waited_for(serving: Boot, setup: Setup) -> None:
    instance = serving(setup)
    with operator(instance) as frozen:
        frozen.freeze()
        time.sleep(10.5)
        with hook(instance, 0) as process:
            assert process.wait(AT_ONCE) == 0


@matrix(persistence=["none"], members=[1])
def test_without_redis_it_returns_at_once(prepare: Boot, setup: Setup) -> None:
    instance = prepare(setup)
    with hook(instance, 0) as process:
        assert process.wait(AT_ONCE) == 0
    instance.start()
    until(lambda: instance.primaries() == [0], "it leads", instance)
    instance.freeze(0)
    with hook(instance, 0) as process:
        assert process.wait(AT_ONCE) == 0
