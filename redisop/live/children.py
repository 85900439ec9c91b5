"""The API server as one pass needs it: one look at what a `Redis` has, then only what was done to it since.

Asks for each kind once, remembers the answers, keeps them up to date with what its own writes returned and with a watch
on the pods. Every name is looked up, so that an object of somebody else is seen before anything is written over it.
"""

from __future__ import annotations

import queue
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from redisop import names
from redisop.api.derived import resolved_mode
from redisop.api.v1 import Redis
from redisop.diff import MISSING, Change, Difference, differences
from redisop.failures import AlreadyExists, Expired, Failure, Stale, UnknownKind, Unreachable
from redisop.live.kube import Kube, Watch
from redisop.manifest import Key, Manifest, key
from redisop.plan.actions import Recreate
from redisop.reconcile import Observed
from redisop.snapshot.health import growth

GONE_POLL: Final = 0.2
# So long a controller takes at most, as a rule, to see what was written.
CONTROLLER_POLL: Final = 0.5
WATCH_SECONDS: Final = 30
# A version that no object has: applied with it, an object can be created and nothing be changed.
NEVER: Final = "1"
# One name a kind, that of the Redis; Services have three and are listed.
_NAMED: Final[Mapping[str, Callable[[str], str]]] = {
    "ServiceAccount": str,
    "ConfigMap": names.config_map,
    "PodDisruptionBudget": str,
    "NetworkPolicy": str,
    "StatefulSet": str,
    "PodMonitor": str,
}
_SERVICE: Final = next(kind for kind in names.KINDS if kind.kind == "Service")
_OPTIONAL: Final = "PodMonitor"
# Kinds whose values the server stores as they are sent.
_VERBATIM: Final = {"ConfigMap", "PersistentVolumeClaim", "Secret"}
_MOVED_BY_CONTROLLERS: Final = {"PersistentVolumeClaim", "StatefulSet"}
_BOOK_KEEPING: Final = {"creationTimestamp", "generation", "managedFields", "resourceVersion", "uid"}

_Event: TypeAlias = "tuple[str, Sequence[Manifest]] | Failure"


class Children:
    """The children of one `Redis`.

    `created` says that the `Redis` itself was made just now. Nothing is looked up then: what is created never takes
    the place of something that exists, and shows it. Nor is it where somebody who watches gives what is `known`;
    `keep` gets every object as it is after a write.
    """

    def __init__(
        self,
        kube: Kube,
        created: bool = False,
        known: Observed | None = None,
        keep: Callable[[Manifest], object] = lambda manifest: None,
    ) -> None:
        self._kube = kube
        self._keep = keep
        self._created = created
        self._live: dict[Key, Manifest] | None = None
        self._pods: dict[str, Manifest] = {}
        self._pods_version = ""
        self._claims: tuple[Manifest, ...] | None = None
        self._pod_monitors = True
        self._as_wanted: dict[Key, tuple[str, Manifest]] = {}
        self._moved: set[Key] = set()
        self._closed = False
        self._watch: Watch | None = None
        self._told: tuple[Redis, Mapping[str, Any]] | None = None
        self._events: queue.SimpleQueue[_Event] | None = None
        if known is not None:
            self._live = dict(known.live)
            self._pods = {pod["metadata"]["name"]: pod for pod in known.pods}
            self._claims, self._pod_monitors = known.claims, known.pod_monitors

    def observe(self, redis: Redis) -> Observed:
        """Return what exists, as far as it is known by now; the first call asks for all of it."""
        if self._live is None:
            self._live = dict(self._looked_up(redis))
        return Observed(
            dict(self._live),
            _members(redis, self._pods.values(), names.pod),
            _members(redis, self._claims or (), names.claim),
            self._pod_monitors,
        )

    def has(self, change: Change, may_be_new: bool) -> bool:
        """Tell whether the API server has what `change` wants, in its own spelling; raises Failure.

        It is asked by a dry run, once for each version, and only where that is likely to be so.
        """
        live = self._known().get(change.key) or self._claim(change.key)
        if live is None or change.manifest is None:
            return False
        version = live["metadata"]["resourceVersion"]
        if self._as_wanted.get(change.key) == (version, change.manifest):
            return True
        if may_be_new or change.key.kind in _VERBATIM or not all(map(_may_be_spelling, change.differences)):
            return False
        would_be = self._kube.apply(_meant_for(change.manifest, live), force=True, dry_run=True).manifest
        if differences(_content(would_be), live):
            return False
        self._as_wanted[change.key] = (version, change.manifest)
        return True

    def apply(self, change: Change) -> None:
        """Carry out one change and remember what the server made of it; raises Failure.

        An object that turns out to be another than the one that was seen is looked at again, and left to the next look.
        """
        try:
            _CARRY_OUT[change.verb](self, change)
        except (Stale, AlreadyExists):
            self._look_again(change.key)
        except UnknownKind:
            if change.key.kind != _OPTIONAL:
                raise
            self._pod_monitors = False

    def recreate(self, action: Recreate) -> str | None:
        """Delete pods, each in the version that was seen; return a sentence about those that have changed meanwhile.

        The watch tells what became of either.
        """
        changed = []
        for pod in action.pods:
            metadata = pod["metadata"]
            try:
                self._kube.delete(key(pod), metadata["uid"], metadata["resourceVersion"])
            except Stale:
                changed.append(str(key(pod)))
            self._pods.pop(metadata["name"], None)
        return f"{', '.join(changed)} changed while it was looked at" if changed else None

    def set_finalizers(self, redis: Redis, finalizers: tuple[str, ...]) -> Redis:
        """Give the `Redis`, in the version that was read, these finalizers; raises Failure."""
        meta = redis.metadata
        changed = {"metadata": {"finalizers": list(finalizers), "resourceVersion": meta.resourceVersion}}
        patched = self._kube.patch(Key(names.REDIS.kind, meta.namespace, meta.name), changed)
        self._keep(patched)
        manifest = patched["metadata"]
        now = {
            "finalizers": tuple(manifest.get("finalizers", ())),
            "generation": manifest["generation"],
            "resourceVersion": manifest["resourceVersion"],
        }
        return redis.model_copy(update={"metadata": meta.model_copy(update=now)})

    def write_status(self, redis: Redis, status: Mapping[str, Any]) -> None:
        """Keep the status; `flush` writes the last one, so that a run tells once how it ended."""
        self._told = (redis, status)

    def flush(self) -> None:
        """Write the status that was told last, if it differs from what the object has; raises Failure."""
        if self._told is None:
            return
        (redis, status), self._told = self._told, None
        going = redis.metadata.deletionTimestamp is not None and not redis.metadata.finalizers
        if status == redis.status or going:
            return
        told = status_to_apply(redis.metadata.namespace, redis.metadata.name, status)
        self._keep(self._kube.apply_status(told))

    def fresh_password(self) -> str:
        """Return 32 URL-safe characters that nobody has used."""
        return secrets.token_urlsafe(24)

    def wait(self, redis: Redis, seconds: float) -> None:
        """Return when something happened to a pod, after `seconds` at the latest; raises Failure."""
        if self._events is None:
            self._events = queue.SimpleQueue()
            arguments = (redis, self._events, self._pods_version)
            name = f"watch {redis.metadata.name}"
            threading.Thread(target=self._follow, args=arguments, daemon=True, name=name).start()
        unseen = self._unseen_by_its_controller()
        try:
            self._take(self._events.get(timeout=min(seconds, CONTROLLER_POLL) if unseen else seconds))
            while True:  # what happened at the same time is seen in one go
                self._take(self._events.get_nowait())
        except queue.Empty:
            self._look_for_the_secret(redis)
            if self.growing:
                self._claims = tuple(self._kube.list(names.CLAIM, *_children_of(redis)))
        if unseen:
            self._look_again(unseen)

    @property
    def growing(self) -> bool:
        """Tell whether a volume is on its way to another size, of which no watch tells."""
        return any(growth(claim) for claim in self._claims or ())

    def complete(self, redis: Redis) -> bool:
        """Ask for what controllers made of this run's writes; tell whether there is anything to ask for.

        The claims of a new StatefulSet, and what its controller says of one that was changed.
        """
        if not (self._moved or self._claims is None):
            return False
        self._claims = tuple(self._kube.list(names.CLAIM, *_children_of(redis)))
        for which in self._moved - {key(claim) for claim in self._claims}:
            self._look_again(which)
        self._moved.clear()
        return True

    def close(self) -> None:
        """End the watch."""
        self._closed = True
        if self._watch:
            self._watch.end()

    # -- looking --------------------------------------------------------------------------------------------------

    def _looked_up(self, redis: Redis) -> Iterator[tuple[Key, Manifest]]:
        if not self._created:
            yield from self._all(redis)
        elif redis.spec.auth.enabled and redis.spec.auth.secretRef is not None:
            yield from self._one(_secret(redis))

    def _all(self, redis: Redis) -> Iterator[tuple[Key, Manifest]]:
        meta = redis.metadata
        for kind, name_of in _NAMED.items():
            yield from self._one(Key(kind, meta.namespace, name_of(meta.name)))
        if redis.spec.auth.enabled:
            yield from self._one(_secret(redis))
        services = {key(service): service for service in self._kube.list(_SERVICE, *_children_of(redis))}
        yield from services.items()
        for name in _services(redis):
            if (which := Key("Service", meta.namespace, name)) not in services:
                yield from self._one(which)
        pods = self._kube.list(names.POD, *_children_of(redis))
        self._pods, self._pods_version = {pod["metadata"]["name"]: pod for pod in pods}, pods.resource_version
        self._claims = tuple(self._kube.list(names.CLAIM, *_children_of(redis)))

    def _one(self, which: Key) -> Iterator[tuple[Key, Manifest]]:
        try:
            found = self._kube.get(which)
        except UnknownKind:
            if which.kind != _OPTIONAL:
                raise
            self._pod_monitors = False
            return
        if found is not None:
            yield which, found

    def _look_again(self, which: Key) -> None:
        found = self._kube.get(which)
        if found is not None:
            self._remember(found)
        else:
            self._known().pop(which, None)

    def _look_for_the_secret(self, redis: Redis) -> None:
        """A Secret that the user names may come after the `Redis`."""
        if redis.spec.auth.enabled and _secret(redis) not in self._known():
            self._look_again(_secret(redis))

    def _unseen_by_its_controller(self) -> Key | None:
        """Return the StatefulSet if it was changed and its controller does not say yet which pods are of the newest."""
        for which in self._moved & self._known().keys():
            live = self._known()[which]
            if live.get("status", {}).get("observedGeneration", 0) < live["metadata"].get("generation", 0):
                return which
        return None

    # -- writing --------------------------------------------------------------------------------------------------

    def _create(self, change: Change) -> None:
        """Create the object; raises Stale when there is one of that name: Secrets are made once, others looked at."""
        assert change.manifest is not None, "what is created has a manifest"  # noqa: S101
        if change.key.kind == "Secret":
            self._remember(self._kube.create(change.manifest))
            return
        self._apply(change, {"resourceVersion": NEVER})
        if change.key.kind == "StatefulSet" and change.verb == "create" and not self._created:
            self._claims = None

    def _update(self, change: Change) -> None:
        assert change.manifest is not None, "what is updated has a manifest"  # noqa: S101
        if change.key.kind == "Secret":
            version = self._known()[change.key]["metadata"]["resourceVersion"]
            owners = change.manifest["metadata"]["ownerReferences"]
            changed = {"metadata": {"ownerReferences": owners, "resourceVersion": version}}
            self._remember(self._kube.patch(change.key, changed))
            return
        live = self._known().get(change.key) or self._claim(change.key)
        self._apply(change, {"uid": live["metadata"]["uid"]} if live else {})
        if change.key.kind in _MOVED_BY_CONTROLLERS:
            self._moved.add(change.key)

    def _replace(self, change: Change) -> None:
        """Put a new object in the place of the old one, whose pods stay and are adopted by the new one."""
        old = self._known()[change.key]["metadata"]
        if "deletionTimestamp" not in old:
            self._kube.delete(change.key, old["uid"], propagation="Orphan")
        while (there := self._kube.get(change.key)) is not None and there["metadata"]["uid"] == old["uid"]:
            time.sleep(GONE_POLL)
        self._create(change)
        self._moved.add(change.key)

    def _delete(self, change: Change) -> None:
        live = self._known()
        metadata = live[change.key]["metadata"]
        self._kube.delete(change.key, metadata["uid"], metadata["resourceVersion"])
        del live[change.key]

    def _apply(self, change: Change, precondition: Manifest) -> None:
        assert change.manifest is not None, "what is applied has a manifest"  # noqa: S101
        sent = change.manifest | {"metadata": change.manifest["metadata"] | precondition}
        applied = self._kube.apply(sent, force=True).manifest
        # Whatever still differs is how the server, or its admission, spells it.
        self._as_wanted[change.key] = (applied["metadata"]["resourceVersion"], change.manifest)
        self._remember(applied)

    def _remember(self, manifest: Manifest) -> None:
        self._keep(manifest)
        if manifest["kind"] == names.CLAIM.kind:
            others = [claim for claim in self._claims or () if key(claim) != key(manifest)]
            self._claims = (*others, manifest)
        else:
            self._known()[key(manifest)] = manifest

    def _known(self) -> dict[Key, Manifest]:
        assert self._live is not None, "nothing is written before the first look"  # noqa: S101
        return self._live

    def _claim(self, which: Key) -> Manifest | None:
        return next((claim for claim in self._claims or () if key(claim) == which), None)

    # -- watching -------------------------------------------------------------------------------------------------

    def _follow(self, redis: Redis, events: queue.SimpleQueue[_Event], version: str) -> None:
        """Pass on what happens to the pods after `version`; without one, begin with those that exist."""
        while not self._closed:
            try:
                watch = self._watch = self._kube.watch(names.POD, *_children_of(redis), version, WATCH_SECONDS)
                for event in watch if not self._closed else ():
                    version = event.manifest["metadata"].get("resourceVersion", version)
                    if event.type != "BOOKMARK":
                        events.put((event.type, [event.manifest]))
                continue
            except (Expired, Unreachable):
                pass
            except Failure as failure:
                events.put(failure)
                return
            try:
                pods = self._kube.list(names.POD, *_children_of(redis))
                version = pods.resource_version
                events.put(("ALL", pods))
            except Failure:
                time.sleep(GONE_POLL)

    def _take(self, event: _Event) -> None:
        if isinstance(event, Failure):
            raise event
        what, pods = event
        if what == "ALL":
            self._pods.clear()
        for pod in pods:
            name = pod["metadata"]["name"]
            if what == "DELETED":
                self._pods.pop(name, None)
            else:
                self._pods[name] = {"apiVersion": "v1", "kind": "Pod", **pod}


_CARRY_OUT: Final[Mapping[str, Callable[[Children, Change], None]]] = {
    "create": Children._create,
    "update": Children._update,
    "replace": Children._replace,
    "delete": Children._delete,
}


def status_to_apply(namespace: str | None, name: str, status: Mapping[str, Any]) -> Manifest:
    """Return the manifest that says the status of a `Redis`, and nothing else."""
    metadata = {"name": name, "namespace": namespace}
    kind = {"apiVersion": names.REDIS.api_version, "kind": names.REDIS.kind}
    return {**kind, "metadata": metadata, "status": dict(status)}


def _children_of(redis: Redis) -> tuple[str | None, dict[str, str]]:
    return redis.metadata.namespace, names.selector(redis.metadata.name)


def _secret(redis: Redis) -> Key:
    reference = redis.spec.auth.secretRef
    return Key("Secret", redis.metadata.namespace, reference.name if reference else names.secret(redis.metadata.name))


def _services(redis: Redis) -> list[str]:
    """Return the Services that should exist: one of these names without our labels is somebody else's."""
    name = redis.metadata.name
    always = [names.headless_service(name), names.primary_service(name)]
    return always if resolved_mode(redis.spec) == "Standalone" else [*always, names.read_service(name)]


def _members(redis: Redis, found: Iterable[Manifest], name: Callable[[str, int], str]) -> tuple[Manifest, ...]:
    """Return by ordinal what belongs to members; a pod or a claim of the user's may have copied labels."""
    ordinals = ((names.ordinal(manifest["metadata"]["name"]), manifest) for manifest in found)
    members = {
        ordinal: manifest
        for ordinal, manifest in ordinals
        if ordinal is not None and manifest["metadata"]["name"] == name(redis.metadata.name, ordinal)
    }
    return tuple(members[ordinal] for ordinal in sorted(members))


def _may_be_spelling(difference: Difference) -> bool:
    """Tell whether we wrote a value and it is not there as written; what others set, or nobody, is no spelling."""
    return difference.manager == names.FIELD_MANAGER and difference.desired is not MISSING


def _meant_for(manifest: Manifest, live: Manifest) -> Manifest:
    return manifest | {"metadata": manifest["metadata"] | {"uid": live["metadata"]["uid"]}}


def _content(manifest: Manifest) -> Manifest:
    """Return what of an object is not the server's own book-keeping."""
    metadata = {field: value for field, value in manifest["metadata"].items() if field not in _BOOK_KEEPING}
    return {field: value for field, value in manifest.items() if field != "status"} | {"metadata": metadata}
