"""What the loop may do, as the rules of a Role: exactly what its requests need, and nothing more."""

from __future__ import annotations

from typing import Final

from redisop import names
from redisop.manifest import Manifest

# A server-side apply of what does not exist is a patch and a create. Secrets are never listed nor deleted, and there is
# no document without a ConfigMap.
_CHILD: Final = ["get", "create", "patch", "delete"]
_OTHERWISE: Final = {
    "Secret": ["get", "create", "patch"],
    "ConfigMap": ["get", "create", "patch"],
    "Service": ["get", "list", "create", "patch", "delete"],
}
_WATCHED: Final = ["list", "watch"]


def rules() -> list[Manifest]:
    """Return the rules of one who comes once and asks for everything by name, one a kind."""
    children = [_rule(kind, kind.plural, _OTHERWISE.get(kind.kind, _CHILD)) for kind in names.KINDS]
    return [
        _rule(names.REDIS, names.REDIS.plural, ["get", "list", "patch"]),
        _rule(names.REDIS, f"{names.REDIS.plural}/status", ["patch"]),
        *children,
        _rule(names.POD, names.POD.plural, ["list", "watch", "delete"]),
        _rule(names.CLAIM, names.CLAIM.plural, ["list", "patch"]),
    ]


def controller_rules() -> list[Manifest]:
    """Return the rules of one who stays and watches, wherever it looks after `Redis` objects, one a kind.

    A watch of Secrets is one of all in a namespace: rights know nothing of labels.
    """
    children = [_rule(kind, kind.plural, [*_child(kind), *_WATCHED]) for kind in names.KINDS]
    return [
        _rule(names.REDIS, names.REDIS.plural, [*_WATCHED, "patch"]),
        _rule(names.REDIS, f"{names.REDIS.plural}/status", ["patch"]),
        *children,
        _rule(names.POD, names.POD.plural, [*_WATCHED, "delete"]),
        _rule(names.CLAIM, names.CLAIM.plural, [*_WATCHED, "get", "patch"]),
        _rule(names.EVENT, names.EVENT.plural, ["create", "patch"]),
    ]


def lease_rules() -> list[Manifest]:
    """Return the rules of a candidate for the lead, in the namespace of the Lease. What is created has no name yet."""
    held = _rule(names.LEASE, names.LEASE.plural, ["get", "patch"])
    return [_rule(names.LEASE, names.LEASE.plural, ["create"]), held | {"resourceNames": [names.LEASE_NAME]}]


def _child(kind: names.Kind) -> list[str]:
    return [verb for verb in _OTHERWISE.get(kind.kind, _CHILD) if verb not in _WATCHED]


def _rule(kind: names.Kind, resource: str, verbs: list[str]) -> Manifest:
    return {"apiGroups": [kind.group], "resources": [resource], "verbs": verbs}
