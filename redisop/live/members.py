"""The members: asks all of one `Redis` at once, and sends commands to the very process that was looked at.

Keeps one standing connection a pod, and the few facts that only memory can tell: since when a member is silent, and
what it said before. It decides nothing. Different threads may ask different pods at the same time, not the same pod.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from dataclasses import fields, replace
from typing import Final

from redisop.live.exchange import Command, Connection, Exchange, converse, name
from redisop.manifest import Key
from redisop.snapshot.info import parse_info, unknown
from redisop.snapshot.reply import Refusal, Reply
from redisop.snapshot.vitals import Identity, Info, Target, Trouble, Vitals

# Seconds. A probe may take PATIENCE for connecting and for answering, and ends at its deadline in any case.
PATIENCE: Final = 1.0
PROBE_DEADLINE: Final = 2.0
COMMAND_DEADLINE: Final = 2.0
# So long a pod may be away, be it because its node is.
FORGOTTEN_AFTER: Final = 3600.0

_INFO: Final = ("INFO",)


class Members:
    """The port through which a pass reaches the Redis processes."""

    def __init__(self) -> None:
        self._members: dict[tuple[str | None, str], dict[Key, _Member]] = {}

    def probe(
        self, targets: Iterable[Target], password: bytes | None, deadline: float = PROBE_DEADLINE
    ) -> tuple[Vitals, ...]:
        """Return what each target says, by ordinal. All are asked at once; it takes `deadline` seconds at most.

        `targets` are all members that a `Redis` has now: connections to others of it are closed.
        """
        end = time.monotonic() + deadline
        asked = [(self._member(target), target) for target in targets]
        self._leave_others([target.pod for _, target in asked])
        exchanges = [
            Exchange(target, password, member.connection, _INFO, end=end, patience=PATIENCE) for member, target in asked
        ]
        converse(exchanges)
        vitals = [member.remember(exchange, password) for (member, _), exchange in zip(asked, exchanges, strict=True)]
        return tuple(sorted(vitals, key=lambda member: member.ordinal))

    def command(self, target: Target, identity: Identity, *commands: Command) -> tuple[Reply, ...] | Refusal:
        """Send `commands`, one after the other, to the process that is `identity`, and return their replies.

        Reads `INFO` on the same connection first, and sends nothing to another process or another history. The first
        error or silence ends it. `INFO` and each command may take COMMAND_DEADLINE seconds.
        """
        member = self._member(target)
        look = member.exchange(target, _INFO)
        refusal = _mismatch(look, identity)
        replies: list[Reply] = []
        for command in () if refusal else commands:
            exchange = member.exchange(target, command, reopens=False)
            if refusal := _failure(exchange):
                member.drop()  # it may stand in the middle of a transaction
                break
            replies.append(exchange.answer)
        return refusal or tuple(replies)

    def close(self) -> None:
        """Close all connections and forget everything."""
        for members in self._members.values():
            for member in members.values():
                member.drop()
        self._members.clear()

    def _member(self, target: Target) -> _Member:
        return self._members.setdefault(_redis(target.pod), {}).setdefault(target.pod, _Member())

    def _leave_others(self, pods: Collection[Key]) -> None:
        """Close the connections to pods that are gone, and forget those that do not come back.

        Not at once: a pod that is made anew is away for a while, and what it said last counts just then.
        """
        now = time.monotonic()
        for members in [self._members[redis] for redis in {_redis(pod) for pod in pods}]:
            for pod, member in list(members.items()):
                if pod in pods:
                    member.asked = now
                    continue
                member.drop()
                if now - member.asked > FORGOTTEN_AFTER:
                    del members[pod]


class _Member:
    """What is kept of one pod name between two looks."""

    __slots__ = ("answered", "asked", "connection", "password", "silent_probes", "silent_since", "uid")

    def __init__(self) -> None:
        self.connection: Connection | None = None
        self.password: bytes | None = None
        self.uid = ""
        self.asked = time.monotonic()
        self.answered: Vitals | None = None
        self.silent_since: float | None = None
        self.silent_probes = 0

    def exchange(self, target: Target, command: Command, reopens: bool = True) -> Exchange:
        """Send one command and return what it came to."""
        exchange = Exchange(
            target,
            self.password,
            self.connection,
            command,
            end=time.monotonic() + COMMAND_DEADLINE,
            patience=COMMAND_DEADLINE,
            reopens=reopens,
        )
        converse([exchange])
        self.connection = exchange.connection
        return exchange

    def remember(self, exchange: Exchange, password: bytes | None) -> Vitals:
        """Return what `exchange`, an `INFO`, learned, together with what is known from before."""
        target, info = exchange.target, _info(exchange)
        if self.uid != target.uid:
            self.uid, self.silent_since, self.silent_probes = target.uid, None, 0
        self.connection, self.password = exchange.connection, password
        vitals = Vitals(
            namespace=target.pod.namespace,
            pod=target.pod.name,
            ordinal=target.ordinal,
            uid=target.uid,
            address=target.address,
            port=target.port,
            previous=self.answered,
        )
        if isinstance(info, Refusal):
            return self._refused(replace(vitals, trouble=info.trouble, sentence=info.sentence), exchange.began)
        self.silent_since, self.silent_probes = None, 0
        vitals = replace(vitals, **{field.name: getattr(info, field.name) for field in fields(Info)})
        self.answered = replace(vitals, previous=None)
        return vitals

    def _refused(self, vitals: Vitals, began: float) -> Vitals:
        if vitals.alive:
            self.silent_since, self.silent_probes = None, 0
            return vitals
        self.silent_since = began if self.silent_since is None else self.silent_since
        self.silent_probes += 1
        silent = time.monotonic() - self.silent_since
        return replace(vitals, silent_seconds=silent, silent_probes=self.silent_probes)

    def drop(self) -> None:
        """Close the connection, if there is one."""
        if self.connection:
            self.connection.socket.close()
            self.connection = None


def _redis(pod: Key) -> tuple[str | None, str]:
    """Return namespace and name of the `Redis` that `pod` is a member of."""
    return pod.namespace, pod.name.rpartition("-")[0]


def _info(exchange: Exchange) -> Info | Refusal:
    """Return what the answer to an `INFO` says."""
    if refusal := exchange.verdict():
        return refusal
    if not isinstance(exchange.answer, bytes):
        return exchange.refuse(Trouble.PROTOCOL_ERROR, "does not answer INFO with text")
    info = parse_info(exchange.answer.decode(errors="replace"))
    if lacking := unknown(info):
        return exchange.refuse(Trouble.PROTOCOL_ERROR, f"answers INFO without {', '.join(lacking)}")
    return info


def _mismatch(look: Exchange, identity: Identity) -> Refusal | None:
    """Return why no command may follow on `look`, an `INFO`; None when it is still the member that was meant."""
    info = _info(look)
    if isinstance(info, Refusal):
        return info
    if info.run_id != identity.run_id:
        what = f"is another process by now: run_id {info.run_id}, not {identity.run_id}"
    elif identity.replication_id not in {None, info.replication_id}:
        what = f"has another history by now: replication id {info.replication_id}, not {identity.replication_id}"
    else:
        return None
    return look.refuse(Trouble.OTHER_IDENTITY, f"{what}; nothing was sent")


def _failure(exchange: Exchange) -> Refusal | None:
    """Return why a command was not carried out, or why that is not known; None when it was."""
    refusal = exchange.verdict()
    if refusal is None or exchange.refusal is None:
        return refusal
    sentence = f"{refusal.sentence}, after {name(exchange.command)} was sent"
    return replace(refusal, sentence=sentence, uncertain=True)
