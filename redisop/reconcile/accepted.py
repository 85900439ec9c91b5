"""The part of a spec that can be carried out: what a cluster cannot follow stays as it is, and is refused by name.

The API server checks most of this when a document replaces another; it cannot when the `Redis` was deleted and made
anew beside volumes that stayed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from redisop import names
from redisop.api.rules import TRANSITIONS
from redisop.api.scalars import Quantity
from redisop.api.v1 import Redis, RedisSpec
from redisop.diff import Change, Consequence, Difference
from redisop.manifest import Key, Manifest
from redisop.plan.actions import Hold
from redisop.render.inputs import Inputs

Accepted = tuple[RedisSpec, tuple[Change, ...], tuple[Hold, ...]]


def accepted(redis: Redis, inputs: Inputs, stateful_set: Manifest | None) -> Accepted:
    """Return the spec to carry out, what of the user's is refused, and what has to wait."""
    spec, refused = _without_refused(redis, stateful_set)
    spec, hold = _with_the_primary(spec, inputs, stateful_set)
    return spec, (refused,) if refused else (), (hold,) if hold else ()


def _without_refused(redis: Redis, stateful_set: Manifest | None) -> tuple[RedisSpec, Change | None]:
    if stateful_set is None:
        return redis.spec, None
    before = redis.model_copy(update={"spec": _with_volumes_of(redis.spec, stateful_set)})
    violations = [violation for rule in TRANSITIONS for violation in rule.violations(redis, before)]
    if not violations:
        return redis.spec, None
    spec, found = redis.spec, []
    for path in dict.fromkeys(violation.path for violation in violations):
        take, put = _FIELDS[path]
        found.append(
            Difference(tuple(path.split(".")), str(take(before.spec)), str(take(redis.spec)), None, Consequence.REFUSED)
        )
        spec = put(spec, take(before.spec))
    reason = "; ".join(f"{violation.path} {violation.wrong}: {violation.right}" for violation in violations)
    which = Key(names.REDIS.kind, redis.metadata.namespace, redis.metadata.name)
    return spec, Change(which, "refuse", None, tuple(found), Consequence.REFUSED, reason)


def _with_volumes_of(spec: RedisSpec, stateful_set: Manifest) -> RedisSpec:
    """Return `spec` with the volumes that the StatefulSet has."""
    templates = stateful_set["spec"].get("volumeClaimTemplates", [])
    claim: Manifest = templates[0]["spec"] if templates else {"resources": {"requests": {"storage": "0"}}}
    sized = _put_storage(spec, Quantity.parse(claim["resources"]["requests"]["storage"]))
    # Without volumes there is no class that could change.
    return _put_class(sized, claim.get("storageClassName")) if templates else sized


def _put_storage(spec: RedisSpec, storage: Quantity) -> RedisSpec:
    return spec.model_copy(update={"storage": storage})


def _put_class(spec: RedisSpec, name: str | None) -> RedisSpec:
    persistence = spec.persistence.model_copy(update={"storageClassName": name})
    return spec.model_copy(update={"persistence": persistence})


_FIELDS: Final[dict[str, tuple[Callable[[RedisSpec], Any], Callable[[RedisSpec, Any], RedisSpec]]]] = {
    "spec.storage": (lambda spec: spec.storage, _put_storage),
    "spec.persistence.storageClassName": (lambda spec: spec.persistence.storageClassName, _put_class),
}


def _with_the_primary(spec: RedisSpec, inputs: Inputs, stateful_set: Manifest | None) -> tuple[RedisSpec, Hold | None]:
    """Return `spec` with so many members that the primary stays: it would be lost with its newest data."""
    if not 0 < spec.replicas <= inputs.primary:
        return spec, None
    running = stateful_set["spec"].get("replicas", 1) if stateful_set else 0
    kept = max(inputs.primary + 1, running)
    message = (
        f"going to {spec.replicas} members would remove the primary, ordinal {inputs.primary}; "
        f"make one of the first {spec.replicas} primary before"
    )
    return spec.model_copy(update={"replicas": kept}), Hold("PrimaryWouldGo", message)
