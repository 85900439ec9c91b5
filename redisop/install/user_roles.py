"""What users may do with `Redis` objects: added to the roles `view` and `edit` that every cluster has.

Kubernetes adds what is in `edit` to `admin`, so there is no third.
"""

from __future__ import annotations

from typing import Final

from redisop import names
from redisop.install.options import NAME, RBAC, Options, metadata
from redisop.manifest import Manifest

_REDIS: Final = names.REDIS.plural


def user_roles(options: Options) -> list[Manifest]:
    """Return the two ClusterRoles. A status is the controller's alone to write."""
    return [
        _added_to(
            "view",
            [_rule([_REDIS], ["get", "list", "watch"]), _rule([f"{_REDIS}/status", f"{_REDIS}/scale"], ["get"])],
        ),
        _added_to(
            "edit",
            [
                _rule([_REDIS], ["create", "update", "patch", "delete", "deletecollection"]),
                _rule([f"{_REDIS}/scale"], ["update", "patch"]),
            ],
        ),
    ]


def _added_to(role: str, rules: list[Manifest]) -> Manifest:
    label = {f"{RBAC}/aggregate-to-{role}": "true"}
    head = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": metadata(f"{NAME}-{role}", labels=label)}
    return head | {"rules": rules}


def _rule(resources: list[str], verbs: list[str]) -> Manifest:
    return {"apiGroups": [names.REDIS.group], "resources": resources, "verbs": verbs}
