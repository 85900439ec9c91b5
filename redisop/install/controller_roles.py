"""What the controller may do: what it looks after in all namespaces or in some, and the Lease in its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from redisop.install.options import NAME, RBAC, Options, metadata
from redisop.install.service_account import subject
from redisop.manifest import Manifest
from redisop.reconcile.rights import controller_rules, lease_rules

LEASE_ROLE: Final = f"{NAME}-lease"


def controller_roles(options: Options) -> list[Manifest]:
    """Return roles and bindings. With namespaces to look after no right reaches beyond them."""
    places = options.watch_namespaces or (None,)
    looking_after = [each for place in places for each in _granted(NAME, place, controller_rules(), options)]
    return [*looking_after, *_granted(LEASE_ROLE, options.namespace, lease_rules(), options)]


def _granted(name: str, namespace: str | None, rules: list[Manifest], options: Options) -> Iterable[Manifest]:
    scope = "Cluster" if namespace is None else ""
    role, binding = {"apiVersion": f"{RBAC}/v1", "kind": f"{scope}Role"}, {"apiVersion": f"{RBAC}/v1"}
    yield role | {"metadata": metadata(name, namespace), "rules": rules}
    yield binding | {
        "kind": f"{scope}RoleBinding",
        "metadata": metadata(name, namespace),
        "roleRef": {"apiGroup": RBAC, "kind": role["kind"], "name": name},
        "subjects": [subject(options)],
    }
