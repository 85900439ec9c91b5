"""A volume that was written under one persistence.mode is booted under another: its data are loaded, then kept anew."""

from dataclasses import replace

import pytest

from tests.boot.conftest import Boot
from tests.boot.instance import Instance, until
from tests.boot.setups import Setup

LOGS = {"appendonly.aof", "appendonlydir"}
CHANGES = [("rdb", "aof"), ("aof", "rdb"), ("rdb", "none"), ("aof", "none")]
CASES = [
    pytest.param(Setup(old, members, version, shell), new, marks=[] if tier == 1 else pytest.mark.full)
    for old, new in CHANGES
    for members, version, shell, tier in (
        (1, "7.0", "dash", 1),
        (2, "7.0", "dash", 1),
        (2, "6.2", "ash", 1),
        (3, "8.2", "dash", 1),
        (2, "8.2", "ash", 2),
        (3, "7.0", "ash", 2),
        (3, "6.2", "dash", 2),
    )
]


def change(instance: Instance, mode: str) -> None:
    """Replace all pods, stopped in order, under another persistence.mode; return when it is kept so."""
    instance.setup = replace(instance.setup, persistence=mode)
    instance.delete(*range(instance.members))
    instance.start()
    instance.await_primary()
    for member in range(instance.members):
        until(lambda member=member: keeps(instance, member) == mode, f"member {member} keeps {mode}", instance)


def keeps(instance: Instance, member: int) -> str:
    """Return what the member keeps its data as, when it does so and nothing of another mode is left."""
    with instance.client(member) as client:
        said = client.info("persistence")
    if said["aof_rewrite_in_progress"] or said["rdb_bgsave_in_progress"]:
        return "busy"
    logs, dump = files(instance, member) & LOGS, "dump.rdb" in files(instance, member)
    if said["aof_enabled"]:
        return "aof" if logs else "no log yet"
    return "an old log" if logs else "rdb" if dump else "none"


def files(instance: Instance, member: int) -> set[str]:
    return {path.name for path in instance.file(member, "data").iterdir()}


@pytest.mark.parametrize(("setup", "mode"), CASES)
def test_another_persistence_mode_keeps_every_key(serving: Boot, setup: Setup, mode: str) -> None:
    instance = serving(setup)
    assert instance.write(40) == 40
    change(instance, mode)
    assert len(instance.call(instance.home, "KEYS", "w:*")) == 40


@pytest.mark.parametrize(("old", "new"), [("rdb", "aof"), ("aof", "rdb")])
def test_there_and_back_again_serves_what_was_written_last(serving: Boot, old: str, new: str) -> None:
    """What the first mode left behind must not come back in place of what the second wrote."""
    instance = serving(Setup(old, 2, "7.0", "dash"))
    instance.write(10)
    for mode in (new, old, new):
        change(instance, mode)
        assert instance.write(10) == 10
    change(instance, old)
    assert len(instance.call(instance.home, "KEYS", "w:*")) == 40
