"""`redisop reconcile`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import click

from redisop import names
from redisop.cli import changes
from redisop.cli.cluster_options import Cluster, Selection, cluster_options, duration_option, selection_options
from redisop.cli.errors import Attempt, as_data, attempt_each, code_of, complain
from redisop.cli.events import about, last_events
from redisop.cli.exit_codes import CLUSTER, DONE, INVALID, OWNED_BY_OTHERS, PENDING, gravest
from redisop.cli.options import format_option
from redisop.cli.output import Level, is_coloured, put, say
from redisop.cli.progress import Progress, progress
from redisop.cli.targets import Target, being_deleted, find, stored
from redisop.diff import Change, Consequence
from redisop.failures import Failure
from redisop.live.kube import Kube
from redisop.live.once import Options, once
from redisop.live.told import holds
from redisop.manifest import Manifest, to_json
from redisop.plan.actions import Action, Hold
from redisop.reconcile import Outcome
from redisop.snapshot.health import health

_MADE: Final = {"create": "created", "update": "updated", "replace": "replaced", "delete": "deleted"}


@click.command()
@selection_options()
@click.option("--once", "is_once", is_flag=True, help="Make it so and end.")
@click.option("--dry-run", is_flag=True, help="Say what would be done and do nothing.")
@duration_option("--timeout", "5m", "The longest time for each Redis.")
@click.option("--no-wait", is_flag=True, help="Do what can be done now; do not wait until Redis is Ready.")
@click.option("--force-conflicts", is_flag=True, help="Take over fields of the document that others manage.")
@cluster_options
@format_option("text", "json")
def command(
    selection: Selection,
    cluster: Cluster,
    is_once: bool,
    dry_run: bool,
    timeout: float,
    no_wait: bool,
    force_conflicts: bool,
    output: str,
) -> int:
    """Make a cluster agree with Redis documents, once, and say how it went.

    With -f the documents are applied first. Without, the Redis objects that are in the cluster are meant: by NAME, or
    all of a namespace (-n), of all namespaces (-A), or with certain labels (-l). A second run finds nothing to do and
    writes nothing. It may be interrupted at any time; the next run goes on from there.

    \b
    In a CI job:
        redisop reconcile --once -f my-redis.yaml
    See before what it would do, and what that does to the running Redis:
        redisop reconcile --once -f my-redis.yaml --dry-run

    \b
    Exit codes:
        0    done and Ready; --dry-run: nothing to change
        1    not Ready within --timeout; --dry-run: changes are pending
        2    the command was called wrongly
        3    a document is invalid, or asks for something that is refused
        4    the cluster refused, or could not be reached
        5    another field manager owns what was to be set
        130  interrupted
    """
    if not is_once:
        raise click.UsageError("add --once; what stays, and acts whenever something changes, is redisop run")
    if not selection.says_something:
        raise click.UsageError("say which Redis are meant: -f PATH, a NAME, -n NAMESPACE, -l QUERY or -A")
    found = find(selection, cluster)
    options = Options(dry_run, not no_wait, timeout)
    with progress() as shown:
        attempts = attempt_each(
            found.targets, lambda target: _run(target, found.client, options, force_conflicts, shown)
        )
    for attempt in attempts:
        _say(attempt)
    if output == "json":
        put(to_json({"outcomes": [_as_data(attempt) for attempt in attempts]}))
    else:
        put("".join(f"{line}\n" for attempt in attempts for line in _as_text(attempt)))
    return gravest([found.code, *map(_code, attempts)])


@dataclass(frozen=True, slots=True)
class _Run:
    """What was done for one `Redis`: to the object itself (`document`), to its members, and how the last pass went.

    `seconds` is how long that took, `events` what the cluster says of pods that do not come.
    """

    options: Options
    seconds: float
    document: Change | None
    actions: list[Action]
    outcome: Outcome
    events: tuple[Manifest, ...]


_Attempt: TypeAlias = Attempt[Target, _Run]


def _run(target: Target, kube: Kube, options: Options, force: bool, shown: Progress) -> _Run:
    """Bring one `Redis` to what it asks for; raises Failure and Unusable."""
    begun = time.monotonic()
    end = begun + options.seconds
    actions: list[Action] = []

    def heard(outcome: Outcome) -> None:
        if options.dry_run:
            return
        for change in _made(outcome):
            shown.happened(target.key, f"{_MADE[change.verb]} {change.key}{changes.in_brief(change)}")
        # While one member does not answer the others are told the same again.
        again = bool(actions) and str(actions[-1]) == str(outcome.action)
        if outcome.action and not outcome.refusals and not again:
            actions.append(outcome.action)
            shown.happened(target.key, f"{outcome.action} ({outcome.action.reason})")
        if not outcome.settled:
            shown.waits(target.key, _message(outcome))

    try:
        found = stored(target, kube.until(end), force, options.dry_run)
        if found.change and not options.dry_run:
            shown.happened(target.key, _MADE[found.change.verb])
        # What is on its way out does not become Ready.
        wait = options.wait and not found.redis.metadata.deletionTimestamp
        left = Options(options.dry_run, wait, max(end - time.monotonic(), 0.0))
        outcome = once(found.redis, found.created, kube, left, heard)
        events = _events(target, outcome, kube.until(end)) if left.wait and not options.dry_run else ()
        return _Run(options, time.monotonic() - begun, found.change, actions, outcome, events)
    finally:
        shown.ended(target.key)


def _events(target: Target, outcome: Outcome, kube: Kube) -> tuple[Manifest, ...]:
    """Return why what is waited for does not come, where only an Event says it; nothing if that is hidden from us."""
    waits_for = next(each["reason"] for each in outcome.status["conditions"] if each["type"] == "Ready")
    if outcome.failures or waits_for not in _MUTE:
        return ()
    try:
        is_about = _MUTE[waits_for](target, kube)
        found = last_events(
            kube, target.key.namespace, lambda event: event.get("type") == "Warning" and is_about(event)
        )
    except Failure:
        return ()
    return found[-1:]


def _of_the_stateful_set(target: Target, kube: Kube) -> Callable[[Manifest], bool]:
    return lambda event: about(event) == f"StatefulSet/{target.key.name}"


def _of_a_starting_pod(target: Target, kube: Kube) -> Callable[[Manifest], bool]:
    pods = kube.list(names.POD, target.key.namespace, names.selector(target.key.name))
    uids = {pod["metadata"]["uid"] for pod in pods if health(pod).reason == "ContainerCreating"}
    return lambda event: event["regarding"].get("uid") in uids


# Missing pods, and volumes that cannot be mounted: no status says why.
_MUTE: Final[dict[str, Callable[[Target, Kube], Callable[[Manifest], bool]]]] = {
    "Scaling": _of_the_stateful_set,
    "ContainerCreating": _of_a_starting_pod,
}


# -- what it comes to -------------------------------------------------------------------------------------------------


def _code(attempt: _Attempt) -> int:
    run = attempt.result
    if run is None:
        return code_of(attempt.error) if attempt.error else DONE
    judged = [code for judge, code in _JUDGEMENTS if judge(run)]
    return gravest([*judged, *map(code_of, run.outcome.failures)])


def _is_being_deleted(run: _Run) -> bool:
    return run.outcome.redis.metadata.deletionTimestamp is not None


def _refused(run: _Run) -> list[Change]:
    refused = [change for change in run.outcome.changes if change.consequence is Consequence.REFUSED]
    return list({(change.key, change.reason): change for change in refused}.values())


def _left(run: _Run) -> list[Change]:
    """Return what others own and `drift: Report` leaves to them, each once."""
    left = [change for change in run.outcome.changes if change.verb == "leave"]
    return list({(change.key, change.reason): change for change in left}.values())


def _is_pending(run: _Run) -> bool:
    return run.options.dry_run and bool(run.document or _made(run.outcome) or _actions(run))


def _is_not_ready(run: _Run) -> bool:
    if run.options.dry_run or run.outcome.settled or run.outcome.failures or _is_being_deleted(run):
        return False
    return run.options.wait or bool(run.outcome.refusals)


_JUDGEMENTS: Final[tuple[tuple[Callable[[_Run], object], int], ...]] = (
    (_is_being_deleted, CLUSTER),
    (_refused, INVALID),
    (_left, OWNED_BY_OTHERS),
    (_is_pending, PENDING),
    (_is_not_ready, PENDING),
)


def _made(outcome: Outcome) -> list[Change]:
    failed = {failure.key for failure in outcome.failures}
    return [change for change in outcome.changes if change.verb in _MADE and change.key not in failed]


def _actions(run: _Run) -> list[Action]:
    """Return what was done to the members, in a dry run what would be done first."""
    if not run.options.dry_run:
        return run.actions
    step = run.outcome.step
    return [] if step is None or isinstance(step, Hold) else [step]


def _message(outcome: Outcome) -> str:
    return str(outcome.status["message"])


# -- in words and as JSON ---------------------------------------------------------------------------------------------


def _say(attempt: _Attempt) -> None:
    """Say on stderr what went wrong."""
    if attempt.error:
        complain(attempt.error)
    run, where = attempt.result, str(attempt.target.key)
    if run is None:
        return
    for failure in run.outcome.failures:
        complain(failure)
    for refusal in run.outcome.refusals:
        say("warning", refusal, where)
    if changes.rendered_again(run.outcome.redis.status, run.outcome.changes):
        say("warning", changes.RENDERED_AGAIN, where)
    for hold in holds(run.outcome):
        say("warning", f"{hold.reason}: {hold.message}", where)
    for level, condition in _worth_knowing(run):
        say(level, f"{condition['reason']}: {condition['message']}", where)
    for change in _refused(run):
        say("error", f"{change.key}: {change.reason}; it is left as it is", where)
    for change in _left(run):
        owners = ", ".join(sorted({str(one.manager) for one in change.differences}))
        say("error", f"{change.key}: {change.reason}; {owners} set it, and drift is Report", where)
    if _is_being_deleted(run):
        complain(being_deleted(attempt.target.key))
    for event in run.events:
        say("note", f"{event.get('reason')}: {event.get('note')}", where)
    if _is_not_ready(run):
        say("error", f"not Ready after {run.seconds:.0f} s: {_message(run.outcome)}", where)


_WORTH_KNOWING: Final[dict[tuple[str, str], Level]] = {
    ("SecretsInSync", "False"): "warning",
    ("UpdatePending", "True"): "note",
    ("VolumeResizing", "True"): "note",
}


def _worth_knowing(run: _Run) -> Iterator[tuple[Level, dict[str, Any]]]:
    """Yield the conditions that nothing else on stderr tells of."""
    will_be_made = run.options.dry_run and any(change.key.kind == "Secret" for change in _made(run.outcome))
    for condition in run.outcome.status["conditions"]:
        level = _WORTH_KNOWING.get((condition["type"], condition["status"]))
        if level and not (will_be_made and condition["type"] == "SecretsInSync"):
            yield level, condition


def _as_text(attempt: _Attempt) -> Iterator[str]:
    run = attempt.result
    if run is None:
        return
    if run.options.dry_run:
        yield from _plan_as_text(attempt.target, run)
        return
    count = len(_made(run.outcome)) + (run.document is not None)
    did = f"{count} change{'s' if count != 1 else ''}" if count else "nothing to do"
    yield f"{attempt.target.key} is {run.outcome.status['phase']}: {_message(run.outcome)} ({did})"


def _plan_as_text(target: Target, run: _Run) -> Iterator[str]:
    pending = [*([run.document] if run.document else []), *run.outcome.changes]
    if not pending and not _actions(run):
        yield f"{target.key}: nothing to change"
        return
    yield f"{target.key}:"
    yield from changes.as_text(pending, is_coloured(sys.stdout))
    for action in _actions(run):
        yield f"  {action} ({action.reason})"


def _as_data(attempt: _Attempt) -> dict[str, Any]:
    """Return it as JSON can hold it; no value of a Secret is in it."""
    data: dict[str, Any] = {"redis": attempt.target.key._asdict(), "exitCode": _code(attempt)}
    if attempt.error:
        return data | {"failures": as_data(attempt.error)}
    run = attempt.result
    assert run is not None, "an attempt has a result or an error"  # noqa: S101
    document = [run.document] if run.document else []
    return data | {
        "settled": run.outcome.settled,
        "changes": [changes.as_data(change) for change in [*document, *run.outcome.changes]],
        "actions": [{"action": str(action), "reason": action.reason} for action in _actions(run)],
        "holds": [{"reason": hold.reason, "message": hold.message} for hold in holds(run.outcome)],
        "refusals": list(run.outcome.refusals),
        "failures": [one for failure in run.outcome.failures for one in as_data(failure)],
        "status": dict(run.outcome.status),
    }
