"""Events of events.k8s.io/v1 about `Redis` objects: few, bounded, and never in the way of a pass.

The same thing told again is one Event that counts, written at growing distances. What each `Redis` may cost in writes
and in memory is limited. Losing an Event is no fault: conditions and log say the same. This module must not know what a
pass is.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Final, NamedTuple

import msgspec

from redisop import names
from redisop.failures import Failure, NotFound
from redisop.live.kube import EVENT, Kube
from redisop.live.store import Name
from redisop.live.told import Told
from redisop.manifest import Key, Manifest

# As the API server limits a note, in bytes of UTF-8.
LONGEST_NOTE: Final = 1024
# What a `Redis` may write: so many at once, and one more each time that so many seconds have passed.
BURST: Final = 25
REFILL: Final = 300.0
# An Event that counts is written again after the first distance, then after twice as long each time, and at last so
# often that it does not expire (after an hour, in most clusters) while what it tells goes on.
FIRST_DISTANCE, LONGEST_DISTANCE = 60.0, 1800.0
# So long after it was told last a thing is forgotten, and so many things are remembered of one `Redis`.
MEMORY: Final = 3600.0
MOST_SERIES: Final = 4
MOST_WAITING: Final = 2048
PATIENCE: Final = 10.0

_log: Final = logging.getLogger("redisop.events")


class Writing(NamedTuple):
    """What is to be written: `serial` tells the Events of one `Redis` apart, `times` is how often it was told."""

    serial: int
    times: int


class _Series(msgspec.Struct, gc=False):
    """One thing that is told again and again; moments in monotonic seconds."""

    digest: int
    serial: int
    times: int
    seen: float
    due: float
    distance: float


class _Account(msgspec.Struct, gc=False):
    """What one `Redis` has told of late, and how many writes it has left."""

    uid: str
    left: float
    filled: float
    seen: float
    series: tuple[_Series, ...] = ()

    def spend(self, now: float) -> bool:
        """Take one write, if there is one."""
        self.left = min(BURST, self.left + (now - self.filled) / REFILL)
        self.filled = now
        if self.left < 1:
            return False
        self.left -= 1
        return True


class Ledger:
    """Decides what of all that is told is written; touches nothing. One thread at a time."""

    def __init__(self) -> None:
        self._accounts: OrderedDict[Name, _Account] = OrderedDict()  # told last comes last

    def __len__(self) -> int:
        return len(self._accounts)

    def tell(self, of: Name, uid: str, told: Told, serial: int, now: float) -> Writing | None:
        """Return what is to be written of `told`; None when nothing is.

        `serial` is a number that was not used before for this `Redis`, `now` in monotonic seconds.
        """
        self.expire(now)
        account = self._accounts.get(of)
        if account is None or account.uid != uid:
            account = self._accounts[of] = _Account(uid, BURST, now, now)
        self._accounts.move_to_end(of)
        account.seen = now
        digest = hash(told)
        known = next((series for series in account.series if series.digest == digest), None)
        if known is not None and now - known.seen < MEMORY:
            return _again(known, account, now)
        if not account.spend(now):
            return None
        others = [series for series in account.series if series is not known]
        latest = sorted(others, key=lambda series: series.seen)[-MOST_SERIES + 1 :]
        begun = _Series(digest, serial, 1, now, now + FIRST_DISTANCE, FIRST_DISTANCE)
        account.series = (*latest, begun)
        return Writing(serial, 1)

    def forget(self, of: Name) -> None:
        """Keep nothing of a `Redis` that is gone."""
        self._accounts.pop(of, None)

    def expire(self, now: float) -> None:
        """Forget each `Redis` of which nothing was told for long."""
        while self._accounts and now - next(iter(self._accounts.values())).seen >= MEMORY:
            self._accounts.popitem(last=False)


def _again(series: _Series, account: _Account, now: float) -> Writing | None:
    series.times += 1
    series.seen = now
    if now < series.due or not account.spend(now):
        return None
    series.distance = min(series.distance * 2, LONGEST_DISTANCE)
    series.due = now + series.distance
    return Writing(series.serial, series.times)


class _Item(NamedTuple):
    of: Name
    uid: str
    told: Told
    when: datetime


class Recorder:
    """Writes Events in a thread of its own. No method waits, or raises anything.

    `instance` is the name of this process among its like (of its pod), `may_write` tells whether it leads.
    """

    def __init__(
        self,
        kube: Kube,
        instance: str,
        may_write: Callable[[], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._kube = kube
        self._instance = instance[:128]
        self._may_write = may_write
        self._clock = clock
        self._ledger = Ledger()
        self._serial = 0
        self._waiting: queue.Queue[_Item | Name | None] = queue.Queue(MOST_WAITING)
        self._thread = threading.Thread(target=self._work, name="events", daemon=True)
        self._thread.start()

    def record(self, of: Name, uid: str, told: Iterable[Told]) -> None:
        """Have Events about the `Redis` with this uid written, within the limits; what has no room is dropped."""
        now = datetime.now(UTC)
        for each in told:
            self._put(_Item(of, uid, each, now))

    def forget(self, of: Name) -> None:
        """Keep nothing of a `Redis` that is gone."""
        self._put(of)

    def close(self, seconds: float) -> None:
        """Write what waits, for so long at most, and end."""
        self._put(None)
        self._thread.join(seconds)

    def _put(self, item: _Item | Name | None) -> None:
        try:
            self._waiting.put_nowait(item)
        except queue.Full:
            return

    def _work(self) -> None:
        while True:
            try:
                item = self._waiting.get(timeout=MEMORY)
            except queue.Empty:
                self._ledger.expire(self._clock())
                continue
            if item is None:
                return
            if isinstance(item, Name):
                self._ledger.forget(item)
                continue
            try:
                self._tell(item)
            except Exception:
                _log.exception("an Event could not be written")

    def _tell(self, item: _Item) -> None:
        if not self._may_write():
            return
        self._serial = max(time.time_ns() // 1000, self._serial + 1)
        writing = self._ledger.tell(item.of, item.uid, item.told, self._serial, self._clock())
        if writing is None:
            return
        kube = self._kube.until(time.monotonic() + PATIENCE)
        regarding = {
            "apiVersion": names.REDIS.api_version,
            "kind": names.REDIS.kind,
            **item.of._asdict(),
            "uid": item.uid,
        }
        manifest = event(regarding, item.told, writing, item.when, self._instance)
        if writing.times == 1 or not _is_counted(kube, manifest):
            kube.event(manifest)


def event(regarding: dict[str, str], told: Told, writing: Writing, when: datetime, instance: str) -> Manifest:
    """Return the Event about an object; from the second time on it has a series."""
    moment = when.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    series = {"series": {"count": writing.times, "lastObservedTime": moment}} if writing.times > 1 else {}
    name = f"{regarding['name']}.{writing.serial:x}"
    return {
        "apiVersion": EVENT.api_version,
        "kind": EVENT.kind,
        "metadata": {"name": name, "namespace": regarding["namespace"]},
        "regarding": regarding,
        "type": told.type,
        "reason": told.reason,
        "action": told.action,
        "note": note(told.note),
        "eventTime": moment,
        "reportingController": names.FIELD_MANAGER,
        "reportingInstance": instance,
        **series,
    }


def note(text: str) -> str:
    """Return `text` as a note may be: in one line, without what a terminal acts upon, and not too long."""
    line = "".join(letter if letter.isprintable() else " " if letter.isspace() else "\ufffd" for letter in text)
    encoded = line.encode()
    if len(encoded) <= LONGEST_NOTE:
        return line
    ellipsis = "…"
    return encoded[: LONGEST_NOTE - len(ellipsis.encode())].decode(errors="ignore") + ellipsis


def _is_counted(kube: Kube, manifest: Manifest) -> bool:
    """Have an Event that exists count; tell whether there is nothing left to do: one that has expired is made anew."""
    metadata = manifest["metadata"]
    try:
        kube.patch(Key(EVENT.kind, metadata["namespace"], metadata["name"]), {"series": manifest["series"]})
    except NotFound:
        return False
    except Failure:
        return True
    return True
