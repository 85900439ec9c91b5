"""Who may lead, as far as one candidate can tell from what it has seen of a Lease. Pure.

No clock of another machine counts: a candidate counts for itself how long it has seen a Lease unchanged. Every `now` is
in seconds of one clock that never goes back and does not stand still while the machine is suspended.

Two never lead at once because of three rules. A write names the version that it was decided on, so of two one fails.
A leader stops `renew_deadline` after it sent the last renewal that succeeded. Everybody else waits, after that renewal
was seen, which is later, for `lease_duration`, which is longer. What the rules do not cover: somebody who deletes the
Lease by hand while a candidate has not seen it yet (it has just started) makes two lead until the first one renews, and
so does somebody who writes by hand what a leader writes that gives the Lease up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

import msgspec

from redisop.manifest import Manifest

# What somebody may have written into the Lease must not keep everybody from leading for years.
LONGEST_DURATION: Final = 60.0
_MOST_TRANSITIONS: Final = 2**31 - 1
# With no holder: given up by who held it. Without this sign somebody has emptied it, who may not have told the holder.
_GIVEN_UP_SECONDS: Final = 1


@dataclass(frozen=True, slots=True)
class Times:
    """All in seconds, by default those of Kubernetes' own components.

    15: how long nobody acts after a leader died without giving up. 10: it must have stopped well before that, for the
    writes that it sent last to arrive or fail; five renewals may fail until then, so that an API server may restart.
    2: what a candidate notices late, and a switchover needs a Lease that is good for 5 more. Raises ValueError.
    """

    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    renew_period: float = 2.0

    def __post_init__(self) -> None:
        if not LONGEST_DURATION >= self.lease_duration > self.renew_deadline > 2 * self.renew_period > 0:
            raise ValueError(
                f"lease duration {self.lease_duration:g} s (at most {LONGEST_DURATION:g}), renew deadline"
                f" {self.renew_deadline:g} s and twice the renew period {self.renew_period:g} s: each must be longer"
                " than the next, and all longer than 0"
            )


class Record(NamedTuple):
    """What a Lease says; a renewal changes `renewed`, and whoever reads it only looks whether it has changed."""

    holder: str
    duration: int
    acquired: str
    renewed: str
    transitions: int

    @property
    def given_up(self) -> bool:
        """Tell whether its holder is done with it."""
        return not self.holder and self.duration == _GIVEN_UP_SECONDS


class Sight(NamedTuple):
    """A Lease as it was last seen (both None: there was none); from `free_at` on nobody else can be leading."""

    record: Record | None
    version: str | None
    free_at: float


# Before anything was seen: where there is no Lease, nobody leads.
UNSEEN: Final = Sight(None, None, -math.inf)


class Claim(NamedTuple):
    """Write `spec` into the Lease in this version; None: create it."""

    version: str | None
    spec: dict[str, Any]


class Wait(NamedTuple):
    """Somebody else may be leading for so many seconds."""

    seconds: float


class _Metadata(msgspec.Struct, frozen=True):
    resourceVersion: str


class _Spec(msgspec.Struct, frozen=True):
    holderIdentity: str | None = None
    leaseDurationSeconds: int | None = None
    acquireTime: str | None = None
    renewTime: str | None = None
    leaseTransitions: int | None = None


class _Lease(msgspec.Struct, frozen=True):
    metadata: _Metadata
    spec: _Spec = _Spec()


def read(lease: Manifest) -> tuple[Record, str]:
    """Return what a Lease says, and its version; raises msgspec.ValidationError when it is no Lease."""
    whole = msgspec.convert(lease, _Lease)
    spec = whole.spec
    record = Record(
        spec.holderIdentity or "",
        spec.leaseDurationSeconds or 0,
        spec.acquireTime or "",
        spec.renewTime or "",
        spec.leaseTransitions or 0,
    )
    return record, whole.metadata.resourceVersion


def see(before: Sight, lease: Manifest | None, now: float, leads: bool, identity: str, times: Times) -> Sight:
    """Return what it means to have `lease` before one at `now`, which is after it was asked for.

    `before` is what was seen last; `leads` says whether `identity` leads at `now`. Raises as `read`.
    """
    if lease is None:
        return Sight(None, None, _free_without_lease(before, now, leads, times))
    record, version = read(lease)
    if record.holder == identity or record.given_up:
        return Sight(record, version, now)
    if before.record == record:  # another version of the same: somebody has set a label
        return Sight(record, version, before.free_at)
    return Sight(record, version, now + max(times.lease_duration, min(record.duration, LONGEST_DURATION)))


def _free_without_lease(before: Sight, now: float, leads: bool, times: Times) -> float:
    """Deleting a Lease stops no leader before its next renewal."""
    if leads:
        return now
    return now + times.lease_duration if before.record else before.free_at


def decide(sight: Sight, now: float, identity: str, times: Times, today: datetime) -> Claim | Wait:
    """Return what `identity` is to do at `now`. `today` is for people who read the Lease, and for nothing else.

    It must be another one with each call: a renewal that changes nothing is none.
    """
    if now < sight.free_at:
        return Wait(sight.free_at - now)
    renewal = {
        "holderIdentity": identity,
        "leaseDurationSeconds": math.ceil(times.lease_duration),
        "renewTime": _micro_time(today),
    }
    if sight.record and sight.record.holder == identity:
        return Claim(sight.version, renewal)
    before = sight.record.transitions if sight.record else -1
    transitions = before + 1 if before < _MOST_TRANSITIONS else 0
    return Claim(sight.version, renewal | {"acquireTime": renewal["renewTime"], "leaseTransitions": transitions})


def give_up(sight: Sight, identity: str, today: datetime) -> Claim | None:
    """Return what lets the next one lead at once, None when `identity` does not have the Lease."""
    if not (sight.record and sight.record.holder == identity):
        return None
    spec = {"holderIdentity": "", "leaseDurationSeconds": _GIVEN_UP_SECONDS, "renewTime": _micro_time(today)}
    return Claim(sight.version, spec)


def later(today: datetime, than: datetime) -> datetime:
    """Return `today`, or the next moment after `than` when the clock stands still or was set back."""
    return max(today, than + timedelta(microseconds=1))


def _micro_time(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
