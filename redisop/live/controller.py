"""Passes over every `Redis`, each when something happened to it or when its time has come: `redisop run`.

Here are the threads: watches tell a queue, workers take from it. What a pass does is not its business, nor how it is
told (`Voice`) or who leads (`Leadership`).
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Final, Protocol

from redisop import names
from redisop.failures import Failure
from redisop.live.blocking_queue import BlockingQueue
from redisop.live.cache import Cache
from redisop.live.kube import Kube
from redisop.live.members import Members
from redisop.live.performer import Performer
from redisop.live.store import Name, Store
from redisop.live.visit import Connections, Visit, Visitor

# A pass may take so many seconds. What it has not done by then the next one does; others get their turn.
PASS_SECONDS: Final = 60.0
# Of a worker that waits in the middle of a pass nobody knows when it ends; to be killed there is safe.
LAST_SECONDS: Final = 8.0
# Seconds after which a thread that computes lets another one have a turn: a tenth of what Python does by itself.
_SWITCH_INTERVAL: Final = 0.0005
_POLL: Final = 1.0
# What moves a primary shows here first.
_URGENT: Final = {names.POD.kind, names.REDIS.kind}


class Voice(Protocol):
    """Says what was done: log, Events, metrics. May not fail and may not wait."""

    def waited(self, seconds: float) -> None:
        """Tell for how long a `Redis` was due before a worker took it."""

    def visited(self, of: Name, visit: Visit, seconds: float) -> None:
        """Tell of a pass that ended."""

    def failed(self, of: Name, error: Exception, seconds: float) -> None:
        """Tell of a pass that could not be made: a `Failure`, or a fault of redisop."""

    def standing(self, trouble: str) -> None:
        """Tell of what keeps all passes from being made, the empty string when nothing does."""

    def leads(self) -> None:
        """Tell that passes are made from now on."""

    def stands_by(self, leader: str) -> None:
        """Tell that another process makes them, and which."""


class Term(Protocol):
    """One time of leading; once it is over it stays so."""

    def left(self) -> float:
        """Return for how many seconds more nobody else can lead, 0 when it is over."""

    def wait_until_over(self, timeout: float) -> bool:
        """Return True as soon as it is over, False after `timeout` seconds."""


class Leadership(Protocol):
    """Whether this process may write."""

    @property
    def trouble(self) -> str:
        """What keeps it from being known who leads, empty when nothing does."""

    @property
    def holder(self) -> str:
        """The name of the process that leads, empty when none is known to."""

    def wait(self, timeout: float) -> Term | None:
        """Wait for so many seconds at most until it may; return the term in which it may."""


class Unshared:
    """The lead and the term of a controller that nobody contests: it was told to be the only one."""

    trouble = holder = ""

    def wait(self, timeout: float) -> Term:
        """Lead at once."""
        return self

    def left(self) -> float:
        """Lead for ever."""
        return math.inf

    def wait_until_over(self, timeout: float) -> bool:
        """Wait in vain."""
        time.sleep(timeout)
        return False


class Controller:
    """`namespaces` to look after, empty: all of them."""

    def __init__(
        self,
        kube: Kube,
        namespaces: tuple[str, ...],
        workers: int,
        voice: Voice,
        leadership: Leadership,
        connect: Callable[[], Connections] = lambda: Performer(Members()),
    ) -> None:
        self._voice, self._leadership = voice, leadership
        self.store = Store()
        self.queue: BlockingQueue[Name] = BlockingQueue(lambda of: of.namespace)
        self.cache = Cache(kube, namespaces, self.store, self._changed)
        self._visitor = Visitor(self.store, kube, lambda: self.cache.pod_monitors, connect)
        self._term: Term | None = None
        self._workers = [
            threading.Thread(target=self._work, name=f"worker-{number}", daemon=True) for number in range(workers)
        ]

    def run(self, stopping: threading.Event) -> bool:
        """Work until `stopping` is set or the lead is lost; return whether every pass that was begun has ended."""
        sys.setswitchinterval(_SWITCH_INTERVAL)
        self.cache.start()
        term = self._wait_for_the_lead(stopping)
        if term is not None:
            self._begin(term)
            while not (stopping.is_set() or term.wait_until_over(_POLL)):
                pass
        self.queue.stop()
        self.cache.stop()
        end = time.monotonic() + LAST_SECONDS
        for worker in self._workers:
            if worker.ident is not None:
                worker.join(max(end - time.monotonic(), 0.0))
        return not any(worker.is_alive() for worker in self._workers)

    @property
    def troubles(self) -> list[str]:
        """Why it cannot do its work now, in sentences; empty when it can, or could if it led."""
        unlisted = [] if self.cache.troubles or self.cache.synced else ["not everything has been listed yet"]
        return [*unlisted, *self._said_troubles()]

    def _said_troubles(self) -> list[str]:
        return [*self.cache.troubles, *filter(None, [self._leadership.trouble])]

    def _wait_for_the_lead(self, stopping: threading.Event) -> Term | None:
        said = leader = ""
        while not stopping.is_set():
            synced = self.cache.wait(_POLL)  # first, so that of many kinds that fail at once all are said at once
            trouble = "; ".join(self._said_troubles())
            if trouble != said:
                self._voice.standing(trouble)
                said = trouble
            if not synced:
                continue
            if (term := self._leadership.wait(_POLL)) is not None:
                return term
            if self._leadership.holder not in ("", leader):
                leader = self._leadership.holder
                self._voice.stands_by(leader)
        return None

    def _begin(self, term: Term) -> None:
        """From now on every change is followed by a pass; what was before is caught up with."""
        self._term = term
        self._voice.leads()
        for of in self.store.redises():
            self.queue.add(of)
        for worker in self._workers:
            worker.start()

    def _changed(self, whose: Iterable[Name], kind: names.Kind) -> None:
        if self._term is not None:
            for of in whose:
                self.queue.add(of, urgent=kind.kind in _URGENT)

    def _work(self) -> None:
        while (taken := self.queue.take()) is not None:
            self._voice.waited(taken.waited)
            failed = self._pass(taken.key)
            self.queue.done(taken.key, failed)

    def _pass(self, of: Name) -> bool:
        """Make one pass and say when the next is due; return whether it has to be tried again."""
        begun = time.monotonic()
        assert self._term is not None, "workers begin with a term"  # noqa: S101
        try:
            visit = self._visitor.visit(of, begun + min(PASS_SECONDS, self._term.left()))
            self._voice.visited(of, visit, time.monotonic() - begun)
        except Failure as failure:
            self._voice.failed(of, failure, time.monotonic() - begun)
            return True
        except Exception as error:  # a fault in one pass must not end those over all others
            self._voice.failed(of, error, time.monotonic() - begun)
            return True
        if visit.after is not None and not visit.failed:
            self.queue.add(of, visit.after)
        return visit.failed
