"""Actions on real redis-server processes: roles, and settings that are set and read back."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from redisop.live.members import Members
from redisop.live.performer import Performer
from redisop.manifest import Key
from redisop.plan.actions import Configure, Follow, Promote
from redisop.snapshot.vitals import Target, Vitals
from tests.live.redis_process import RedisProcess, processes

PASSWORD = "p w"


@pytest.fixture(params=["6.2", "7.0", "8.2"])
def trio(request: pytest.FixtureRequest) -> Iterator[list[RedisProcess]]:
    with processes(request.param, 3, password=PASSWORD) as some:
        yield [each.start() for each in some]


@pytest.fixture
def performer() -> Iterator[Performer]:
    members = Members()
    with ExitStack() as stack:
        stack.callback(members.close)
        yield Performer(members)


def looked(performer: Performer, some: list[RedisProcess]) -> tuple[Vitals, ...]:
    targets = [
        Target(Key("Pod", "default", f"r-{number}"), number, f"uid-{number}", each.address, each.port)
        for number, each in enumerate(some)
    ]
    return performer.probe(targets, PASSWORD.encode())


def test_a_member_is_promoted(trio: list[RedisProcess], performer: Performer) -> None:
    trio[0].client.execute_command("REPLICAOF", "127.0.0.1", 1)
    assert performer.perform(Promote(looked(performer, trio)[0], "")) is None
    assert trio[0].client.role()[0] == "master"


def test_one_that_refuses_to_follow_is_told_and_the_others_follow(
    trio: list[RedisProcess], performer: Performer
) -> None:
    vitals = looked(performer, trio)
    trio[1].kill()
    refused = performer.perform(Follow(vitals[1:], vitals[0], ""))
    assert refused is not None
    assert "r-1" in refused
    assert "r-2" not in refused
    assert trio[2].client.role()[1] == "127.0.0.1"


SETTINGS = (
    ("maxmemory", "104857600"),
    ("maxmemory-policy", "allkeys-lru"),
    ("save", "3600 1 300 100"),
    ("timeout", "5"),
    ("client-output-buffer-limit", "replica 256mb 64mb 60"),
    ("notify-keyspace-events", "KEA"),
    ("appendonly", "yes"),
    ("repl-backlog-size", "2mb"),
    ("proc-title-template", "{title} a b"),
    ("loglevel", "WARNING"),
)


def test_settings_are_on_every_member_afterwards(trio: list[RedisProcess], performer: Performer) -> None:
    assert performer.perform(Configure(looked(performer, trio), SETTINGS, "")) is None
    for each in trio:
        found = each.client.config_get("*")
        assert (found["maxmemory"], found["save"], found["timeout"]) == ("104857600", "3600 1 300 100", "5")


def test_each_member_that_refuses_a_setting_is_told_and_the_others_have_it(
    trio: list[RedisProcess], performer: Performer
) -> None:
    vitals = looked(performer, trio)
    for each in trio[:2]:
        each.kill()
    refused = performer.perform(Configure(vitals, (("timeout", "5"),), ""))
    assert refused is not None
    assert [name for name in ("r-0", "r-1", "r-2") if name in refused] == ["r-0", "r-1"]
    assert trio[2].client.config_get("timeout") == {"timeout": "5"}


def test_a_value_that_redis_does_not_take_is_told_in_its_words(trio: list[RedisProcess], performer: Performer) -> None:
    refused = performer.perform(Configure(looked(performer, trio), (("timeout", "never"),), ""))
    assert refused is not None
    assert [refused.count(f"r-{number} ") for number in range(3)] == [1, 1, 1]
    assert "never" in refused or "timeout" in refused
