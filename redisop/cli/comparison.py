"""What a pass would change in a cluster, as the API server itself would store it: `diff` and the detailed `status`.

Only reads, and asks with dry runs: no write, no action.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from redisop.api.v1 import Redis
from redisop.diff import Change, differences, gravest
from redisop.failures import Failure
from redisop.live.children import Children
from redisop.live.kube import Kube
from redisop.live.members import Members
from redisop.manifest import Manifest, key
from redisop.plan.actions import Action
from redisop.reconcile import Observed, Outcome, reconcile
from redisop.snapshot.vitals import Target, Vitals

_OF_THE_SERVER: Final = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid")
_HIDDEN: Final = "(hidden)"


@dataclass(frozen=True, slots=True)
class Compared:
    """One change, and the object before and after it as people may see it; None where there is none."""

    change: Change
    before: Manifest | None
    after: Manifest | None


@dataclass(frozen=True, slots=True)
class Look:
    """What a pass found and would do, what was observed for it, and what each member that was asked said."""

    outcome: Outcome
    observed: Observed
    vitals: tuple[Vitals, ...]


def look(redis: Redis, kube: Kube, fewest: int) -> Look:
    """Make a pass that does nothing; members are asked where there are `fewest` of them or more. Raises Failure."""
    children = Children(kube)
    members = _Asked(fewest)
    try:
        outcome = reconcile(redis, children, members, datetime.now(UTC), dry_run=True)
        return Look(outcome, children.observe(redis), members.vitals)
    finally:
        members.close()


class _Asked:
    """Members that can be asked and told nothing; keeps what they said."""

    def __init__(self, fewest: int) -> None:
        self.vitals: tuple[Vitals, ...] = ()
        self._fewest = fewest
        self._members = Members()

    def probe(self, targets: Iterable[Target], password: bytes | None) -> tuple[Vitals, ...]:
        wanted = list(targets)
        if len(wanted) >= self._fewest:
            self.vitals = self._members.probe(wanted, password)
        return self.vitals

    def perform(self, action: Action) -> str | None:
        raise AssertionError(f"a look does nothing, and not {action}")

    def close(self) -> None:
        self._members.close()


def compare(changes: Sequence[Change], observed: Observed, kube: Kube) -> tuple[list[Compared], list[Failure]]:
    """Return each of `changes` as the API server would carry it out, and why it would refuse one."""
    live = {**observed.live, **{key(claim): claim for claim in observed.claims}}
    compared: list[Compared] = []
    failures: list[Failure] = []
    for change in changes:
        there = live.get(change.key)
        try:
            compared += _compared(change, there, kube)
        except Failure as failure:
            failures.append(failure)
            compared.append(Compared(change, shown(there), shown(change.manifest)))
    return compared, failures


def _compared(change: Change, there: Manifest | None, kube: Kube) -> list[Compared]:
    """Return the change as it really is, nothing when the API server only spells a value otherwise."""
    match change.verb, change.manifest:
        case "update", dict(manifest):
            would_be = kube.apply(manifest, force=True, dry_run=True).manifest
            found = differences(without_server_fields(would_be), there or {})
            real = replace(change, differences=found, consequence=gravest(one.consequence for one in found))
            return [Compared(real, shown(there), shown(would_be))] if found else []
        case "replace", dict(manifest):
            return [Compared(change, shown(there), shown(_made_anew(manifest, kube)))]
        case ("create", manifest) | ("delete", manifest):
            return [Compared(change, shown(there), shown(manifest))]
    return [Compared(change, shown(there), shown(there))]


def _made_anew(manifest: Manifest, kube: Kube) -> Manifest:
    """Return what the API server would make of an object whose name is still taken by the one that it replaces."""
    metadata = manifest["metadata"]
    would_be = kube.apply(manifest | {"metadata": metadata | {"name": f"{metadata['name']}-anew"}}, True, True).manifest
    return would_be | {"metadata": would_be["metadata"] | {"name": metadata["name"]}}


def shown(manifest: Manifest | None) -> Manifest | None:
    """Return the manifest without what only the server writes, and without the values of a Secret."""
    if manifest is None:
        return None
    shown = without_server_fields(manifest)
    if shown["kind"] == "Secret":
        shown |= {field: dict.fromkeys(shown[field], _HIDDEN) for field in ("data", "stringData") if field in shown}
    return shown


def without_server_fields(manifest: Manifest) -> Manifest:
    """Return the manifest without its status and without what only the server writes into its metadata."""
    shown = {field: value for field, value in manifest.items() if field != "status"}
    metadata = {field: value for field, value in manifest["metadata"].items() if field not in _OF_THE_SERVER}
    return shown | {"metadata": metadata}
