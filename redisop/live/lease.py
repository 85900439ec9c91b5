"""Leading by a Lease: a thread that renews it, and terms that end by themselves when it cannot.

`election` decides, this asks the API server. Who acts must ask its `Term` before every write, and that answers from the
clock alone: it is over in time also when the renewing thread hangs in a request, or when the process was stopped.
"""

from __future__ import annotations

import contextlib
import random
import socket
import threading
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, Protocol

import msgspec

from redisop import names
from redisop.failures import AlreadyExists, Failure, NotFound, Stale
from redisop.live import election
from redisop.live.election import Claim, Times, Wait
from redisop.manifest import Key, Manifest

DEFAULT_TIMES: Final = Times()
# On Linux CLOCK_MONOTONIC stands still while the machine is suspended, and a Lease runs out all the same. (A virtual
# machine that its host has stopped and continued may see no time pass on any clock: against that nothing here helps.)
_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_JITTER: Final = 0.25


class Kube(Protocol):
    """What is used of `live.kube.Kube`."""

    def until(self, deadline: float) -> Kube:
        """Return the same client, which sends nothing after `deadline`."""

    def get(self, which: Key) -> Manifest | None:
        """Return the object, None when there is none."""

    def create(self, manifest: Manifest) -> Manifest:
        """Create an object and return it as stored."""

    def patch(self, which: Key, changes: Manifest) -> Manifest:
        """Merge `changes` into an object, if it has the version that they name."""


def since_boot() -> float:
    """Return the seconds of a clock that never goes back and never stands still."""
    return time.clock_gettime(_CLOCK)


def identity() -> str:
    """Return a name that no other process has, and from which people see the pod."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


class Term:
    """One time of leading without a break. Once it is over it stays so, although the same process may lead again.

    Work that was begun in a term must not be finished in the next: somebody else may have acted in between.
    """

    def __init__(self, deadline: float, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._deadline = deadline
        self._changed = threading.Condition()

    def left(self) -> float:
        """Return for how many seconds more nobody else can lead, 0 when the term is over. Takes no lock."""
        return max(0.0, self._deadline - self._clock())

    def held(self) -> bool:
        """Tell whether this process leads, at this moment."""
        return self.left() > 0.0

    def wait_until_over(self, timeout: float) -> bool:
        """Return True as soon as it is over, False after `timeout` seconds; needs no thread but the caller's."""
        end = self._clock() + timeout
        with self._changed:
            while self.held():
                left = end - self._clock()
                if left <= 0:
                    return False
                self._changed.wait(min(left, self.left()))
            return True

    def extend(self, deadline: float) -> bool:
        """Let it last until `deadline`; return False when it was over already."""
        with self._changed:
            if not self.held():
                return False
            self._deadline = max(deadline, self._deadline)
            return True

    def end(self) -> None:
        """Let it be over."""
        with self._changed:
            self._deadline = min(self._deadline, self._clock())
            self._changed.notify_all()


class Elector:
    """One candidate for the Lease `which`. `start` it once; `stop` gives the Lease up if it has it.

    `holder` is who had the Lease when it was last seen, empty for nobody; `failure` is why the last turn came to
    nothing, None when it did not.
    """

    def __init__(
        self,
        kube: Kube,
        which: Key,
        identity: str,
        times: Times = DEFAULT_TIMES,
        clock: Callable[[], float] = since_boot,
        today: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._kube = kube
        self._which = which
        self._identity = identity
        self._times = times
        self._clock = clock
        self._today = today
        self._written = datetime.fromtimestamp(0, UTC)
        self._sight = election.UNSEEN
        self._term: Term | None = None
        self._changed = threading.Condition()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lease", daemon=True)
        self.failure: Failure | None = None

    @property
    def holder(self) -> str:
        """The identity of who had the Lease when it was last seen."""
        return self._sight.record.holder if self._sight.record else ""

    @property
    def trouble(self) -> str:
        """Why the last turn came to nothing, in a sentence, empty when all is well."""
        return str(self.failure or "")

    @property
    def term(self) -> Term | None:
        """The term that runs at this moment."""
        term = self._term
        return term if term and term.held() else None

    def wait(self, timeout: float) -> Term | None:
        """Wait for `timeout` seconds at most until this process leads; return its term, None when it does not."""
        with self._changed:
            self._changed.wait_for(lambda: self.term or self._stopping.is_set(), timeout)
            return self.term

    def start(self) -> None:
        """Stand as a candidate from now on."""
        self._thread.start()

    def stop(self, timeout: float) -> None:
        """End the term at once, then give the Lease up, for which it waits `timeout` seconds at most.

        Call it when nobody writes any more: the next leader acts within two seconds.
        """
        with self._changed:
            self._stopping.set()
            if self._term:
                self._term.end()
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(timeout)

    def turn(self) -> float:
        """Renew, or look and take the Lease when it is free; return the seconds to the next turn. Raises Failure."""
        pause = self._pause()
        kube = self._kube.until(time.monotonic() + self._times.renew_deadline / 3)  # a hanging try leaves time for two
        if self.term:
            try:
                return min(pause, self._act(kube))
            except (Stale, NotFound):
                pass  # somebody has changed or deleted it; whose it is now is to be seen
        self._look(kube)
        try:
            return min(pause, self._act(kube))
        except (Stale, NotFound, AlreadyExists):
            return pause  # somebody was faster

    def give_up(self) -> None:
        """Let the next one lead at once, if the Lease is ours. Raises Failure."""
        kube = self._kube.until(time.monotonic() + self._times.renew_deadline / 3)
        while claim := election.give_up(self._sight, self._identity, self._now()):
            try:
                self._write(kube, claim)
            except Stale:
                self._look(kube)

    def _run(self) -> None:
        pause = 0.0
        while not self._stopping.wait(pause):
            try:
                pause = self.turn()
                self.failure = None
            except Failure as failure:
                self.failure = failure
                pause = self._pause()
        with contextlib.suppress(Failure):  # then it runs out
            self.give_up()

    def _pause(self) -> float:
        return self._times.renew_period * (1.0 - _JITTER * random.random())  # noqa: S311

    def _act(self, kube: Kube) -> float:
        """Do what is to be done after what was seen last; return the seconds after which there is more to do."""
        sent = self._clock()
        step = election.decide(self._sight, sent, self._identity, self._times, self._now())
        if isinstance(step, Wait):
            self._lose()
            return step.seconds
        self._write(kube, step)
        self._win(sent + self._times.renew_deadline)
        return self._times.renew_period

    def _write(self, kube: Kube, claim: Claim) -> None:
        if claim.version is None:
            metadata = {"namespace": self._which.namespace, "name": self._which.name}
            lease = {"apiVersion": names.LEASE.api_version, "kind": names.LEASE.kind}
            stored = kube.create(lease | {"metadata": metadata, "spec": claim.spec})
        else:
            changes = {"metadata": {"resourceVersion": claim.version}, "spec": claim.spec}
            stored = kube.patch(self._which, changes)
        self._see(stored)

    def _look(self, kube: Kube) -> None:
        self._see(kube.get(self._which))

    def _see(self, lease: Manifest | None) -> None:
        leads = self.term is not None
        try:
            self._sight = election.see(self._sight, lease, self._clock(), leads, self._identity, self._times)
        except msgspec.ValidationError as error:
            text = f"what the API server gives for it is no Lease ({error}); is it a Kubernetes API server?"
            raise Failure(self._which, text) from None

    def _now(self) -> datetime:
        self._written = election.later(self._today(), self._written)
        return self._written

    def _win(self, deadline: float) -> None:
        with self._changed:
            if self._stopping.is_set() or (self._term and self._term.extend(deadline)):
                return
            self._term = Term(deadline, self._clock)
            self._changed.notify_all()

    def _lose(self) -> None:
        if self._term:
            self._term.end()
