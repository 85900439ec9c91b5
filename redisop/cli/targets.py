"""From what was asked for on the command line to `Redis` objects as the API server has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

from redisop import names
from redisop.api.read import read
from redisop.api.rules import TRANSITIONS
from redisop.api.v1 import Redis
from redisop.api.violation import Violation
from redisop.cli.cluster_options import Cluster, Selection
from redisop.cli.errors import Unusable, code_of, complain
from redisop.cli.exit_codes import DONE
from redisop.cli.load import Finding, Loaded, in_namespace, load
from redisop.cli.output import say
from redisop.diff import Change, Consequence, differences
from redisop.failures import Failure, Invalid, NotFound
from redisop.live.kube import Kube, connect
from redisop.manifest import Key, Manifest, key


@dataclass(frozen=True, slots=True)
class Target:
    """One `Redis` that is meant: by a document, by its name alone, or found in the cluster (`live`)."""

    key: Key
    loaded: Loaded | None = None
    live: Manifest | None = None


@dataclass(frozen=True, slots=True)
class Targets:
    """All that are meant, the way to the cluster, and what to leave with for what could not be used."""

    kube: Kube | None
    targets: tuple[Target, ...]
    code: int

    @property
    def client(self) -> Kube:
        """The way to the cluster, which exists wherever there is a target."""
        assert self.kube is not None, "targets are found by asking a cluster"  # noqa: S101
        return self.kube


@dataclass(frozen=True, slots=True)
class Stored:
    """A `Redis` as the API server has it, or would have it.

    `change` is what its document changes, `before` and `after` are the object before and after that; `created` says
    that it was made just now.
    """

    redis: Redis
    change: Change | None
    before: Manifest | None
    after: Manifest
    created: bool = False


def find(selection: Selection, cluster: Cluster) -> Targets:
    """Return what `selection` means, having said what cannot be used."""
    found = load(selection.paths, selection.recursive, selection.namespace) if selection.paths else None
    if found and not found.loaded:
        for finding in found.findings:
            finding.say()
        return Targets(None, (), found.exit_code)
    try:
        kube = connect(cluster.kubeconfig, cluster.context, cluster.request_timeout)
        if found:
            in_namespace(found, kube.namespace)
            targets = tuple(Target(loaded.key, loaded) for loaded in found.loaded)
        else:
            targets = _in_cluster(selection, kube)
    except Failure as failure:
        complain(failure)
        return Targets(None, (), code_of(failure))
    for finding in found.findings if found else ():
        finding.say()
    return Targets(kube, targets, found.exit_code if found else DONE)


def _in_cluster(selection: Selection, kube: Kube) -> tuple[Target, ...]:
    namespace = None if selection.everywhere else selection.namespace or kube.namespace
    if selection.names:
        return tuple(Target(Key(names.REDIS.kind, namespace, name)) for name in dict.fromkeys(selection.names))
    try:
        found = kube.list(names.REDIS, namespace, selection.selector)
    except Invalid as failure:  # which only the selector can make it
        raise click.BadParameter("; ".join(map(str, failure.causes)), param_hint="-l") from None
    if not found:
        say("note", f"no Redis {f'in the namespace {namespace}' if namespace else 'in any namespace'} is meant by this")
    return tuple(Target(key(live), live=live) for live in found)


def stored(target: Target, kube: Kube, force: bool, dry_run: bool) -> Stored:
    """Return the `Redis` as the API server has it once the document, if it comes from one, is applied.

    Raises Failure and Unusable.
    """
    live = target.live or kube.get(target.key)
    if target.loaded:
        return _applied(target.loaded, live, kube, force, dry_run)
    if live is None:
        raise NotFound(target.key, "there is no such Redis; apply its document: redisop reconcile --once -f PATH")
    return Stored(_valid(live), None, live, live)


def _applied(loaded: Loaded, live: Manifest | None, kube: Kube, force: bool, dry_run: bool) -> Stored:
    _check_transition(loaded, live)
    manifest = as_sent(loaded.redis)
    change = _change(manifest, live)
    if change is None:
        assert live is not None, "what does not exist differs"  # noqa: S101
        return Stored(_valid(live), None, live, live)
    if live and live["metadata"].get("deletionTimestamp"):
        raise being_deleted(loaded.key)
    try:
        applied = kube.apply(manifest, force, dry_run)
    except Invalid as failure:
        raise _explained(failure) from None
    return Stored(_valid(applied.manifest), change, live, applied.manifest, applied.created)


def as_sent(redis: Redis) -> Manifest:
    """Return what a document says of a `Redis`, as the API server takes it: v1, and nothing that only a server writes.

    A field that is null in the document is one that it does not have.
    """
    meta = redis.metadata
    metadata: dict[str, Any] = {"name": meta.name, "namespace": meta.namespace}
    for field in ("labels", "annotations", "finalizers"):
        if value := getattr(meta, field):
            metadata[field] = list(value) if isinstance(value, tuple) else dict(value)
    spec: dict[str, Any] = redis.spec.model_dump(mode="json", exclude_unset=True, exclude_none=True, by_alias=True)
    return {"apiVersion": names.REDIS.api_version, "kind": names.REDIS.kind, "metadata": metadata, "spec": spec}


def _change(manifest: Manifest, live: Manifest | None) -> Change | None:
    which = key(manifest)
    if live is None:
        return Change(which, "create", manifest, (), Consequence.NONE, "does not exist")
    found = differences(manifest, live)
    reason = f"{len(found)} fields are not as in the document"
    return Change(which, "update", manifest, found, Consequence.NONE, reason) if found else None


def _check_transition(loaded: Loaded, live: Manifest | None) -> None:
    """Raise Unusable with the lines of the document when it asks for what a running Redis cannot become."""
    old = read(live).redis if live else None
    if old is None:
        return
    found = [violation for transition in TRANSITIONS for violation in transition.violations(loaded.redis, old)]
    if found:
        raise Unusable(loaded.finding(violation) for violation in found)


def _explained(failure: Invalid) -> Invalid:
    """Return the failure with advice that helps: the models know the document, so the API server knows too little."""
    assert failure.key is not None, "a refused object has a Key"  # noqa: S101
    if any("unknown field" in cause.message or "not declared in schema" in cause.message for cause in failure.causes):
        advice = "its CRD is older than this redisop: redisop crd | kubectl apply --server-side -f -"
        return Invalid(failure.key, failure.causes, advice)
    return failure


def _valid(live: Manifest) -> Redis:
    verdict = read(live)
    if verdict.redis is None:
        raise Unusable(_finding(key(live), violation) for violation in verdict.violations)
    return verdict.redis


def _finding(which: Key, violation: Violation) -> Finding:
    return Finding(violation.level, str(which), None, violation.path, violation.wrong, violation.right)


def being_deleted(which: Key) -> Failure:
    """Return what it means that a `Redis` is to be worked on while it is being deleted."""
    gone = f"kubectl wait --for=delete redis/{which.name} -n {which.namespace}"
    return Failure(which, f"it is being deleted; wait until it is gone ({gone}), then apply it again")
