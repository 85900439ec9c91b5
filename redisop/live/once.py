"""Passes over one `Redis` until there is nothing left to do or the time is over: `reconcile --once`."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from redisop.api.v1 import Redis
from redisop.diff import Change
from redisop.failures import Failure
from redisop.live.children import Children
from redisop.live.kube import Kube
from redisop.live.members import Members
from redisop.live.performer import Performer
from redisop.plan.actions import Hold
from redisop.reconcile import Members as MembersPort
from redisop.reconcile import Outcome, reconcile

# While roles are unsettled members are asked often, and claims while volumes grow; once all is done but for readiness,
# a pod tells when it is Ready.
SOON, WATCHFUL, PATIENT = 0.5, 1.0, 5.0
# Longer than the boot script waits after an operator's connection was last used: it acts where a pass may not.
LEFT_ALONE: Final = 15.0
# Waiting ends so long, or a tenth of all, before the time is over: what was seen must still be written down.
LAST_WORDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class Options:
    """How a run is made; `seconds` is the time that it may take."""

    dry_run: bool
    wait: bool
    seconds: float


def once(redis: Redis, created: bool, kube: Kube, options: Options, progress: Callable[[Outcome], None]) -> Outcome:
    """Bring `redis` to what it asks for, and return how the last pass went; raises Failure.

    `progress` hears of every pass.
    """
    members = Members()
    try:
        return passes(redis, created, kube, Performer(members), options, progress, members.close)
    finally:
        members.close()


def passes(
    redis: Redis,
    created: bool,
    kube: Kube,
    members: MembersPort,
    options: Options,
    progress: Callable[[Outcome], None],
    leave: Callable[[], None],
) -> Outcome:
    """Do the same with these members; `leave` ends all connections to them."""
    end = time.monotonic() + options.seconds
    children = Children(kube.until(end), created and not options.dry_run)
    try:
        return _until_done(redis, children, _Run(children, members, options, progress), options, end, leave)
    finally:
        children.close()


def _until_done(
    redis: Redis, children: Children, run: _Run, options: Options, end: float, leave: Callable[[], None]
) -> Outcome:
    patience = end - min(LAST_WORDS, options.seconds / 10)
    outcome = _waited(run.go(redis), children, run, patience, leave)
    if not (options.dry_run or outcome.failures) and children.complete(redis):
        outcome = _waited(run.go(outcome.redis), children, run, patience, leave)
    outcome = replace(outcome, changes=tuple(run.changes))
    return outcome if options.dry_run else _told(outcome, children)


def _waited(outcome: Outcome, children: Children, run: _Run, patience: float, leave: Callable[[], None]) -> Outcome:
    """Make passes after the one that led to `outcome` until there is nothing left to do, or it is `patience`."""
    while not run.is_over(outcome):
        left = patience - time.monotonic()
        if left <= 0:
            break
        if isinstance(outcome.step, Hold):
            leave()
            children.wait(outcome.redis, min(LEFT_ALONE, left))
        else:
            pause = SOON if outcome.step else WATCHFUL if children.growing else PATIENT
            children.wait(outcome.redis, min(pause, left))
        outcome = run.go(outcome.redis)
    return outcome


def _told(outcome: Outcome, children: Children) -> Outcome:
    """Write the status. When that fails, whatever failed before says more."""
    try:
        children.flush()
    except Failure as failure:
        return replace(outcome, failures=(*outcome.failures, failure), settled=False)
    return outcome


class _Run:
    """Passes one after the other; `changes` are those of all of them."""

    def __init__(
        self,
        children: Children,
        members: MembersPort,
        options: Options,
        progress: Callable[[Outcome], None],
    ) -> None:
        self._children, self._members, self._options, self._progress = children, members, options, progress
        self._refusals: tuple[str, ...] = ()
        self._refused_before = False
        self.changes: list[Change] = []

    def go(self, redis: Redis) -> Outcome:
        """Make one pass."""
        outcome = reconcile(redis, self._children, self._members, datetime.now(UTC), self._options.dry_run)
        self._progress(outcome)
        self._refused_before = bool(outcome.refusals) and outcome.refusals == self._refusals
        self._refusals = outcome.refusals
        self.changes += [change for change in outcome.changes if change not in self.changes]
        return outcome

    def is_over(self, outcome: Outcome) -> bool:
        """Tell whether there is nothing left to wait for."""
        done = outcome.settled or outcome.stuck or self._refused_before
        return done or self._options.dry_run or not self._options.wait
