"""Carries out actions on the members that were probed, and only on those very processes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from redisop import names
from redisop.api.config_keys import takes_words
from redisop.live.exchange import Command
from redisop.live.members import Members
from redisop.plan.actions import Configure, Follow, MemberAction, Promote
from redisop.snapshot.reply import Refusal, Reply
from redisop.snapshot.vitals import Target, Vitals

_MEMORY: Final = re.compile(r"([0-9]+)(b|kb?|mb?|gb?)?", re.IGNORECASE)
_UNITS: Final = {"": 1, "b": 1, "k": 10**3, "kb": 2**10, "m": 10**6, "mb": 2**20, "g": 10**9, "gb": 2**30}
# Redis answers with the same flags in an order of its own.
_FLAGS: Final = "notify-keyspace-events"


class Performer:
    """The port Members of a pass, over standing connections."""

    def __init__(self, members: Members) -> None:
        self._members = members

    def probe(self, targets: Iterable[Target], password: bytes | None) -> tuple[Vitals, ...]:
        """Ask all of them at once."""
        return self._members.probe(targets, password)

    def perform(self, action: MemberAction) -> str | None:
        """Carry out one action on all its members; return None, or a sentence for each that refused."""
        match action:
            case Promote(member=member):
                refusals = [self._tell(member, ("REPLICAOF", "NO", "ONE"))]
            case Follow(members=members, primary=primary):
                follow = ("REPLICAOF", str(primary.address), names.REDIS_PORT)
                refusals = [self._tell(member, follow) for member in members]
            case Configure(members=members, settings=settings):
                refusals = [self._set(member, settings) for member in members]
        return "; ".join(filter(None, refusals)) or None

    def close(self) -> None:
        """End all connections and forget what was said over them."""
        self._members.close()

    def _tell(self, member: Vitals, *commands: Command) -> str | None:
        reply = self._send(member, *commands)
        return reply if isinstance(reply, str) else None

    def _set(self, member: Vitals, settings: Sequence[tuple[str, str]]) -> str | None:
        """Set all of `settings` on one member, and read them back."""
        commands = [("CONFIG", "SET", key, value) for key, value in settings]
        questions = [("CONFIG", "GET", key) for key, _ in settings]
        replies = self._send(member, *commands, *questions)
        if isinstance(replies, str):
            return replies
        answers = replies[len(commands) :]
        other = [key for (key, value), answer in zip(settings, answers, strict=True) if not _says(answer, key, value)]
        return f"Pod {member.pod} took {', '.join(other)} and runs with another value" if other else None

    def _send(self, member: Vitals, *commands: Command) -> Sequence[Reply] | str:
        if member.identity is None:
            return f"Pod {member.pod} did not say who it is"
        replies = self._members.command(member.target, member.identity, *commands)
        return replies.sentence if isinstance(replies, Refusal) else replies


def _says(answer: Reply, key: str, value: str) -> bool:
    """Tell whether the answer to `CONFIG GET` is `value`, which may be written otherwise."""
    if not isinstance(answer, list) or len(answer) != 2 or not isinstance(answer[1], bytes):
        return False
    said = answer[1].decode(errors="replace")
    return key == _FLAGS or takes_words(key) or _plain(said) == _plain(value)


def _plain(value: str) -> str | int:
    if found := _MEMORY.fullmatch(value):
        return int(found[1]) * _UNITS[(found[2] or "").lower()]
    return value.lower()
