"""`redisop diff`."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import click

from redisop.api.defaults import NEWEST
from redisop.cli import changes
from redisop.cli.cluster_options import Cluster, Selection, cluster_options, selection_options
from redisop.cli.comparison import Compared, compare, look, shown
from redisop.cli.errors import Attempt, as_data, attempt_each, code_of, complain
from redisop.cli.exit_codes import DONE, INVALID, PENDING, gravest
from redisop.cli.options import format_option
from redisop.cli.output import is_coloured, put, say
from redisop.cli.targets import Stored, Target, find, stored
from redisop.diff import Consequence
from redisop.failures import Failure
from redisop.live.kube import Kube
from redisop.manifest import Manifest, to_json, to_yaml

# With one member it is plain who leads. With more, that decides what the Services should select.
FEWEST_TO_ASK: Final = 2


@click.command()
@selection_options()
@click.option(
    "--defaults",
    type=click.Choice(["kept", "newest"]),
    default="kept",
    show_default=True,
    help="Compare under the table of defaults that an instance has, or under the newest.",
)
@click.option(
    "--force-conflicts", is_flag=True, help="As if fields of the document that others manage were taken over."
)
@cluster_options
@format_option("text", "json", "diff")
def command(selection: Selection, cluster: Cluster, defaults: str, force_conflicts: bool, output: str) -> int:
    """Show what `redisop reconcile` would change in a cluster, and what that does to the running Redis.

    With -f documents are compared with the cluster. Without, the objects that Redis objects in the cluster own are
    compared with what these ask for: one by NAME, or all of a namespace (-n, else that of the context), of all
    namespaces (-A), or with certain labels (-l). Nothing is written; the API server is asked with dry runs.

    \b
    Before a merge:
        redisop diff -f my-redis.yaml
    What a newer redisop would choose for an instance, if asked to:
        redisop diff my-redis --defaults newest

    \b
    Exit codes:
        0    nothing would change
        1    changes are pending
        2    the command was called wrongly
        3    a document is invalid, or asks for something that is refused
        4    the cluster refused, or could not be reached
        5    another field manager owns what the document sets
    """
    found = find(selection, cluster)
    attempts = attempt_each(
        found.targets, lambda target: _compared(target, found.client, defaults == "newest", force_conflicts)
    )
    for attempt in attempts:
        _say(attempt)
    if output == "json":
        put(to_json({"differences": [_as_data(attempt) for attempt in attempts]}))
    else:
        lines = _as_unified if output == "diff" else _as_text
        put("".join(f"{line}\n" for attempt in attempts for line in lines(attempt, is_coloured(sys.stdout))))
    return gravest([found.code, *map(_code, attempts)])


@dataclass(frozen=True, slots=True)
class _Comparison:
    """All that would change for one `Redis`, its own object first, and why the API server would refuse some of it."""

    compared: list[Compared]
    failures: list[Failure]
    paused: bool
    rendered_again: bool
    unasked: tuple[str, ...]


_Attempt: TypeAlias = Attempt[Target, _Comparison]


def _compared(target: Target, kube: Kube, newest: bool, force: bool) -> _Comparison:
    found = stored(target, kube, force, dry_run=True)
    redis = found.redis
    if newest:
        spec = redis.spec.model_copy(update={"defaultsRevision": NEWEST})
        redis = redis.model_copy(update={"spec": spec})
    seen = look(redis, kube, FEWEST_TO_ASK)
    compared, failures = compare(seen.outcome.changes, seen.observed, kube)
    unasked = tuple(member.sentence for member in seen.vitals if not member.answered)
    again = changes.rendered_again(redis.status, seen.outcome.changes)
    return _Comparison([*_of_object(found), *compared], failures, redis.spec.paused, again, unasked)


def _of_object(found: Stored) -> list[Compared]:
    return [Compared(found.change, shown(found.before), shown(found.after))] if found.change else []


def _code(attempt: _Attempt) -> int:
    if attempt.error or attempt.result is None:
        return code_of(attempt.error) if attempt.error else DONE
    codes = [INVALID if one.change.consequence is Consequence.REFUSED else PENDING for one in attempt.result.compared]
    return gravest([*codes, *map(code_of, attempt.result.failures)])


# -- in words and as JSON ---------------------------------------------------------------------------------------------


def _say(attempt: _Attempt) -> None:
    """Say on stderr what went wrong, and what the answer does not know."""
    if attempt.error:
        complain(attempt.error)
    if attempt.result is None:
        return
    for failure in attempt.result.failures:
        complain(failure)
    where = str(attempt.target.key)
    if attempt.result.paused:
        say("note", "it is paused, so nothing is done until spec.paused is false", where)
    if attempt.result.rendered_again:
        say("warning", changes.RENDERED_AGAIN, where)
    for sentence in attempt.result.unasked:
        say("note", sentence)


def _as_text(attempt: _Attempt, coloured: bool) -> Iterator[str]:
    if attempt.result is None:
        return
    if not attempt.result.compared:
        yield f"{attempt.target.key}: nothing to change"
        return
    yield f"{attempt.target.key}:"
    yield from changes.as_text((one.change for one in attempt.result.compared), coloured)


def _as_data(attempt: _Attempt) -> dict[str, Any]:
    data: dict[str, Any] = {"redis": attempt.target.key._asdict(), "exitCode": _code(attempt)}
    if attempt.error:
        return data | {"failures": as_data(attempt.error)}
    found = attempt.result
    assert found is not None, "an attempt has a result or an error"  # noqa: S101
    return data | {
        "changes": [changes.as_data(one.change) for one in found.compared],
        "failures": [one for failure in found.failures for one in as_data(failure)],
        "unasked": list(found.unasked),
    }


_LINE_COLOURS: Final = {"+": "green", "-": "red", "@": "cyan"}


def _as_unified(attempt: _Attempt, coloured: bool) -> Iterator[str]:
    """Yield a unified diff of the YAML of each object; what `patch` and review tools read."""
    for one in attempt.result.compared if attempt.result else ():
        change = one.change
        names = (
            f"live/{change.key}",
            f"wanted/{change.key}\t{change.consequence}: {changes.MEANINGS[change.consequence]}",
        )
        for line in difflib.unified_diff(_yaml(one.before), _yaml(one.after), *names, lineterm=""):
            colour = _LINE_COLOURS.get(line[0])
            yield click.style(line, fg=colour) if coloured and colour else line


def _yaml(manifest: Manifest | None) -> Sequence[str]:
    return to_yaml([manifest]).splitlines() if manifest else []
