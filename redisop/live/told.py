"""What there is to tell of one pass: everything that was done, failed, was refused or has to wait, each once.

Event, log line and metric are made of this, with the reasons that the conditions have, so that all say the same. What
lasts (a hold, a refusal, drift) is told when it begins: the conditions of the object say what was known before. Pure,
and no value of a Secret is in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from redisop.api.violation import Violation
from redisop.diff import Change
from redisop.failures import (
    AlreadyExists,
    Failure,
    NotConfigured,
    OutOfTime,
    Stale,
    Unauthorized,
    Unavailable,
    Unreachable,
    Untrusted,
)
from redisop.manifest import Manifest
from redisop.plan.actions import Action, Configure, Follow, Hold, Promote, Recreate
from redisop.reconcile import Outcome
from redisop.status.conditions import LONGEST_MESSAGE
from redisop.status.rejected import message_of_violations

INVALID: Final = "Invalid"
DONE: Final = {"create": "Created", "update": "Updated", "replace": "Replaced", "delete": "Deleted"}
_ACTED: Final[Mapping[type[Action], str]] = {
    Promote: "Promoted",
    Follow: "Following",
    Configure: "Configured",
    Recreate: "Recreated",
}
# These are about the API server or the way to it, and the same for every `Redis`, or are over with the next look.
_NOT_ABOUT_THE_REDIS: Final = (
    *(NotConfigured, Unreachable, Untrusted, Unavailable, OutOfTime, Unauthorized),
    *(Stale, AlreadyExists),
)


class Told(NamedTuple):
    """One thing to tell, in the words of an Event: `reason` is why, `action` what was done or tried, in CamelCase."""

    type: Literal["Normal", "Warning"]
    reason: str
    action: str
    note: str


def events_of(outcome: Outcome) -> list[Told]:
    """Return what a pass did, and what it could not do; nothing when all was as before."""
    return [
        *_creations(outcome),
        *_changes(outcome),
        *_actions(outcome),
        *_failures(outcome),
        *_refused_actions(outcome),
        *_holds(outcome),
        *_refused_changes(outcome),
        *_drift(outcome),
    ]


def events_of_failure(failure: Failure, action: str = "Reconcile") -> list[Told]:
    """Return what to tell of `failure`; nothing when it is not about this `Redis`: the log tells of it once."""
    if isinstance(failure, _NOT_ABOUT_THE_REDIS):
        return []
    return [Told("Warning", reason_of(failure), action, str(failure))]


def events_of_violations(document: Manifest, violations: Sequence[Violation]) -> list[Told]:
    """Return what to tell of a `Redis` on the API server that is not valid; nothing when its status says it already."""
    said = message_of_violations(violations)
    known = _condition(document.get("status"), "SpecAccepted")
    if known.get("status") == "False" and known.get("message") == said[:LONGEST_MESSAGE]:
        return []
    return [Told("Warning", INVALID, "Validate", said)]


def reason_of(failure: Failure) -> str:
    """Return the reason that a condition gives for `failure`."""
    return type(failure).__name__


def made(outcome: Outcome) -> list[Change]:
    """Return the changes that were carried out.

    Not those that failed, nor those that must wait for something else: these are pending with the same reason.
    """
    failed = {failure.key for failure in outcome.failures}
    pending = {(one["object"], one["reason"]) for one in outcome.status.get("pendingChanges", ())}
    return [
        change
        for change in outcome.changes
        if change.verb in DONE and change.key not in failed and (str(change.key), change.reason) not in pending
    ]


def sentence(change: Change) -> str:
    """Return what was done to an object, and why."""
    if change.verb == "create":
        return f"created {change.key}"
    return f"{DONE[change.verb].lower()} {change.key}: {change.reason}"


def holds(outcome: Outcome) -> list[Hold]:
    """Return all that has to wait."""
    return [*([outcome.step] if isinstance(outcome.step, Hold) else []), *outcome.holds]


# -- done -------------------------------------------------------------------------------------------------------------


def _creations(outcome: Outcome) -> Iterator[Told]:
    """A new `Redis` has nearly a dozen children: one sentence for them all."""
    created = [str(change.key) for change in made(outcome) if change.verb == "create"]
    if created:
        yield Told("Normal", DONE["create"], "Create", f"created {', '.join(created)}")


def _changes(outcome: Outcome) -> Iterator[Told]:
    for change in made(outcome):
        if change.verb != "create":
            yield Told("Normal", DONE[change.verb], change.verb.capitalize(), sentence(change))


def _actions(outcome: Outcome) -> Iterator[Told]:
    action = outcome.action
    if action and not outcome.refusals:
        yield Told("Normal", _ACTED[type(action)], type(action).__name__, f"{action} ({action.reason})")


# -- not done ---------------------------------------------------------------------------------------------------------


def _failures(outcome: Outcome) -> Iterator[Told]:
    tried = {change.key: change.verb.capitalize() for change in outcome.changes}
    for failure in outcome.failures:
        yield from events_of_failure(failure, tried.get(failure.key, "Reconcile") if failure.key else "Reconcile")


def _refused_actions(outcome: Outcome) -> Iterator[Told]:
    tried = type(outcome.action).__name__ if outcome.action else "Reconcile"
    for refusal in outcome.refusals:
        yield Told("Warning", "ActionRefused", tried, refusal)


def _holds(outcome: Outcome) -> Iterator[Told]:
    for hold in holds(outcome):
        if _is_new(outcome, "Held", hold.message):
            yield Told("Warning", hold.reason, "Hold", hold.message)


def _refused_changes(outcome: Outcome) -> Iterator[Told]:
    """Tell of what cannot be changed, and of objects of our children's names that belong to somebody else."""
    for change in _once(outcome, "refuse"):
        said = f"{change.key}: {change.reason}"
        if _is_new(outcome, "Stalled", said):
            yield Told("Warning", "Refused" if change.differences else "NameTaken", "Refuse", said)


def _drift(outcome: Outcome) -> Iterator[Told]:
    for change in _once(outcome, "leave"):
        owners = [f"{one.manager} owns {one.field} of {change.key}" for one in change.differences]
        if any(_is_new(outcome, "DriftDetected", said) for said in owners):
            yield Told("Warning", "OwnedByOthers", "Leave", "; ".join(owners))


def _once(outcome: Outcome, verb: str) -> Iterable[Change]:
    return {(change.key, change.reason): change for change in outcome.changes if change.verb == verb}.values()


def _is_new(outcome: Outcome, kind: str, said: str) -> bool:
    """Tell whether the condition of this kind did not say so before the pass; it may say only the beginning."""
    before, now = _condition(outcome.redis.status, kind), _condition(outcome.status, kind)
    if before.get("status") != "True":
        return True
    message: str = before["message"]
    return said not in message and message != now.get("message")


def _condition(status: Mapping[str, Any] | None, kind: str) -> Mapping[str, Any]:
    found: Iterable[Mapping[str, Any]] = (status or {}).get("conditions", ())
    return next((condition for condition in found if condition["type"] == kind), {})
