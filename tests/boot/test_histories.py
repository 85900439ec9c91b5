"""Generated histories: crashes, freezes, lost volumes, flushes, deletions, and operators that come and die.

Each ends with all members up. Then it has converged, or home holds and says why; no two members were primary at once;
no living member's data went back; and no acknowledged write is missing, but what persistence itself does not promise.
"""

import random
import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from tests.boot.conftest import Boot
from tests.boot.instance import NO_ANSWER, PORT, Instance, Operator, operator
from tests.boot.setups import PERSISTENCE, SHELLS, Setup
from tests.redis_servers import VERSIONS

FIRST_TIER = range(1, 31)
EXTRAS = ("", "", "key-load-delay 3000", "min-replicas-to-write 1\nmin-replicas-max-lag 2")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        first, count = metafunc.config.getoption("--seed"), metafunc.config.getoption("--histories")
        seeds = FIRST_TIER if first is count is None else range(first or 1, (first or 1) + (count or 1))
        metafunc.parametrize("seed", seeds)


def test_a_history(prepare: Boot, seed: int) -> None:
    dice = random.Random(seed)
    setup = Setup(dice.choice(PERSISTENCE), dice.choice((2, 3, 3)), dice.choice(VERSIONS), dice.choice(SHELLS))
    extra = dice.choice(EXTRAS if setup.members > 2 else EXTRAS[:3])
    history = History(prepare(setup, conf=extra), dice)
    history.instance.start()
    history.instance.await_primary()
    for _ in range(dice.randint(5, 10)):
        history.step()
    history.end()


class History:
    """One instance and what happens to it, drawn from `dice`."""

    def __init__(self, instance: Instance, dice: random.Random) -> None:
        self.instance, self.dice = instance, dice
        self.members = range(instance.members)
        self.loses_volumes, self.has_operators = dice.random() < 0.4, dice.random() < 0.6
        # Everything is promised by a log on every volume, as long as none of them is lost.
        instance.ledger.may_forget = instance.setup.persistence != "aof"
        self.acts: list[tuple[float, Callable[[], None]]] = [
            (4, self.write),
            (0.7, self.flush),
            (4, self.crash_of_home),
            (2, self.crash_of_some),
            (1.5, self.crash_of_all),
            (1.5, self.orderly_stop),
            (1.5, self.deletion),
            (1.2 * self.loses_volumes, self.lost_volume),
            (2.5, self.freezes),
            (1, self.dump),
            (0.7 * self.has_operators, self.visit_of_an_operator),
            (2 * self.has_operators, self.switchover),
            (2, self.rest),
        ]

    def step(self) -> None:
        weights, acts = zip(*self.acts, strict=True)
        self.dice.choices(acts, weights)[0]()
        time.sleep(self.dice.choice((0, self.dice.uniform(0, 1.5))))
        if self.dice.random() < 0.5:
            self.instance.start()

    def end(self) -> None:
        """Let all be up, and judge."""
        instance = self.instance
        instance.start()
        instance.mount()
        end = time.monotonic() + 60
        while not instance.converged():
            if self.holds():
                return
            assert time.monotonic() < end, f"neither converged nor held\n{instance.story()}"
            time.sleep(0.2)
        with instance.client(instance.home) as client:
            kept = {int(key.removeprefix("w:")) for key in client.keys("w:*")}
        last = max(kept, default=0) if instance.ledger.may_forget else instance.ledger.last
        missing = {number for number in instance.ledger.acknowledged if number <= last} - kept
        assert not missing, f"acknowledged and lost: {sorted(missing)[:9]}\n{instance.story()}"

    def holds(self) -> bool:
        """Whether home holds, and for the same reason for some time."""
        reason = self.instance.hold(self.instance.home)
        for _ in range(40):
            if not reason or self.instance.hold(self.instance.home) != reason:
                return False
            time.sleep(0.1)
        self.instance.say(f"holds: {reason}")
        return True

    # -- what happens --------------------------------------------------------------------------------------------------

    def write(self) -> None:
        self.instance.write(self.dice.randint(1, 60), confirmed=self.dice.random() < 0.7)

    def flush(self) -> None:
        self.instance.flush()

    def crash_of_home(self) -> None:
        self.down([self.instance.home], self.instance.kill)

    def crash_of_some(self) -> None:
        self.down(self.some(), self.instance.kill)

    def crash_of_all(self) -> None:
        self.down(list(self.members), self.instance.kill)

    def orderly_stop(self) -> None:
        self.down(self.some(), self.instance.terminate)

    def deletion(self) -> None:
        self.down(self.some(), lambda *members: self.instance.delete(*members, orderly=self.dice.random() < 0.7))

    def lost_volume(self) -> None:
        """Lose one volume, while all others are there."""
        if len(self.instance.pods) < len(self.members):
            return
        self.instance.ledger.may_forget = True
        member = self.dice.choice((self.instance.home, self.dice.choice(self.members)))
        self.instance.delete(member, orderly=False)
        self.instance.lose_volume(member)
        self.instance.start(member)

    def freezes(self) -> None:
        for _ in range(self.dice.randint(1, 4)):
            member = self.dice.choice(self.members)
            if member in self.instance.pods:
                self.instance.freeze(member, whole_pod=self.dice.random() < 0.3)
                time.sleep(self.dice.uniform(0.3, 2))
                self.instance.thaw(member)
            time.sleep(self.dice.uniform(0, 0.5))

    def dump(self) -> None:
        member = self.dice.choice(self.members)
        with suppress(*NO_ANSWER):
            self.instance.call(member, "BGSAVE")
            self.instance.say(f"dump of {member}")

    def visit_of_an_operator(self) -> None:
        reached = [member for member in self.some() if self.instance.answers(member)]
        with suppress(*NO_ANSWER), operator(self.instance, *reached):
            self.instance.say(f"operator at work on {reached}")
            time.sleep(self.dice.uniform(1, 3))

    def rest(self) -> None:
        time.sleep(self.dice.uniform(1, 4))

    def switchover(self) -> None:
        """Let an operator move the primary, perhaps to die on the way, while mounted files lag."""
        instance, old = self.instance, self.instance.home
        new = self.dice.choice([member for member in self.members if member != old])
        lagging = tuple(member for member in self.members if self.dice.random() < 0.4)
        dies_after = self.dice.choice((None, None, "intent", "park", "promote"))
        try:
            with operator(instance) as at_work:
                if instance.converged():
                    switch(instance, at_work, old, new, lagging, dies_after)
        except NO_ANSWER as error:
            instance.say(f"operator gave up: {error}")
        if self.dice.random() < 0.7:
            time.sleep(self.dice.uniform(0, 3))
            instance.mount()

    # -- how -----------------------------------------------------------------------------------------------------------

    def some(self) -> list[int]:
        return self.dice.sample(self.members, self.dice.randint(1, max(1, len(self.members) - 1)))

    def down(self, members: list[int], how: Callable[..., object]) -> None:
        """Take `members` down, and most of them up again, in another order."""
        if self.dice.random() < 0.4:
            self.write()
        how(*(member for member in members if member in self.instance.pods))
        if self.dice.random() < 0.5:
            time.sleep(self.dice.uniform(0, 2))
        for member in self.dice.sample(members, len(members)):
            if self.dice.random() < 0.85:
                self.instance.start(member)
            time.sleep(self.dice.choice((0, self.dice.uniform(0, 1))))


def switch(
    instance: Instance, at_work: Operator, old: int, new: int, lagging: tuple[int, ...], dies_after: str | None
) -> None:
    """Move the primary from `old` to `new`: intent, park, verify, promote, repoint. Raises what redis-py raises."""
    instance.move_home(new, lagging=lagging)
    if dies_after == "intent":
        return
    at_work.send(old, "REPLICAOF", "127.0.0.1", 1)
    if dies_after == "park":
        return
    target = at_work.send(old, "INFO", "replication")["slave_repl_offset"]
    for _ in range(20):
        if at_work.send(new, "INFO", "replication")["slave_repl_offset"] >= target:
            break
        time.sleep(0.02)
    else:
        at_work.send(old, "REPLICAOF", "NO", "ONE")
        instance.move_home(old)
        return
    at_work.send(new, "REPLICAOF", "NO", "ONE")
    if dies_after == "promote":
        return
    for member in range(instance.members):
        if member != new:
            at_work.send(member, "REPLICAOF", instance.address[new], PORT)
