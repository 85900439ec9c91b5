"""The newest that is known of every object that a `Redis` is, owns or causes, packed small. No threads, no requests.

Objects of one kind are nearly the same text, so each is compressed against the first of its kind: some 100 bytes in
the place of 5,000. What is older than what is known, a late event or a list that was overtaken by an own write, never
takes its place. It decides nothing.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import msgspec

from redisop import names
from redisop.manifest import Key, Manifest

# The longest stretch that zlib looks back.
_WINDOW: Final = 1 << 15
# Level 1 makes these 3 % larger than 6, in a third of the time.
_LEVEL: Final = 1
# So many deleted objects are remembered, lest an event or a reply that comes late bring one back.
_MOST_GONE: Final = 8192


class Name(NamedTuple):
    """Which `Redis`: what the queue, the store and the log tell instances apart by."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class _Record(msgspec.Struct, frozen=True, gc=False):
    """One object. `kind` and `name` are within its `Redis`, whose namespace it shares."""

    kind: str
    name: str
    uid: str
    version: int
    packed: bytes


@dataclass
class Listing:
    """What a list has found so far; nothing of it is true before it is whole."""

    kind: names.Kind
    namespace: str | None
    found: dict[tuple[Name, str], _Record] = field(default_factory=dict)


class Store:
    """All methods may be called by any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of: dict[Name, dict[tuple[str, str], _Record]] = {}
        self._samples: dict[str, bytes] = {}
        self._gone: dict[str, None] = {}

    # -- reading ------------------------------------------------------------------------------------------------------

    def objects(self, of: Name) -> dict[Key, Manifest]:
        """Return what is known of one `Redis`, itself included."""
        with self._lock:
            records = list(self._of.get(of, {}).values())
        return {Key(record.kind, of.namespace, record.name): self._unpacked(record) for record in records}

    def redises(self) -> list[Name]:
        """Return every `Redis` that exists."""
        with self._lock:
            return [of for of, records in self._of.items() if (names.REDIS.kind, of.name) in records]

    def __len__(self) -> int:
        with self._lock:
            return sum(map(len, self._of.values()))

    # -- what watches and own writes say ------------------------------------------------------------------------------

    def put(self, kind: names.Kind, manifest: Manifest) -> Name | None:
        """Take `manifest` as the newest; return whose it is, None when nothing is new about it."""
        of = owner(kind, manifest)
        if of is None:
            return None
        record = self._packed(kind, manifest)
        with self._lock:
            return of if self._take(of, record) else None

    def remove(self, kind: names.Kind, manifest: Manifest) -> Name | None:
        """Take it that `manifest`, in its last version, is gone; return whose it was, None when that was known."""
        of = owner(kind, manifest)
        if of is None:
            return None
        metadata = manifest["metadata"]
        with self._lock:
            self._bury(metadata["uid"])
            record = self._of.get(of, {}).get((kind.kind, metadata["name"]))
            if record is None or record.uid != metadata["uid"]:
                return None
            self._drop(of, record)
            return of

    # -- what lists say -----------------------------------------------------------------------------------------------

    def add(self, listing: Listing, page: Iterable[Manifest]) -> None:
        """Keep one page of a list apart until it is whole."""
        for manifest in page:
            if (of := owner(listing.kind, manifest)) is not None:
                record = self._packed(listing.kind, manifest)
                listing.found[of, record.name] = record

    def commit(self, listing: Listing, resource_version: str) -> set[Name]:
        """Take a whole list, true as of `resource_version`; return whose objects came, changed or went."""
        changed: set[Name] = set()
        as_of = _number(resource_version)
        with self._lock:
            for of, record in list(self._held(listing)):
                # What was written after the list was made is not in it.
                if (of, record.name) not in listing.found and record.version <= as_of:
                    self._drop(of, record)
                    changed.add(of)
            changed.update(of for (of, _), record in listing.found.items() if self._take(of, record))
        return changed

    def _held(self, listing: Listing) -> Iterator[tuple[Name, _Record]]:
        for of, records in self._of.items():
            if listing.namespace in {None, of.namespace}:
                yield from ((of, record) for record in records.values() if record.kind == listing.kind.kind)

    # -- records, under the lock --------------------------------------------------------------------------------------

    def _take(self, of: Name, record: _Record) -> bool:
        known = self._of.get(of, {}).get((record.kind, record.name))
        if record.uid in self._gone or (known and record.version <= known.version):
            return False
        self._of.setdefault(of, {})[record.kind, record.name] = record
        return True

    def _drop(self, of: Name, record: _Record) -> None:
        records = self._of[of]
        del records[record.kind, record.name]
        if not records:
            del self._of[of]

    def _bury(self, uid: str) -> None:
        self._gone[uid] = None
        if len(self._gone) > _MOST_GONE:
            del self._gone[next(iter(self._gone))]

    # -- packing ------------------------------------------------------------------------------------------------------

    def _packed(self, kind: names.Kind, manifest: Manifest) -> _Record:
        whole = {"apiVersion": kind.api_version, "kind": kind.kind} | manifest  # what is listed says neither
        content = msgspec.json.encode(_without_secrets(whole) if kind.kind == "Secret" else whole)
        sample = self._samples.setdefault(kind.kind, content[-_WINDOW:])
        compressor = zlib.compressobj(_LEVEL, zdict=sample)
        metadata = manifest["metadata"]
        return _Record(
            kind.kind,
            metadata["name"],
            metadata["uid"],
            _number(metadata["resourceVersion"]),
            compressor.compress(content) + compressor.flush(),
        )

    def _unpacked(self, record: _Record) -> Manifest:
        decompressor = zlib.decompressobj(zdict=self._samples[record.kind])
        manifest: Manifest = msgspec.json.decode(decompressor.decompress(record.packed))
        return manifest


def owner(kind: names.Kind, manifest: Manifest) -> Name | None:
    """Return the `Redis` that an object is, or carries the label of; None when it carries none."""
    metadata = manifest["metadata"]
    if kind.kind == names.REDIS.kind:
        return Name(metadata["namespace"], metadata["name"])
    name = (metadata.get("labels") or {}).get(names.INSTANCE_LABEL)
    return Name(metadata["namespace"], name) if name else None


def _without_secrets(secret: Manifest) -> Manifest:
    """Return a Secret with nothing in it but the password that connections to the members need."""
    kept = {name: value for name, value in (secret.get("data") or {}).items() if name == names.PASSWORD_FILE}
    return secret | {"data": kept}


def _number(resource_version: str) -> int:
    """Return a number that grows with each write to an object.

    Kubernetes orders versions of one resource by it: "API concepts", resourceVersion as a decimal number, from 1.35 on
    by contract, before that by every implementation over etcd.
    """
    return int(resource_version) if resource_version.isdecimal() else 0
