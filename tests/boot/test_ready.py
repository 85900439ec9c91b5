"""Readiness: not loading, not parked, and primary, in sync, or out of sync for less than max-lag since it was."""

from tests.boot.conftest import Boot
from tests.boot.instance import PORT, Instance, operator, until
from tests.boot.setups import Setup, matrix


def reason(instance: Instance, member: int) -> str:
    """Return why `member` is not Ready, or "" when it is."""
    done = instance.script("ready.sh", member)
    assert done.stderr == ""
    assert (done.returncode == 0) == (done.stdout == "")
    return done.stdout.removeprefix("redisop: not Ready: ").strip()


def becomes(instance: Instance, member: int, wanted: str) -> None:
    """Wait until `member` is not Ready for a reason that begins with `wanted`, or Ready when that is empty."""

    def so() -> bool:
        found = reason(instance, member)
        return found.startswith(wanted) if wanted else not found

    until(so, f"member {member} is {wanted or 'Ready'}", instance)


@matrix(persistence=["aof"])
def test_primary_and_replicas_in_sync_are_ready(serving: Boot, setup: Setup) -> None:
    instance = serving(setup)
    for member in range(setup.members):
        becomes(instance, member, "")


@matrix(persistence=["none"], members=[1])
def test_a_single_member_is_ready_and_was_not_before_it_started(prepare: Boot, setup: Setup) -> None:
    instance = prepare(setup)
    assert reason(instance, 0) == "not started yet"
    instance.start()
    becomes(instance, 0, "")
    instance.kill(0)
    assert reason(instance, 0) == "Redis does not answer"


@matrix(persistence=["none"])
def test_a_parked_member_is_not_ready(prepare: Boot, setup: Setup) -> None:
    instance = prepare(setup)
    instance.start(1)
    becomes(instance, 1, "parked")
    until(lambda: instance.hold(1), "it holds", instance)
    assert reason(instance, 1) == "parked"


@matrix(persistence=["rdb"])
def test_a_loading_member_is_not_ready(serving: Boot, setup: Setup) -> None:
    instance = serving(setup, conf="rdbcompression no")
    with instance.client(0) as client, client.pipeline(transaction=False) as pipeline:
        for number in range(6000):
            pipeline.set(f"key:{number}", "x" * 1000)
        pipeline.execute()
    instance.terminate(0)
    with instance.file(0, "etc", "redis.conf").open("a") as configuration:
        configuration.write("\nkey-load-delay 300\n")
    instance.start(0)
    becomes(instance, 0, "loading")
    becomes(instance, 0, "parked")


@matrix(persistence=["aof"])
def test_a_replica_without_its_primary_stays_ready_for_max_lag(serving: Boot, setup: Setup) -> None:
    instance = serving(setup)
    becomes(instance, 1, "")
    instance.kill(0)
    until(lambda: instance.info(1)["master_link_status"] == "down", "the link is down", instance)
    down = instance.info(1)["master_link_down_since_seconds"]
    assert reason(instance, 1) == "" or down >= 2, "max-lag is 4 s"
    becomes(instance, 1, "link down for ")
    assert instance.info(1)["master_link_down_since_seconds"] >= 4


@matrix(persistence=["none"])
def test_a_member_that_was_never_in_sync_is_not_ready_however_young(prepare: Boot, setup: Setup) -> None:
    instance = prepare(setup)
    instance.start(1)
    until(lambda: instance.answers(1), "it answers", instance)
    instance.call(1, "REPLICAOF", instance.address[0], PORT)  # where nobody is
    becomes(instance, 1, "link down for ")


@matrix(persistence=["none"], members=[2])
def test_a_replica_that_hears_nothing_is_behind(serving: Boot, setup: Setup) -> None:
    instance = serving(setup, conf="repl-timeout 60")
    becomes(instance, 1, "")
    instance.freeze(0)
    becomes(instance, 1, "nothing heard from the primary for ")
    assert instance.info(1)["master_link_status"] == "up"
    instance.thaw(0)
    becomes(instance, 1, "")


@matrix(persistence=["none"], members=[2])
def test_a_member_that_an_operator_parks_is_not_ready(serving: Boot, setup: Setup) -> None:
    instance = serving(setup)
    becomes(instance, 1, "")
    with operator(instance) as at_work:
        at_work.send(1, "REPLICAOF", "127.0.0.1", 1)
        assert reason(instance, 1) == "parked"


@matrix(persistence=["none"], members=[1])
def test_a_changed_secret_does_not_make_a_running_member_unready(prepare: Boot, setup: Setup) -> None:
    instance = prepare(setup)
    instance.start()
    becomes(instance, 0, "")
    instance.file(0, "secret", "password").write_text("another")
    assert reason(instance, 0) == ""


@matrix(persistence=["none"], members=[1])
def test_a_frozen_redis_leaves_no_probe_waiting(prepare: Boot, setup: Setup) -> None:
    instance = prepare(setup)
    instance.start()
    becomes(instance, 0, "")
    instance.freeze(0)
    assert reason(instance, 0) == "Redis does not answer"
