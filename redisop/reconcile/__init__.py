"""One pass over one `Redis`: observe, decide, act, tell. `reconcile` is the figure of the design in code.

It touches the world through the ports declared here and remembers nothing: kill it at any line and the next pass goes
on from what it finds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from redisop.api.defaults import TABLES
from redisop.api.derived import Derived, derive
from redisop.api.v1 import Redis
from redisop.diff import Change, diff
from redisop.failures import Failure
from redisop.layout import layout
from redisop.manifest import Key, Manifest
from redisop.plan import plan
from redisop.plan.actions import Action, Hold
from redisop.plan.volumes import claims_to_grow
from redisop.reconcile.facts import effective_spec, inputs_of
from redisop.reconcile.secret import password, secret_change, secret_key
from redisop.render import render, revision
from redisop.render.inputs import Inputs
from redisop.snapshot import Snapshot
from redisop.snapshot.vitals import Target, Vitals, target
from redisop.status import Pass, status


@dataclass(frozen=True, slots=True)
class Observed:
    """What the API server has of one `Redis`: its children by Key, its pods and claims.

    `pod_monitors` tells whether the cluster knows that kind.
    """

    live: Mapping[Key, Manifest]
    pods: tuple[Manifest, ...]
    claims: tuple[Manifest, ...]
    pod_monitors: bool


class Kube(Protocol):
    """The API server, as far as a pass needs it."""

    def observe(self, redis: Redis) -> Observed:
        """Return what exists; raises Failure."""

    def apply(self, change: Change, force: bool) -> None:
        """Carry out one change; raises Failure."""

    def write_status(self, redis: Redis, status: Mapping[str, Any]) -> None:
        """Write the status; raises Failure."""

    def fresh_password(self) -> str:
        """Return a password that nobody has used: 32 URL-safe characters."""


class Members(Protocol):
    """The Redis processes, as far as a pass needs them."""

    def probe(self, targets: Iterable[Target], password: bytes | None) -> tuple[Vitals, ...]:
        """Ask all of them at once."""

    def perform(self, action: Action) -> str | None:
        """Carry out one action; return None, or a sentence that says why it was not."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one pass did and said.

    `action` is what was done, `step` what is most urgent now; `settled` says that there is nothing left to wait for.
    """

    redis: Redis
    changes: tuple[Change, ...]
    action: Action | None
    step: Action | Hold | None
    holds: tuple[Hold, ...]
    failures: tuple[Failure, ...]
    refusals: tuple[str, ...]
    status: Mapping[str, Any]
    settled: bool


def reconcile(redis: Redis, kube: Kube, members: Members, now: datetime, dry_run: bool = False) -> Outcome:
    """Make one pass over `redis`, an object as the API server has it; with `dry_run` decide and do nothing.

    Raises Failure when the API server cannot be asked: nothing is known then, so nothing is done.
    """
    look = _look(redis, kube, members, now)
    if redis.spec.paused or redis.metadata.deletionTimestamp:
        return _tell(look, kube, (), (), (), dry_run)
    if dry_run:
        return _tell(look, kube, look.changes, (), (), dry_run)
    refusals = _perform(look, members)
    failures = _apply(look, kube)
    again = _look(redis, kube, members, now) if look.changes or look.action else look
    return _tell(again, kube, look.changes, failures, refusals, dry_run, look.action)


@dataclass(frozen=True, slots=True)
class _Look:
    """One look and what follows from it."""

    redis: Redis
    derived: Derived
    inputs: Inputs
    snapshot: Snapshot
    changes: tuple[Change, ...]
    step: Action | Hold | None
    holds: tuple[Hold, ...]

    @property
    def action(self) -> Action | None:
        """The step, when it is one to take."""
        return None if isinstance(self.step, Hold) else self.step


def _look(redis: Redis, kube: Kube, members: Members, now: datetime) -> _Look:
    meta = redis.metadata
    observed = kube.observe(redis)
    unasked = Snapshot(now, observed.live, observed.pods, observed.claims, ())
    first = inputs_of(redis, unasked, observed.pod_monitors)
    derived = derive(meta.name, redis.spec, TABLES[revision(redis.spec, first)])
    targets = [target(pod) for pod in observed.pods if "deletionTimestamp" not in pod["metadata"]]
    where = secret_key(redis, derived)
    secret = password(observed.live.get(where), derived.secret_key) if where else None
    vitals = members.probe(targets, secret) if targets else ()
    snapshot = Snapshot(now, observed.live, observed.pods, observed.claims, vitals)
    inputs = inputs_of(redis, snapshot, observed.pod_monitors)
    stateful_set = observed.live.get(Key("StatefulSet", meta.namespace, meta.name))
    spec, hold = effective_spec(redis.spec, inputs, stateful_set)
    changes = (
        *filter(None, [secret_change(redis, derived, observed.live, kube.fresh_password)]),
        *diff([*claims_to_grow(spec, snapshot), *render(meta, spec, inputs)], snapshot.objects(), meta.uid),
    )
    step = plan(spec, layout(meta, spec), inputs.primary, snapshot)
    return _Look(redis, derived, inputs, snapshot, changes, step, (hold,) if hold else ())


def _perform(look: _Look, members: Members) -> tuple[str, ...]:
    refusal = members.perform(look.action) if look.action else None
    return (refusal,) if refusal else ()


def _apply(look: _Look, kube: Kube) -> tuple[Failure, ...]:
    """Apply each change; one that is refused holds up only what would be wrong without it."""
    force = look.redis.spec.drift == "Correct"
    failures: list[Failure] = []
    for change in look.changes:
        if change.manifest is None and change.verb != "delete":
            continue
        try:
            kube.apply(change, force)
        except Failure as failure:
            failures.append(failure)
    return tuple(failures)


def _tell(
    look: _Look,
    kube: Kube,
    changes: tuple[Change, ...],
    failures: tuple[Failure, ...],
    refusals: tuple[str, ...],
    dry_run: bool,
    action: Action | None = None,
) -> Outcome:
    told = status(
        Pass(look.redis, look.derived, look.inputs, look.snapshot, look.changes, look.step, look.holds, failures)
    )
    if not dry_run and told != look.redis.status:
        kube.write_status(look.redis, told)
    settled = not failures and not refusals and told["phase"] in {"Running", "Hibernated", "Paused"}
    return Outcome(look.redis, changes, action, look.step, look.holds, failures, refusals, told, settled)
