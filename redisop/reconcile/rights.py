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


def rules() -> list[Manifest]:
    """Return the rules, one a kind."""
    children = [_rule(kind, kind.plural, _OTHERWISE.get(kind.kind, _CHILD)) for kind in names.KINDS]
    return [
        _rule(names.REDIS, names.REDIS.plural, ["get", "list", "patch"]),
        _rule(names.REDIS, f"{names.REDIS.plural}/status", ["patch"]),
        *children,
        _rule(names.POD, names.POD.plural, ["list", "watch", "delete"]),
        _rule(names.CLAIM, names.CLAIM.plural, ["list", "patch"]),
    ]


def _rule(kind: names.Kind, resource: str, verbs: list[str]) -> Manifest:
    return {"apiGroups": [kind.group], "resources": [resource], "verbs": verbs}
