"""The controller's own manifests: `install`, and the table of parts that it goes through.

Pure, and the same bytes for the same options. What the controller may do comes from `reconcile.rights`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from redisop.install.controller_roles import controller_roles
from redisop.install.definition import definition
from redisop.install.deletion_policies import deletion_policies
from redisop.install.deployment import deployment
from redisop.install.disruption_budget import disruption_budget
from redisop.install.namespace import namespace
from redisop.install.options import Options
from redisop.install.pod_monitor import pod_monitor
from redisop.install.service import service
from redisop.install.service_account import service_account
from redisop.install.user_roles import user_roles
from redisop.manifest import Manifest

Part = Callable[[Options], list[Manifest]]

# What may be left out: an administrator of the cluster has to apply it, which need not be who installs the rest.
FOR_ADMINISTRATORS: Final[Mapping[str, Part]] = {
    "namespace": namespace,
    "crd": definition,
    "user-roles": user_roles,
    "deletion-policies": deletion_policies,
}
# Rights come before who needs them at its start.
_PARTS: Final[tuple[Part, ...]] = (
    service_account,
    controller_roles,
    service,
    disruption_budget,
    deployment,
    pod_monitor,
)


def install(options: Options) -> list[Manifest]:
    """Return the manifests, in an order that `kubectl apply` can use as it is."""
    first = [part for name, part in FOR_ADMINISTRATORS.items() if name not in options.without]
    return [manifest for part in (*first, *_PARTS) for manifest in part(options)]
