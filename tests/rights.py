"""A ServiceAccount that may do what the loop's requests need, and nothing else."""

from redisop.manifest import Manifest
from redisop.reconcile.rights import rules

RBAC = "rbac.authorization.k8s.io"


def account(namespace: str, name: str, without: tuple[str, str] | None = None) -> list[Manifest]:
    """Return the account, its Role and what binds them; `without` is a resource and the one verb that is not given."""
    metadata = {"name": name, "namespace": namespace}
    granted = [rule | {"verbs": _but(without, rule["resources"][0], rule["verbs"])} for rule in rules()]
    role = {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": metadata}
    binding = {"apiVersion": f"{RBAC}/v1", "kind": "RoleBinding", "metadata": metadata}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata},
        role | {"rules": [rule for rule in granted if rule["verbs"]]},
        binding
        | {
            "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": name},
            "subjects": [{"kind": "ServiceAccount", **metadata}],
        },
    ]


def _but(without: tuple[str, str] | None, resource: str, verbs: list[str]) -> list[str]:
    return [verb for verb in verbs if (resource, verb) != without]
