"""`redisop status`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

import click

from redisop.api.crd import crd
from redisop.api.scalars import spell_bytes
from redisop.cli import changes
from redisop.cli.cluster_options import Cluster, Selection, cluster_options, selection_options
from redisop.cli.comparison import Look, look
from redisop.cli.errors import Attempt, attempt_each, code_of, complain
from redisop.cli.events import about, last_events, last_seen
from redisop.cli.exit_codes import gravest
from redisop.cli.options import format_option
from redisop.cli.output import is_coloured, put, say
from redisop.cli.targets import Target, find, stored
from redisop.failures import Failure, NotFound
from redisop.live.kube import Kube
from redisop.manifest import Manifest, to_json, to_yaml
from redisop.snapshot.vitals import Vitals


@click.command()
@selection_options(documents=False)
@cluster_options
@format_option("text", "wide", "json", "yaml")
def command(selection: Selection, cluster: Cluster, output: str) -> int:
    """Show how Redis objects in a cluster fare.

    All of a namespace (-n, else that of the context), of all namespaces (-A), with certain labels (-l), or some by
    NAME, one a line as `kubectl get rd` shows them. One NAME alone is shown in detail: looked at now, its members
    asked, with what the next pass would change and the last events.
    """
    found = find(selection, cluster)
    detailed = len(selection.names) == 1
    attempts = attempt_each(found.targets, lambda target: _shown(target, found.client, detailed))
    for attempt in attempts:
        _say(attempt)
    views = [attempt.result for attempt in attempts if attempt.result]
    put(_FORMATS[output](views, selection.everywhere))
    return gravest([found.code, *map(code_of, _errors(attempts))])


@dataclass(frozen=True, slots=True)
class _View:
    """One `Redis` as stored; for the detailed view with a look at it, its events, and why one of these is missing."""

    live: Manifest
    look: Look | None = None
    events: tuple[Manifest, ...] = ()
    missing: tuple[Exception, ...] = ()

    @property
    def status(self) -> dict[str, Any]:
        """The status as it is now, where there was a look, else as it was last written."""
        written = self.live.get("status") or {}
        return dict(self.look.outcome.status) if self.look else written


_Attempt: TypeAlias = Attempt[Target, _View]


def _errors(attempts: Iterable[_Attempt]) -> Iterator[Exception]:
    for attempt in attempts:
        yield from [attempt.error] if attempt.error else []
        yield from attempt.result.missing if attempt.result else ()


def _shown(target: Target, kube: Kube, detailed: bool) -> _View:
    live = target.live or kube.get(target.key)
    if live is None:
        raise NotFound(target.key, "there is no such Redis; list those that are there: redisop status -A")
    if not detailed:
        return _View(live)
    missing: list[Exception] = []
    seen: Look | None = None
    events: tuple[Manifest, ...] = ()
    try:
        seen = look(stored(Target(target.key, live=live), kube, force=False, dry_run=True).redis, kube, fewest=1)
    except Exception as error:
        missing.append(error)
    try:
        events = _events(live, seen, kube)
    except Failure as failure:
        missing.append(failure)
    return _View(live, seen, events, tuple(missing))


def _events(live: Manifest, seen: Look | None, kube: Kube) -> tuple[Manifest, ...]:
    """Return the last events about the object, its children, its pods and its claims, oldest first."""
    objects = [live, *([*seen.observed.live.values(), *seen.observed.pods, *seen.observed.claims] if seen else [])]
    uids = {manifest["metadata"]["uid"] for manifest in objects}
    return last_events(kube, live["metadata"]["namespace"], lambda event: event.get("regarding", {}).get("uid") in uids)


def _say(attempt: _Attempt) -> None:
    """Say on stderr what could not be shown."""
    if attempt.error:
        complain(attempt.error)
    if attempt.result is None:
        return
    for error in attempt.result.missing:
        complain(error)
    if attempt.result.look is None and attempt.result.missing:
        say("note", "so this is what was last written into its status", str(attempt.target.key))
    for member in attempt.result.look.vitals if attempt.result.look else ():
        if not member.answered:
            say("note", member.sentence)


# -- the table --------------------------------------------------------------------------------------------------------


def _table(views: Sequence[_View], everywhere: bool, wide: bool) -> Iterator[str]:
    columns = [column for column in _columns() if wide or not column.get("priority")]
    head = [*(["Namespace"] if everywhere else []), "Name", *(column["name"] for column in columns)]
    rows = [[_cell(view, column) for column in columns] for view in views]
    for row, view in zip(rows, views, strict=True):
        metadata = view.live["metadata"]
        row[:0] = [*([metadata["namespace"]] if everywhere else []), metadata["name"]]
    yield from _aligned([[title.upper() for title in head], *rows])


def _columns() -> list[dict[str, Any]]:
    """Return the columns of `kubectl get rd`, as the CRD lists them."""
    columns: list[dict[str, Any]] = crd()["spec"]["versions"][0]["additionalPrinterColumns"]
    return columns


def _cell(view: _View, column: dict[str, Any]) -> str:
    value: Any = view.live
    for step in column["jsonPath"].removeprefix(".").split("."):
        value = (value or {}).get(step)
    if value is None:
        return ""
    return _age(value) if column["type"] == "date" else str(value)


def _age(since: str) -> str:
    """Return how long ago that was, as kubectl rounds it."""
    seconds = max(0, int((datetime.now(UTC) - datetime.fromisoformat(since)).total_seconds()))
    units = ((86400, "d"), (3600, "h"), (60, "m"))
    return next((f"{seconds // size}{unit}" for size, unit in units if seconds >= 2 * size), f"{seconds}s")


def _aligned(rows: Sequence[Sequence[str]], indent: str = "") -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield indent + "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


# -- the detailed view ------------------------------------------------------------------------------------------------


def _details(view: _View) -> Iterator[str]:
    metadata, status = view.live["metadata"], view.status
    yield f"Redis/{metadata['namespace']}/{metadata['name']}: {status.get('phase', 'Pending')}"
    yield f"  {status.get('message', 'nobody has looked at it yet: redisop reconcile --once ' + metadata['name'])}"
    facts = [[name, value] for name, fact in _FACTS if (value := fact(view, status))]
    yield from _aligned(facts, "  ") if facts else ()
    for title, section in _SECTIONS:
        rows = list(section(view))
        if rows:
            yield f"\n{title}"
            yield from rows


_FACTS: Final[tuple[tuple[str, Callable[[_View, dict[str, Any]], str]], ...]] = (
    ("mode", lambda view, status: status.get("mode", "")),
    ("image", lambda view, status: status.get("image", "")),
    ("memory", lambda view, status: str(view.live["spec"].get("memory", ""))),
    ("defaults", lambda view, status: f"revision {status['defaultsRevision']}" if "defaultsRevision" in status else ""),
    ("primary at", lambda view, status: status.get("endpoints", {}).get("primary", "")),
    ("read at", lambda view, status: status.get("endpoints", {}).get("read", "")),
    ("age", lambda view, status: _age(view.live["metadata"]["creationTimestamp"])),
)


def _members(view: _View) -> Iterable[str]:
    members = view.status.get("members", [])
    vitals = {member.pod: member for member in view.look.vitals} if view.look else {}
    rows = [_member(member, vitals.get(member["name"])) for member in members]
    return _aligned([["NAME", "ROLE", "READY", "LINK", "MEMORY", "KEYS", "NODE"], *rows], "  ") if rows else ()


def _member(member: dict[str, Any], said: Vitals | None) -> list[str]:
    link = "syncing" if member.get("sync") else member.get("link", "")
    ready = "yes" if member.get("ready") else "no"
    return [member["name"], member.get("role", ""), ready, link, *_fill(said), member.get("node", "")]


def _fill(said: Vitals | None) -> tuple[str, str]:
    """Return how much memory a member uses, and of how much, and how many keys it has."""
    if said is None or said.used_memory is None:
        return "", ""
    most = f" of {spell_bytes(said.maxmemory)}" if said.maxmemory else ""
    return f"{said.used_memory / 2**20:.1f}Mi{most}", "" if said.keys is None else str(said.keys)


def _volumes(view: _View) -> Iterable[str]:
    claims = view.look.observed.claims if view.look else ()
    rows = [_volume(claim) for claim in claims]
    return _aligned([["NAME", "PHASE", "REQUESTED", "ACTUAL", "CLASS"], *rows], "  ") if rows else ()


def _volume(claim: Manifest) -> list[str]:
    spec, status = claim["spec"], claim.get("status", {})
    return [
        claim["metadata"]["name"],
        status.get("phase", ""),
        spec["resources"]["requests"]["storage"],
        status.get("capacity", {}).get("storage", ""),
        spec.get("storageClassName", ""),
    ]


def _conditions(view: _View) -> Iterable[str]:
    rows = [
        [each["type"], each["status"], _age(each["lastTransitionTime"]), each["reason"], each["message"]]
        for each in view.status.get("conditions", [])
    ]
    return _aligned([["TYPE", "STATUS", "SINCE", "REASON", "MESSAGE"], *rows], "  ") if rows else ()


def _pending(view: _View) -> Iterable[str]:
    if view.look:
        yield from changes.as_text(view.look.outcome.changes, is_coloured(sys.stdout))
        return
    for change in view.status.get("pendingChanges", []):
        yield f"  {change['object']} ({change['consequence']}): {change['reason']}"


def _last_events(view: _View) -> Iterable[str]:
    rows = [
        [_age(last_seen(event)), event.get("type", ""), event.get("reason", ""), about(event), event.get("note", "")]
        for event in view.events
    ]
    return _aligned([["AGE", "TYPE", "REASON", "OBJECT", "NOTE"], *rows], "  ") if rows else ()


_SECTIONS: Final[tuple[tuple[str, Callable[[_View], Iterable[str]]], ...]] = (
    ("Members", _members),
    ("Volumes", _volumes),
    ("Conditions", _conditions),
    ("Pending changes", _pending),
    ("Last events", _last_events),
)


# -- formats ----------------------------------------------------------------------------------------------------------


def _as_text(views: Sequence[_View], everywhere: bool, wide: bool = False) -> str:
    if len(views) == 1 and (views[0].look or views[0].missing):
        return "".join(f"{line}\n" for line in _details(views[0]))
    return "".join(f"{line}\n" for line in _table(views, everywhere, wide)) if views else ""


def _as_data(view: _View) -> dict[str, Any]:
    metadata = view.live["metadata"]
    data = {"kind": "Redis", "namespace": metadata["namespace"], "name": metadata["name"], "status": view.status}
    if view.look is None:
        return data
    return data | {
        "memory": {member.pod: member.used_memory for member in view.look.vitals if member.used_memory is not None},
        "volumes": [dict(zip(_VOLUME_FIELDS, _volume(claim), strict=True)) for claim in view.look.observed.claims],
        "changes": [changes.as_data(change) for change in view.look.outcome.changes],
        "unasked": [member.sentence for member in view.look.vitals if not member.answered],
        "events": [
            {"time": last_seen(event), "object": about(event)}
            | {field: event[field] for field in ("type", "reason", "note") if field in event}
            for event in view.events
        ],
    }


_VOLUME_FIELDS: Final = ("name", "phase", "requested", "actual", "storageClass")


def _listed(views: Sequence[_View]) -> dict[str, Any]:
    return {"redises": [_as_data(view) for view in views]}


_FORMATS: Final[dict[str, Callable[[Sequence[_View], bool], str]]] = {
    "text": _as_text,
    "wide": lambda views, everywhere: _as_text(views, everywhere, wide=True),
    "json": lambda views, everywhere: to_json(_listed(views)),
    "yaml": lambda views, everywhere: to_yaml([_listed(views)]),
}
