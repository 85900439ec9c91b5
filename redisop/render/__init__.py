"""From a `Redis` to its manifests: `render`, and the table of children it goes through.

Pure: no clock, file, network, environment or random number. The same arguments give the same bytes on any machine.
"""

from __future__ import annotations

from collections.abc import Callable

from redisop import names
from redisop.api.defaults import NEWEST, TABLES
from redisop.api.derived import Derived, derive
from redisop.api.meta import Meta
from redisop.api.v1 import RedisSpec
from redisop.manifest import Manifest
from redisop.render.config_map import config_map
from redisop.render.disruption_budget import disruption_budget
from redisop.render.inputs import Inputs
from redisop.render.network_policy import network_policy
from redisop.render.owner import owner_reference
from redisop.render.pod_monitor import pod_monitor
from redisop.render.service_account import service_account
from redisop.render.services import headless_service, primary_service, read_service
from redisop.render.stateful_set import stateful_set

Child = Callable[[Meta, RedisSpec, Derived, Inputs], Manifest | None]

# In an order in which each prefix is safe to have applied alone: what pods mount and what protects them comes first.
CHILDREN: tuple[Child, ...] = (
    service_account,
    config_map,
    headless_service,
    primary_service,
    read_service,
    disruption_budget,
    network_policy,
    stateful_set,
    pod_monitor,
)


def render(meta: Meta, spec: RedisSpec, inputs: Inputs = Inputs()) -> list[Manifest]:  # noqa: B008 - frozen
    """Return the manifests that should exist for one `Redis`, in an order that `kubectl apply` can use as it is.

    Raises ValueError when `inputs` name a primary that is not among the members: a Service that selects nobody would
    look healthy and serve nothing.
    """
    _check_primary(meta, spec, inputs)
    derived = derive(meta.name, spec, TABLES[revision(spec, inputs)])
    children = (child(meta, spec, derived, inputs) for child in CHILDREN)
    return [_stamp(manifest, meta, spec, inputs) for manifest in children if manifest is not None]


def revision(spec: RedisSpec, inputs: Inputs) -> int:
    """Return the table of defaults to follow: the spec's choice, else that of the live object, else the newest."""
    return spec.defaultsRevision or inputs.defaultsRevision or NEWEST


def _check_primary(meta: Meta, spec: RedisSpec, inputs: Inputs) -> None:
    # With no pods wanted the primary of the time before is kept, so that it leads again when the instance wakes up.
    if spec.replicas and not 0 <= inputs.primary < spec.replicas:
        last = names.pod(meta.name, spec.replicas - 1)
        raise ValueError(f"no member has ordinal {inputs.primary}: the last one is {last}")


def _stamp(manifest: Manifest, meta: Meta, spec: RedisSpec, inputs: Inputs) -> Manifest:
    """Put on what every child carries: name, namespace, labels, inherited keys and the owner."""
    own = manifest["metadata"]
    inherit = spec.metadata.inherit
    annotations = _chosen(meta.annotations, inherit.annotations) | own.get("annotations", {})
    metadata: Manifest = {"name": own["name"]}
    if meta.namespace is not None:
        metadata["namespace"] = meta.namespace
    metadata["labels"] = _chosen(meta.labels, inherit.labels) | own.get("labels", {}) | names.labels(meta.name)
    if annotations:
        metadata["annotations"] = annotations
    if inputs.owner_uid is not None:
        metadata["ownerReferences"] = [owner_reference(meta.name, inputs.owner_uid)]
    manifest["metadata"] = metadata
    return manifest


def _chosen(values: dict[str, str], keys: tuple[str, ...]) -> dict[str, str]:
    return {key: values[key] for key in keys if key in values}
