"""One pass over one `Redis` of which a store knows everything: for a controller, which comes back.

Reads nothing from the API server but a Secret that the user names, which no watch may see. When it is to be looked at
again is decided here; who waits until then is not its business.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Protocol

from redisop import names
from redisop.api.read import read
from redisop.api.v1 import Redis
from redisop.api.violation import Violation
from redisop.live.children import Children, status_to_apply
from redisop.live.kube import KINDS, Kube
from redisop.live.store import Name, Store
from redisop.manifest import Key, Manifest
from redisop.plan.actions import Hold
from redisop.reconcile import Members, Observed, Outcome, reconcile
from redisop.status.rejected import rejected

# Seconds until the next look. A member that starts says so to nobody but those who ask it.
SOON: Final = 0.25
PATIENT: Final = 15.0
# Longer than the boot script waits after our connection was last used: it acts where a pass may not.
LEFT_ALONE: Final = 15.0
# A Secret that the user names is asked for, as watching it would need rights to all Secrets.
NAMED_SECRET: Final = 60.0
# All is well and every change is told by a watch: only against what nobody has thought of.
AT_REST: Final = 600.0


@dataclass(frozen=True, slots=True)
class Visit:
    """What came of one pass: an `outcome`, or the `violations` of a spec that cannot be followed, or neither (gone).

    `after` is in how many seconds to look again, None for not before something changes.
    """

    redis: Manifest | None
    outcome: Outcome | None = None
    violations: tuple[Violation, ...] = ()
    after: float | None = None

    @property
    def failed(self) -> bool:
        """Whether it is to be tried again, at growing distances."""
        return self.outcome is not None and bool(self.outcome.failures or self.outcome.refusals or self.outcome.stuck)


class Connections(Members, Protocol):
    """The members of one `Redis`, over connections that stand between passes."""

    def close(self) -> None:
        """End all connections and forget what was said over them."""


class Visitor:
    """Makes passes over any `Redis`, one at a time over each; threads may share it.

    `connect` returns what the members of one `Redis` are asked through.
    """

    def __init__(
        self, store: Store, kube: Kube, pod_monitors: Callable[[], bool], connect: Callable[[], Connections]
    ) -> None:
        self._store, self._kube, self._pod_monitors, self._connect = store, kube, pod_monitors, connect
        self._members: dict[Name, Connections] = {}
        self._unsettled: dict[Name, int] = {}

    def visit(self, of: Name, deadline: float) -> Visit:
        """Make one pass; no request is sent after `deadline` (monotonic seconds). Raises Failure."""
        objects = self._store.objects(of)
        live = objects.pop(Key(names.REDIS.kind, of.namespace, of.name), None)
        if live is None:
            self.forget(of)
            return Visit(None)
        kube = self._kube.until(deadline)
        verdict = read(live)
        if verdict.redis is None:
            self._reject(of, kube, live, verdict.violations)
            return Visit(live, violations=verdict.violations)
        redis = verdict.redis
        members = self._members.get(of) or self._members.setdefault(of, self._connect())
        children = Children(kube, known=self._observed(redis, objects, kube), keep=self._keep)
        outcome = reconcile(redis, children, members, datetime.now(UTC))
        children.flush()
        if isinstance(outcome.step, Hold):
            members.close()
        self._unsettled[of] = 0 if outcome.settled or outcome.action else self._unsettled.get(of, 0) + 1
        return Visit(live, outcome, after=self._after(of, outcome))

    def forget(self, of: Name) -> None:
        """Close the connections to the members of a `Redis` that is gone."""
        members = self._members.pop(of, None)
        self._unsettled.pop(of, None)
        if members:
            members.close()

    def _observed(self, redis: Redis, objects: dict[Key, Manifest], kube: Kube) -> Observed:
        pods = [manifest for which, manifest in objects.items() if which.kind == names.POD.kind]
        claims = [manifest for which, manifest in objects.items() if which.kind == names.CLAIM.kind]
        apart = {names.POD.kind, names.CLAIM.kind}
        live = {which: manifest for which, manifest in objects.items() if which.kind not in apart}
        if redis.spec.auth.enabled and redis.spec.auth.secretRef is not None:
            which = Key("Secret", redis.metadata.namespace, redis.spec.auth.secretRef.name)
            if (secret := kube.get(which)) is not None:
                live[which] = secret
        return Observed(live, tuple(pods), tuple(claims), self._pod_monitors())

    def _keep(self, manifest: Manifest) -> None:
        self._store.put(KINDS[manifest["kind"]], manifest)

    def _reject(self, of: Name, kube: Kube, live: Manifest, violations: tuple[Violation, ...]) -> None:
        status = rejected(live, violations, datetime.now(UTC))
        if status != live.get("status"):
            self._keep(kube.apply_status(status_to_apply(of.namespace, of.name, status)))

    def _after(self, of: Name, outcome: Outcome) -> float | None:
        if outcome.redis.metadata.deletionTimestamp:
            return None
        if isinstance(outcome.step, Hold):
            return LEFT_ALONE
        if not outcome.settled:
            # Not at rest: roles may be due as soon as a process listens, of which no watch tells.
            return float(min(SOON * 2 ** min(self._unsettled[of] // 4, 10), PATIENT))
        if outcome.redis.spec.auth.enabled and outcome.redis.spec.auth.secretRef is not None:
            return NAMED_SECRET
        return AT_REST * random.uniform(0.5, 1.0)  # noqa: S311
