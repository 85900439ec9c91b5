"""What a process that works on a cluster leaves with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

DONE: Final = 0
PENDING: Final = 1
INVALID: Final = 3
CLUSTER: Final = 4
OWNED_BY_OTHERS: Final = 5
INTERRUPTED: Final = 130
FAULT_OF_REDISOP: Final = 70

_GRAVITY: Final = (DONE, PENDING, OWNED_BY_OTHERS, INVALID, CLUSTER, FAULT_OF_REDISOP)


def gravest(codes: Iterable[int]) -> int:
    """Return the gravest of `codes`, 0 when there are none."""
    return max(codes, key=_GRAVITY.index, default=DONE)
