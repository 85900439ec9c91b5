"""What the API server has of all `Redis` objects and theirs, kept up to date by watches: one thread a kind.

A watch that ends, however it ends, is taken up again where it was, or after a new list where the server has forgotten
that moment. It decides nothing and writes nothing.
"""

from __future__ import annotations

import gc
import random
import threading
import time
from collections.abc import Callable, Iterable
from typing import Final

from redisop import names
from redisop.failures import Expired, Failure, UnknownKind
from redisop.live.kube import Kube, WatchEvent
from redisop.live.store import Listing, Name, Store
from redisop.manifest import Manifest

# Of one list only so many objects are in memory as they came: a ConfigMap is 18 kB on the wire and 100 kB in Python.
PAGE: Final = 100
# The server ends a watch after so many seconds. Random, so that not all of a fleet of watchers come at once, and short
# enough that on a dead line nothing is missed for more than five minutes.
SHORTEST_WATCH, LONGEST_WATCH = 180, 270
# Seconds between two tries after a failure, doubled from the first to the last; half of each is random.
FIRST_PAUSE, LAST_PAUSE = 0.5, 30.0
# A watch that ends sooner than this is no watch: to begin the next at once would be a loop of requests.
SHORT_LIVED: Final = 5.0
# Seconds until an optional kind that is not installed is asked for again: nobody waits for it, and rest is quiet.
RARELY: Final = 600.0
_END_OF_TIME: Final = str(2**63)

_OPTIONAL: Final = {"PodMonitor"}
KINDS: Final = (names.REDIS, *names.KINDS, names.POD, names.CLAIM)
# Both labels: the selector of every child, whichever the Redis.
_CHILDREN: Final = f"{names.APP_LABEL}={names.APP},{names.INSTANCE_LABEL}"

Changed = Callable[[Iterable[Name], names.Kind], None]


class Cache:
    """Keeps `store` up to date with some namespaces (empty: with all), and tells `changed` whose objects moved."""

    def __init__(self, kube: Kube, namespaces: tuple[str, ...], store: Store, changed: Changed) -> None:
        self._stopping = threading.Event()
        self._watchers = [
            Watcher(kube, kind, namespace, store, changed, self._stopping)
            for kind in KINDS
            for namespace in namespaces or (None,)
        ]

    def start(self) -> None:
        """List everything; the first time with the garbage collector off, which else visits all that was kept."""
        gc.disable()
        for watcher in self._watchers:
            threading.Thread(target=watcher.run, name=f"watch-{watcher.kind.plural}", daemon=True).start()

    def stop(self) -> None:
        """Let all watches end; each does so with the next word from the server."""
        self._stopping.set()

    def wait(self, seconds: float) -> bool:
        """Return whether everything was listed once, after `seconds` at the latest."""
        end = time.monotonic() + seconds
        done = all(watcher.synced.wait(max(end - time.monotonic(), 0.0)) for watcher in self._watchers)
        if not gc.isenabled():
            gc.collect()
            gc.freeze()
            gc.enable()
        return done

    @property
    def synced(self) -> bool:
        """Whether everything was listed once."""
        return all(watcher.synced.is_set() for watcher in self._watchers)

    @property
    def troubles(self) -> list[str]:
        """What keeps a kind from being known as it is now, in sentences."""
        return [watcher.trouble for watcher in self._watchers if watcher.trouble]

    @property
    def ages(self) -> dict[str, float]:
        """For each kind the seconds since its watches last heard from the API server, the longest of them."""
        now = time.monotonic()
        ages: dict[str, float] = {}
        for watcher in self._watchers:
            ages[watcher.kind.kind] = max(now - watcher.heard, ages.get(watcher.kind.kind, 0.0))
        return ages

    @property
    def pod_monitors(self) -> bool:
        """Whether the cluster knows that kind."""
        return all(watcher.known for watcher in self._watchers if watcher.kind.kind in _OPTIONAL)


class Watcher:
    """One kind in one namespace, None: in all. `synced` once it was listed; `known`: the server has such a kind."""

    def __init__(
        self,
        kube: Kube,
        kind: names.Kind,
        namespace: str | None,
        store: Store,
        changed: Changed,
        stopping: threading.Event,
    ) -> None:
        self.kind = kind
        self.synced = threading.Event()
        self.known = True
        self.trouble = ""
        self.heard = time.monotonic()
        self._kube, self._namespace, self._store, self._changed = kube, namespace, store, changed
        self._stopping = stopping
        self._version = ""
        self._failed = 0

    def run(self) -> None:
        """List and watch until it is to stop."""
        while not self._stopping.is_set():
            begun = time.monotonic()
            try:
                if not self._version:
                    self._list()
                self._watch()
            except Expired:
                self._version = ""
            except UnknownKind as failure:
                self._unknown(failure)
            except Failure as failure:
                self.trouble = str(failure)
            if time.monotonic() - begun >= SHORT_LIVED:
                self._failed = 0
            else:
                self._pause()

    def _list(self) -> None:
        try:
            listing, self._version = self._listed(PAGE)
        except Expired:
            # In one piece: who is too slow for the server's memory once may be so for ever.
            listing, self._version = self._listed(0)
        changed = self._store.commit(listing, self._version)
        self._well()
        self.synced.set()
        if changed:
            self._changed(changed, self.kind)

    def _listed(self, page: int) -> tuple[Listing, str]:
        listing, version = Listing(self.kind, self._namespace), ""
        for found in self._kube.pages(self.kind, self._namespace, self._selector, page):
            self._store.add(listing, found)
            version = found.resource_version
        return listing, version

    def _watch(self) -> None:
        seconds = random.randint(SHORTEST_WATCH, LONGEST_WATCH)  # noqa: S311
        for event in self._kube.watch(self.kind, self._namespace, self._selector, self._version, seconds):
            if self._stopping.is_set():
                return
            self._well()
            self._take(event)
        self._well()

    def _take(self, event: WatchEvent) -> None:
        manifest: Manifest = event.manifest
        of = None
        if event.type == "DELETED":
            of = self._store.remove(self.kind, manifest)
        elif event.type != "BOOKMARK":
            of = self._store.put(self.kind, manifest)
        self._version = manifest["metadata"]["resourceVersion"]
        if of:
            self._changed((of,), self.kind)

    @property
    def _selector(self) -> str | None:
        return None if self.kind == names.REDIS else _CHILDREN

    def _unknown(self, failure: UnknownKind) -> None:
        """The kind is not installed. Its objects, if there were any, are gone with it."""
        self._version = ""
        changed = self._store.commit(Listing(self.kind, self._namespace), _END_OF_TIME)
        self._well()
        self.known = False
        if self.kind.kind in _OPTIONAL:
            self.synced.set()
        else:
            self.trouble = str(failure)
        if changed:
            self._changed(changed, self.kind)

    def _well(self) -> None:
        self.known, self.trouble, self.heard = True, "", time.monotonic()

    def _pause(self) -> None:
        if not self.known and self.kind.kind in _OPTIONAL:
            pause = RARELY
        else:
            pause = min(FIRST_PAUSE * 2**self._failed, LAST_PAUSE)
        self._failed += 1
        self._stopping.wait(pause * random.uniform(0.5, 1.0))  # noqa: S311
