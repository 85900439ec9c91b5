"""What one field means for another: every rule of the API that a type alone cannot say.

One law for `validate`, for `render`, for the loop and for the API server, which gets the same rules as CEL (`crd`). A
rule sees documents only: what takes a cluster to know (an annotation used up, the version that runs) is the loop's.
"""

from __future__ import annotations

from typing import Final

from redisop.api.derived import resolved_persistence
from redisop.api.rules import metadata, network, pod, sizes, spec
from redisop.api.rules.rule import Rule, Scope, Transition
from redisop.api.v1 import Redis
from redisop.api.violation import Violation

__all__ = ["SCOPES", "TRANSITIONS", "Rule", "Scope", "Transition", "unmanaged_warnings", "violations"]

SCOPES: Final[tuple[Scope, ...]] = (*metadata.SCOPES, *sizes.SCOPES, *spec.SCOPES, *network.SCOPES, *pod.SCOPES)
TRANSITIONS: Final[tuple[Transition, ...]] = (*sizes.TRANSITIONS, *spec.TRANSITIONS)


def violations(new: Redis, old: Redis | None = None) -> tuple[Violation, ...]:
    """Return all that is wrong with `new`, and with going there from `old`, in the order of the rules."""
    found = [violation for scope in SCOPES for violation in scope.violations(new)]
    found += spec.unknown_settings(new)
    if old is not None:
        found += [violation for transition in TRANSITIONS for violation in transition.violations(new, old)]
    return tuple(found)


def unmanaged_warnings(redis: Redis) -> tuple[Violation, ...]:
    """Return what its owner should know when no redisop runs beside this `Redis`, as after `render`.

    Without a log of its own writes no member can be sure after a crash that its data are the newest, so all of them
    wait for somebody who knows more.
    """
    mode = resolved_persistence(redis.spec)
    if redis.spec.replicas < 2 or mode in {"AOF", "Both"} or redis.spec.replication.policy == "Available":
        return ()
    wrong = f"is {mode}, so after a crash of the primary no member leads again by itself"
    right = (
        "use persistence.mode AOF, or replication.policy: Available (a member leads even if its data are older or "
        "gone), or let redisop reconcile --once decide"
    )
    return (Violation("spec.persistence.mode", wrong, right, "warning"),)
