"""One pass over one `Redis`: observe, decide, act, tell. `reconcile` is the figure of the design in code.

It touches the world through the ports declared here and remembers nothing: kill it at any line and the next pass goes
on from what it finds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, Protocol

from redisop import names
from redisop.api.defaults import NEWEST, TABLES
from redisop.api.derived import Derived, derive
from redisop.api.v1 import Redis
from redisop.diff import Change, Consequence, diff, foreign, without
from redisop.failures import Failure
from redisop.layout import layout
from redisop.manifest import Key, Manifest
from redisop.plan import plan
from redisop.plan.actions import Action, Configure, Hold, MemberAction, Recreate
from redisop.plan.settings import settings, unasked
from redisop.plan.volumes import claims_to_grow
from redisop.plan.wanted import Wanted
from redisop.reconcile.accepted import accepted
from redisop.reconcile.facts import inputs_of
from redisop.reconcile.protection import finalizers
from redisop.reconcile.secret import password, secret_change, secret_key
from redisop.render import render, revision
from redisop.render.inputs import Inputs
from redisop.render.redis_conf import redis_conf
from redisop.snapshot import Snapshot
from redisop.snapshot.vitals import Target, Vitals, target
from redisop.status import Pass, status, stuck


@dataclass(frozen=True, slots=True)
class Observed:
    """What the API server has of one `Redis`: its children by Key, its pods and claims.

    `pod_monitors` tells whether the cluster knows that kind.
    """

    live: Mapping[Key, Manifest] = field(repr=False)  # Secrets are among them
    pods: tuple[Manifest, ...]
    claims: tuple[Manifest, ...]
    pod_monitors: bool


class Kube(Protocol):
    """The API server, as far as a pass needs it."""

    def observe(self, redis: Redis) -> Observed:
        """Return what exists; raises Failure."""

    def has(self, change: Change, may_be_new: bool) -> bool:
        """Tell whether the API server only spells otherwise what `change`, an update, is about; raises Failure.

        `may_be_new`: something else is wanted than before, so that asking it is most likely in vain.
        """

    def apply(self, change: Change) -> None:
        """Carry out one change; raises Failure."""

    def recreate(self, action: Recreate) -> str | None:
        """Delete pods; return None, or a sentence that names those that have changed; raises Failure."""

    def set_finalizers(self, redis: Redis, finalizers: tuple[str, ...]) -> Redis:
        """Give the `Redis` these finalizers and return it as it is then; raises Failure."""

    def write_status(self, redis: Redis, status: Mapping[str, Any]) -> None:
        """Have the `Redis` say `status`, which is what it says already more often than not; raises Failure."""

    def fresh_password(self) -> str:
        """Return a password that nobody has used: 32 URL-safe characters."""


class Members(Protocol):
    """The Redis processes, as far as a pass needs them."""

    def probe(self, targets: Iterable[Target], password: bytes | None) -> tuple[Vitals, ...]:
        """Ask all of them at once."""

    def perform(self, action: MemberAction) -> str | None:
        """Carry out one action; return None, or a sentence that says why it was not."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one pass did and said.

    `action` is what was done, `step` what is most urgent now. `settled` says that all is as wanted, `stuck` that
    waiting does not help.
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
    stuck: bool


def reconcile(redis: Redis, kube: Kube, members: Members, now: datetime, dry_run: bool = False) -> Outcome:
    """Make one pass over `redis`, an object as the API server has it; with `dry_run` decide and do nothing.

    Raises Failure when the API server cannot be asked, or what is there is not known to this redisop: nothing is done.
    """
    if dry_run:
        look = _look(redis, kube, members, now)
        return _tell(look, kube, look.changes, (), (), dry_run)
    redis, unprotected = _protect(redis, kube)
    look = _look(redis, kube, members, now)
    if look.at_rest:
        return _tell(look, kube, (), unprotected, (), dry_run)
    refusals, undone = _perform(look, kube, members)
    failures = (*unprotected, *undone, *_apply(look, kube, configured=not refusals))
    again = _look(redis, kube, members, now) if look.changes or look.action else look
    return _tell(again, kube, look.changes, failures, refusals, dry_run, None if undone else look.action)


@dataclass(frozen=True, slots=True)
class _Look:
    """One look and what follows from it."""

    redis: Redis
    derived: Derived
    inputs: Inputs
    snapshot: Snapshot
    changes: tuple[Change, ...]
    unset: bool
    unasked: tuple[Vitals, ...]
    step: Action | Hold | None
    holds: tuple[Hold, ...]

    @property
    def action(self) -> Action | None:
        """The step, when it is one to take."""
        return None if isinstance(self.step, Hold) else self.step

    @property
    def at_rest(self) -> bool:
        """Nothing is to be done, by order."""
        return self.redis.spec.paused or self.redis.metadata.deletionTimestamp is not None


def _protect(redis: Redis, kube: Kube) -> tuple[Redis, tuple[Failure, ...]]:
    """Give the `Redis` the finalizer that it should have; also while it is paused: it guards the object, not Redis."""
    wanted = finalizers(redis)
    if wanted is None:
        return redis, ()
    try:
        return kube.set_finalizers(redis, wanted), ()
    except Failure as failure:
        return redis, (failure,)


def _look(redis: Redis, kube: Kube, members: Members, now: datetime) -> _Look:
    meta = redis.metadata
    observed = kube.observe(redis)
    own = {which: manifest for which, manifest in observed.live.items() if _tells(redis, manifest)}
    objects = Snapshot(now, own, observed.pods, observed.claims, ())
    derived = _derived(redis, inputs_of(redis, objects, observed.pod_monitors))
    snapshot = replace(objects, vitals=_probe(redis, derived, observed, members))
    inputs = inputs_of(redis, snapshot, observed.pod_monitors)
    stateful_set = own.get(Key("StatefulSet", meta.namespace, meta.name))
    spec, refused, holds = accepted(redis, inputs, stateful_set)
    desired = [*claims_to_grow(spec, snapshot), *render(meta, spec, inputs)]
    changes = [
        *filter(None, [secret_change(redis, derived, observed.live, kube.fresh_password)]),
        *_real(redis, kube, diff(desired, {**snapshot.objects(), **observed.live}, meta.uid, spec.drift == "Correct")),
    ]
    file = redis_conf(spec, derive(meta.name, spec, derived.defaults))
    wanted = Wanted(spec, layout(meta, spec), inputs.primary, derived.version, file)
    holds += (_NO_POD_MONITORS,) if spec.monitoring.podMonitor.enabled and not observed.pod_monitors else ()
    unset = settings(wanted, snapshot) is not None
    waiting, step = unasked(wanted, snapshot), plan(wanted, snapshot)
    return _Look(redis, derived, inputs, snapshot, (*refused, *changes), unset, waiting, step, holds)


def _tells(redis: Redis, manifest: Manifest) -> bool:
    """Tell whether `manifest` says something about `redis`: an object of somebody else does not, but for its Secret."""
    ours = {"metadata": {"labels": names.selector(redis.metadata.name)}}
    return manifest["kind"] == "Secret" or foreign(manifest, ours, redis.metadata.uid) is None


def _derived(redis: Redis, inputs: Inputs) -> Derived:
    number = revision(redis.spec, inputs)
    if number not in TABLES:
        which = Key(names.REDIS.kind, redis.metadata.namespace, redis.metadata.name)
        known = f"and this redisop knows those up to {NEWEST}"
        advice = "use a newer redisop, or choose one with spec.defaultsRevision"
        raise Failure(which, f"it follows table {number} of defaults, {known}; {advice}")
    return derive(redis.metadata.name, redis.spec, TABLES[number])


def _probe(redis: Redis, derived: Derived, observed: Observed, members: Members) -> tuple[Vitals, ...]:
    targets = [target(pod) for pod in observed.pods if "deletionTimestamp" not in pod["metadata"]]
    where = secret_key(redis, derived)
    secret = password(observed.live.get(where), derived.secret_key) if where else None
    return members.probe(targets, secret) if targets else ()


def _real(redis: Redis, kube: Kube, changes: Iterable[Change]) -> Iterator[Change]:
    """Yield what is not only spelled otherwise by the API server."""
    may_be_new = (redis.status or {}).get("observedGeneration") != redis.metadata.generation
    for change in changes:
        if change.verb != "update" or not kube.has(change, may_be_new):
            yield change


def _perform(look: _Look, kube: Kube, members: Members) -> tuple[tuple[str, ...], tuple[Failure, ...]]:
    """Carry out the action, if there is one; return why not, as refusals or as failures."""
    try:
        match look.action:
            case None:
                refusal = None
            case Recreate() as action:
                refusal = kube.recreate(action)
            case action:
                refusal = members.perform(action)
    except Failure as failure:
        return (), (failure,)
    return (refusal,) if refusal else (), ()


def _apply(look: _Look, kube: Kube, configured: bool) -> tuple[Failure, ...]:
    """Apply each change; one that is refused holds up only what would be wrong without it."""
    held_back = set()
    if look.unasked or (look.unset and not (configured and isinstance(look.action, Configure))):
        held_back.add(Consequence.LIVE)  # members must run with a setting before the file says it
    failures: list[Failure] = []
    for change in look.changes:
        possible = _without(change, held_back)
        if possible is None or possible.verb in {"refuse", "leave"}:
            continue
        try:
            kube.apply(possible)
        except Failure as failure:
            failures.append(failure)
            if change.key.kind == names.CLAIM.kind:
                held_back.add(Consequence.VOLUME)  # a template must not promise what the claims did not get
    return tuple(failures)


def _without(change: Change, consequences: Iterable[Consequence]) -> Change | None:
    for consequence in consequences:
        if change.key.kind == names.CLAIM.kind:
            return change
        found = without(change, consequence)
        if found is None:
            return None
        change = found
    return change


def _tell(
    look: _Look,
    kube: Kube,
    changes: tuple[Change, ...],
    failures: tuple[Failure, ...],
    refusals: tuple[str, ...],
    dry_run: bool,
    action: Action | None = None,
) -> Outcome:
    done = Pass(
        look.redis,
        look.derived,
        look.inputs,
        look.snapshot,
        look.changes,
        look.unasked,
        look.step,
        look.holds,
        failures,
        refusals,
    )
    told = status(done)
    if not dry_run:
        kube.write_status(look.redis, told)
    settled = not failures and not refusals and told["phase"] in {"Running", "Hibernated", "Paused"}
    return Outcome(
        look.redis,
        changes,
        action,
        look.step,
        look.holds,
        failures,
        refusals,
        told,
        settled,
        bool(failures or stuck(done)),
    )


_NO_POD_MONITORS: Final = Hold(
    "PodMonitorUnknown",
    "the cluster does not know the kind PodMonitor, so none is made; install the Prometheus operator's CRDs, or set "
    "spec.monitoring.podMonitor.enabled to false",
)
