"""What one field means for another: every rule of the API that a type alone cannot say."""

from __future__ import annotations

from redisop.api.v1 import Redis
from redisop.api.violation import Violation


def violations(new: Redis, old: Redis | None = None) -> tuple[Violation, ...]:
    """Return all that is wrong with `new`, and with going there from `old`, in the rules' order."""
    return ()
