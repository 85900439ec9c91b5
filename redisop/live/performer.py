"""Carries out actions on the members that were probed last, and only on those very processes."""

from __future__ import annotations

from collections.abc import Iterable

from redisop import names
from redisop.live.exchange import Command
from redisop.live.members import Members
from redisop.plan.actions import Action, Configure, Follow, Promote
from redisop.snapshot.reply import Refusal
from redisop.snapshot.vitals import Target, Vitals


class Performer:
    """The port Members of a pass, over standing connections."""

    def __init__(self, members: Members) -> None:
        self._members = members
        self._targets: dict[str, Target] = {}

    def probe(self, targets: Iterable[Target], password: bytes | None) -> tuple[Vitals, ...]:
        """Ask all of them at once, and remember where they are."""
        wanted = list(targets)
        self._targets = {target.uid: target for target in wanted}
        return self._members.probe(wanted, password)

    def perform(self, action: Action) -> str | None:
        """Carry out one action; return None, or a sentence that says why it was not."""
        for member, commands in _commands(action):
            if member.identity is None:
                return f"{member.pod} did not say who it is"
            reply = self._members.command(self._targets[member.uid], member.identity, *commands)
            if isinstance(reply, Refusal):
                return reply.sentence
        return None


def _commands(action: Action) -> list[tuple[Vitals, list[Command]]]:
    match action:
        case Promote(member=member):
            return [(member, [("REPLICAOF", "NO", "ONE")])]
        case Follow(members=members, primary=primary):
            follow = ("REPLICAOF", str(primary.address), str(names.REDIS_PORT))
            return [(member, [follow]) for member in members]
        case Configure(members=members, settings=settings):
            commands = [("CONFIG", "SET", key, value) for key, value in settings]
            return [(member, list(commands)) for member in members]
