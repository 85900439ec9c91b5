"""`redisop reconcile`."""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import click

from redisop.cli import changes
from redisop.cli.cluster_options import Cluster, Selection, cluster_options, duration_option, selection_options
from redisop.cli.exit_codes import CLUSTER, FAULT_OF_REDISOP, INVALID, PENDING, code_of, gravest
from redisop.cli.options import format_option
from redisop.cli.output import is_coloured, put, say, say_fault
from redisop.cli.pool import each
from redisop.cli.progress import Progress, progress
from redisop.cli.targets import Stored, Target, Unusable, being_deleted, complain, find, stored
from redisop.diff import Change, Consequence
from redisop.failures import Failure
from redisop.live.kube import Kube
from redisop.live.once import Options, once
from redisop.manifest import to_json
from redisop.plan.actions import Action, Hold
from redisop.reconcile import Outcome

_DONE: Final = {"create": "created", "update": "updated", "replace": "replaced", "delete": "deleted"}


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
        raise click.UsageError("a controller that stays is not there yet: add --once, and run it again after changes")
    if not selection.says_something:
        raise click.UsageError("say which Redis are meant: -f PATH, a NAME, -n NAMESPACE, -l QUERY or -A")
    found = find(selection, cluster)
    options = Options(dry_run, not no_wait, timeout)
    with progress() as shown:
        runs = each(found.targets, lambda target: _run(target, found.kube, options, force_conflicts, shown))
    for run in runs:
        run.say()
    if output == "json":
        put(to_json({"outcomes": [run.as_data() for run in runs]}))
    else:
        put("".join(f"{line}\n" for run in runs for line in run.as_text()))
    return gravest([found.code, *(run.code for run in runs)])


@dataclass(slots=True)
class _Run:
    """What became of one `Redis`: an outcome, or why there is none."""

    target: Target
    options: Options
    document: Change | None = None
    actions: list[Action] = field(default_factory=list)
    outcome: Outcome | None = None
    error: Exception | None = None

    @property
    def code(self) -> int:
        """The exit code, were this the only one."""
        if self.error or self.outcome is None:
            return _code_of_error(self.error)
        codes = [code_of(failure) for failure in self.outcome.failures]
        codes += [code for judge, code in _JUDGEMENTS if judge(self, self.outcome)]
        return gravest(codes)

    def say(self) -> None:
        """Say on stderr what went wrong."""
        if self.error:
            complain(self.error)
        if self.outcome is None:
            return
        for failure in self.outcome.failures:
            complain(failure)
        for text in self.outcome.refusals:
            say("warning", text, str(self.target.key))
        for hold in _holds(self.outcome):
            say("warning", f"{hold.reason}: {hold.message}", str(self.target.key))
        for change in _refused(self.outcome):
            say("error", f"{change.key}: {change.reason}; it stays as it is", str(self.target.key))
        if _deleting(self, self.outcome):
            complain(being_deleted(self.target.key))
        elif _not_ready(self, self.outcome):
            say("error", f"not Ready within {self.options.seconds:g} s: {_message(self.outcome)}", str(self.target.key))

    def as_text(self) -> Iterator[str]:
        """Yield the lines for stdout."""
        if self.outcome is None:
            return
        if self.options.dry_run:
            yield from _plan_as_text(self, self.outcome)
            return
        status = self.outcome.status
        count = len(_done(self.outcome)) + (self.document is not None)
        did = f"{count} change{'s' if count != 1 else ''}" if count else "nothing to do"
        yield f"{self.target.key} is {status['phase']}: {_message(self.outcome)} ({did})"

    def as_data(self) -> dict[str, Any]:
        """Return it as JSON can hold it; no value of a Secret is in it."""
        data: dict[str, Any] = {"redis": self.target.key._asdict(), "exitCode": self.code}
        if self.outcome is None:
            return data | {"failures": _errors_as_data(self.error)}
        made = [self.document] if self.document else []
        return data | {
            "settled": self.outcome.settled,
            "changes": [changes.as_data(change) for change in [*made, *self.outcome.changes]],
            "actions": [{"action": str(action), "reason": action.reason} for action in _actions(self, self.outcome)],
            "holds": [{"reason": hold.reason, "message": hold.message} for hold in _holds(self.outcome)],
            "refusals": list(self.outcome.refusals),
            "failures": [one for failure in self.outcome.failures for one in _errors_as_data(failure)],
            "status": dict(self.outcome.status),
        }


def _run(target: Target, kube: Kube | None, options: Options, force: bool, shown: Progress) -> _Run:
    """Bring one `Redis` to what it asks for. Raises nothing: whatever goes wrong stands in what it returns."""
    assert kube is not None, "there are no targets without a cluster"  # noqa: S101
    run = _Run(target, options)
    end = time.monotonic() + options.seconds
    try:
        found = stored(target, kube.until(end), force, options.dry_run)
        run.document = found.change
        if found.change and not options.dry_run:
            shown.happened(target.key, _DONE[found.change.verb])
        run.outcome = _once(run, found, kube, end, shown)
    except (Failure, Unusable) as error:
        run.error = error
    except Exception as error:
        run.error = error
        if os.environ.get("REDISOP_TRACEBACK"):
            traceback.print_exception(error)
        say_fault(error)
    finally:
        shown.ended(target.key)
    return run


def _once(run: _Run, found: Stored, kube: Kube, end: float, shown: Progress) -> Outcome:
    key = run.target.key

    def heard(outcome: Outcome) -> None:
        if run.options.dry_run:
            return
        for change in _done(outcome):
            why = f" ({change.reason})" if change.verb != "create" else ""
            shown.happened(key, f"{_DONE[change.verb]} {change.key}{why}")
        if outcome.action and not outcome.refusals:
            run.actions.append(outcome.action)
            shown.happened(key, f"{outcome.action} ({outcome.action.reason})")
        shown.waits(key, _message(outcome))

    # What is on its way out does not become Ready.
    wait = run.options.wait and not found.redis.metadata.deletionTimestamp
    left = max(end - time.monotonic(), 0.0)
    return once(found.redis, found.created, kube, Options(run.options.dry_run, wait, left), heard)


# -- what an outcome comes to -----------------------------------------------------------------------------------------


def _done(outcome: Outcome) -> list[Change]:
    failed = {failure.key for failure in outcome.failures}
    return [change for change in outcome.changes if change.verb in _DONE and change.key not in failed]


def _refused(outcome: Outcome) -> list[Change]:
    refused = [change for change in outcome.changes if change.consequence is Consequence.REFUSED]
    return list({(change.key, change.reason): change for change in refused}.values())


def _holds(outcome: Outcome) -> list[Hold]:
    return [*([outcome.step] if isinstance(outcome.step, Hold) else []), *outcome.holds]


def _actions(run: _Run, outcome: Outcome) -> list[Action]:
    planned = outcome.step is not None and not isinstance(outcome.step, Hold)
    return [outcome.step] if run.options.dry_run and planned else run.actions  # type: ignore[list-item]


def _message(outcome: Outcome) -> str:
    return str(outcome.status["message"])


def _is_pending(run: _Run, outcome: Outcome) -> bool:
    return run.options.dry_run and bool(run.document or _done(outcome) or _actions(run, outcome))


def _not_ready(run: _Run, outcome: Outcome) -> bool:
    if run.options.dry_run or outcome.settled or outcome.failures or _refused(outcome):
        return False
    return run.options.wait or bool(outcome.refusals)


def _deleting(run: _Run, outcome: Outcome) -> bool:
    return outcome.redis.metadata.deletionTimestamp is not None


_JUDGEMENTS: Final = (
    (_deleting, CLUSTER),
    (lambda run, outcome: bool(_refused(outcome)), INVALID),
    (_is_pending, PENDING),
    (_not_ready, PENDING),
)


def _code_of_error(error: Exception | None) -> int:
    match error:
        case Failure():
            return code_of(error)
        case Unusable():
            return INVALID
    return FAULT_OF_REDISOP


def _errors_as_data(error: Exception | None) -> list[dict[str, Any]]:
    match error:
        case Unusable(findings=findings):
            return [finding.as_data() for finding in findings]
        case Failure():
            where = error.key._asdict() if error.key else None
            return [{"object": where, "reason": type(error).__name__, "message": str(error)}]
    return [{"object": None, "reason": type(error).__name__, "message": str(error)}]


def _plan_as_text(run: _Run, outcome: Outcome) -> Iterator[str]:
    coloured = is_coloured(sys.stdout)
    pending = [*([run.document] if run.document else []), *outcome.changes]
    actions = _actions(run, outcome)
    if not pending and not actions:
        yield f"{run.target.key}: nothing to change"
        return
    yield f"{run.target.key}:"
    yield from changes.as_text(pending, coloured)
    for action in actions:
        yield f"  {action} ({action.reason})"
