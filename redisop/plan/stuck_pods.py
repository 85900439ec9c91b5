"""Pods in which no Redis runs and that were made from a template that is no longer wanted are made anew.

Under `OnDelete` nobody else does that, so a document that is corrected would not heal what it broke. Only pods that
have nothing to lose are touched. Restarting a Redis that runs is not decided here.
"""

from __future__ import annotations

from redisop.manifest import Manifest
from redisop.plan.actions import Recreate
from redisop.plan.wanted import Wanted
from redisop.snapshot import Snapshot
from redisop.snapshot.health import health
from redisop.snapshot.pods import controller_uid, has_volume, outdated, redis_ever_ran, redis_waits


def stuck_pods(wanted: Wanted, snapshot: Snapshot) -> Recreate | None:
    """Return the pods that come up only when they are made anew; all at once, since none of them serves anybody."""
    stateful_set = _stateful_set(snapshot)
    if stateful_set is None or controller_uid(stateful_set) is None:
        return None  # unmanaged: its own controller replaces pods
    alive = {member.uid for member in snapshot.vitals if member.alive}
    stuck = tuple(
        pod
        for pod in outdated(snapshot.pods, stateful_set)
        if controller_uid(pod) == stateful_set["metadata"]["uid"]
        and "deletionTimestamp" not in pod["metadata"]
        and pod["metadata"]["uid"] not in alive
        and redis_waits(pod)
        and (has_volume(pod) or not redis_ever_ran(pod))
    )
    if not stuck:
        return None
    why = ", ".join(f"{pod['metadata']['name']}: {health(pod).reason}" for pod in stuck)
    return Recreate(stuck, f"no Redis runs there ({why}), and another pod template is wanted now")


def _stateful_set(snapshot: Snapshot) -> Manifest | None:
    return next((manifest for which, manifest in snapshot.live.items() if which.kind == "StatefulSet"), None)
