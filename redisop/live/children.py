"""The API server as one pass needs it: one look at what a `Redis` has, then only what was done to it since.

Asks for each kind once, remembers the answers, keeps them up to date with what its own writes returned and with a watch
on the pods. Every name is looked up, so that an object of somebody else is seen before anything is written over it.
"""

from __future__ import annotations

import queue
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from redisop import names
from redisop.api.v1 import API_VERSION, KIND, Redis
from redisop.diff import Change
from redisop.failures import AlreadyExists, Expired, Failure, UnknownKind, Unreachable
from redisop.live.kube import Kube
from redisop.manifest import Key, Manifest, key
from redisop.reconcile import Observed

GONE_POLL: Final = 0.2
WATCH_SECONDS: Final = 240
# One name a kind, that of the Redis; Services have three and are listed.
_NAMED: Final[Mapping[str, Callable[[str], str]]] = {
    "ServiceAccount": str,
    "ConfigMap": names.config_map,
    "PodDisruptionBudget": str,
    "NetworkPolicy": str,
    "StatefulSet": str,
    "PodMonitor": str,
}
_OPTIONAL: Final = ("NetworkPolicy", "PodMonitor")


class Children:
    """The children of one `Redis`.

    `created` says that the `Redis` itself was made just now: nothing that exists can be its own.
    """

    def __init__(self, kube: Kube, created: bool = False) -> None:
        self._kube = kube
        self._created = created
        self._live: dict[Key, Manifest] | None = None
        self._pods: dict[str, Manifest] = {}
        self._claims: tuple[Manifest, ...] | None = None
        self._pod_monitors = True
        self._told: tuple[Redis, Mapping[str, Any]] | None = None
        self._events: queue.SimpleQueue[Manifest | None] | None = None

    def observe(self, redis: Redis) -> Observed:
        """Return what exists, as far as it is known by now; the first call asks for all of it."""
        if self._live is None:
            self._live = dict(self._looked_up(redis))
            if not self._created:
                self._pods = {pod["metadata"]["name"]: pod for pod in self._list(names.POD, redis)}
                self._claims = tuple(self._list(names.CLAIM, redis))
        return Observed(
            dict(self._live),
            tuple(pod for _, pod in sorted(self._pods.items(), key=_by_ordinal)),
            self._claims or (),
            self._pod_monitors,
        )

    def apply(self, change: Change, force: bool) -> None:
        """Carry out one change and remember what the server made of it; raises Failure."""
        if change.verb == "delete":
            self._delete(change.key)
        elif change.key.kind == "Secret":
            self._remember(self._create_secret(change))
        elif change.verb == "replace":
            self._replace(change, force)
        elif change.manifest is not None:
            self._remember(self._kube.apply(change.manifest, force).manifest)

    def write_status(self, redis: Redis, status: Mapping[str, Any]) -> None:
        """Keep the status; `flush` writes the last one, so that a run tells once how it ended."""
        self._told = (redis, status)

    def flush(self) -> None:
        """Write the status that was told last, if it differs from what the object has; raises Failure."""
        if self._told is None:
            return
        redis, status = self._told
        if status != redis.status:
            metadata = {"name": redis.metadata.name, "namespace": redis.metadata.namespace}
            self._kube.apply_status(
                {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "status": dict(status)}
            )
        self._told = None

    def fresh_password(self) -> str:
        """Return 32 URL-safe characters that nobody has used."""
        return secrets.token_urlsafe(24)

    def wait(self, redis: Redis, seconds: float) -> None:
        """Return when something happened to a pod, after `seconds` at the latest."""
        if self._events is None:
            self._events = queue.SimpleQueue()
            threading.Thread(target=self._follow, args=(redis, self._events), daemon=True).start()
        end = time.monotonic() + seconds
        try:
            self._take(self._events.get(timeout=seconds))
            while time.monotonic() < end:  # what happened at the same time is seen in one go
                self._take(self._events.get_nowait())
        except queue.Empty:
            return

    def complete(self, redis: Redis) -> None:
        """Ask for what was left out because the `Redis` was new: its claims exist by now."""
        if self._claims is None:
            self._claims = tuple(self._list(names.CLAIM, redis))

    # -- looking --------------------------------------------------------------------------------------------------

    def _looked_up(self, redis: Redis) -> Iterator[tuple[Key, Manifest]]:
        meta = redis.metadata
        for kind, name_of in _NAMED.items():
            if self._created and kind in _OPTIONAL and not _wanted(kind, redis):
                continue
            yield from self._one(Key(kind, meta.namespace, name_of(meta.name)))
        for service in self._list(_kind("Service"), redis):
            yield key(service), service
        if redis.spec.auth.enabled and not (self._created and redis.spec.auth.secretRef is None):
            reference = redis.spec.auth.secretRef
            name = reference.name if reference else names.secret(meta.name)
            yield from self._one(Key("Secret", meta.namespace, name))

    def _one(self, which: Key) -> Iterator[tuple[Key, Manifest]]:
        try:
            found = self._kube.get(which)
        except UnknownKind:
            if which.kind != "PodMonitor":
                raise
            self._pod_monitors = False
            return
        if found is not None:
            yield which, found

    def _list(self, kind: names.Kind, redis: Redis) -> list[Manifest]:
        found = self._kube.list(kind, redis.metadata.namespace, names.selector(redis.metadata.name))
        # Objects in a list do not say what they are.
        return [{"apiVersion": kind.api_version, "kind": kind.kind, **manifest} for manifest in found]

    # -- writing --------------------------------------------------------------------------------------------------

    def _create_secret(self, change: Change) -> Manifest:
        """Create the Secret, or take the one that somebody was faster with: a password is made once."""
        assert change.manifest is not None, "a Secret is only ever created"  # noqa: S101
        try:
            return self._kube.create(change.manifest)
        except AlreadyExists:
            found = self._kube.get(change.key)
            if found is None:
                raise
            return found

    def _replace(self, change: Change, force: bool) -> None:
        """Put a new object in the place of the old one, whose pods stay and are adopted by the new one."""
        old = self._known()[change.key]
        uid = old["metadata"]["uid"]
        self._kube.delete(change.key, uid, propagation="Orphan")
        while (there := self._kube.get(change.key)) is not None and there["metadata"]["uid"] == uid:
            time.sleep(GONE_POLL)
        if change.manifest is not None:
            self._remember(self._kube.apply(change.manifest, force).manifest)

    def _delete(self, which: Key) -> None:
        live = self._known()
        metadata = live[which]["metadata"]
        self._kube.delete(which, metadata["uid"], metadata["resourceVersion"])
        del live[which]

    def _remember(self, manifest: Manifest) -> None:
        if manifest["kind"] == names.CLAIM.kind:
            others = [claim for claim in self._claims or () if key(claim) != key(manifest)]
            self._claims = (*others, manifest)
        else:
            self._known()[key(manifest)] = manifest

    def _known(self) -> dict[Key, Manifest]:
        assert self._live is not None, "nothing is written before the first look"  # noqa: S101
        return self._live

    # -- watching -------------------------------------------------------------------------------------------------

    def _follow(self, redis: Redis, events: queue.SimpleQueue[Manifest | None]) -> None:
        """Pass on what happens to the pods; None says that it has to be asked for anew."""
        selector = names.selector(redis.metadata.name)
        version = ""
        while True:
            try:
                for event in self._kube.watch(names.POD, redis.metadata.namespace, selector, version, WATCH_SECONDS):
                    version = event.manifest["metadata"].get("resourceVersion", version)
                    if event.type != "BOOKMARK":
                        events.put({**event.manifest, "kind": "Pod", "apiVersion": "v1", "_event": event.type})
            except (Expired, Unreachable):
                version = ""
            except Failure:
                return

    def _take(self, pod: Manifest | None) -> None:
        if pod is None:
            return
        event = pod.pop("_event")
        if event == "DELETED":
            self._pods.pop(pod["metadata"]["name"], None)
        else:
            self._pods[pod["metadata"]["name"]] = pod


def _by_ordinal(item: tuple[str, Manifest]) -> int:
    return int(item[0].rpartition("-")[2])


def _wanted(kind: str, redis: Redis) -> bool:
    if kind == "NetworkPolicy":
        return redis.spec.networkPolicy.enabled
    return redis.spec.monitoring.podMonitor.enabled


def _kind(name: str) -> names.Kind:
    return next(kind for kind in names.KINDS if kind.kind == name)
