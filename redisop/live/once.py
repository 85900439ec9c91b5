"""Passes over one `Redis` until there is nothing left to do or the time is over: `reconcile --once`."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from redisop.api.v1 import Redis
from redisop.diff import Change
from redisop.live.children import Children
from redisop.live.kube import Kube
from redisop.live.members import Members
from redisop.live.performer import Performer
from redisop.plan.actions import Hold
from redisop.reconcile import Outcome, reconcile

# While roles are unsettled members are asked often; once all is done but for readiness, a pod tells when it is Ready.
SOON, PATIENT = 0.5, 5.0
# Longer than the boot script waits after an operator's connection was last used: it acts where a pass may not.
LEFT_ALONE: Final = 15.0


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
    end = time.monotonic() + options.seconds
    children = Children(kube.until(end), created)
    members = Members()
    performer = Performer(members)
    changes: tuple[Change, ...] = ()
    try:
        while True:
            outcome = reconcile(redis, children, performer, datetime.now(UTC), options.dry_run)
            progress(outcome)
            changes += outcome.changes
            left = end - time.monotonic()
            if options.dry_run or outcome.settled or not options.wait or outcome.failures or left <= 0:
                break
            if isinstance(outcome.step, Hold):
                members.close()
                time.sleep(min(LEFT_ALONE, left))
            children.wait(redis, min(PATIENT if outcome.step is None else SOON, left))
        if not options.dry_run:
            children.complete(redis)
            outcome = reconcile(redis, children, performer, datetime.now(UTC))
            children.flush()
        return replace(outcome, changes=changes)
    finally:
        members.close()
