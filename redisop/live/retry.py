"""When a request is sent again: at growing random distances, as the server asks, and never after the deadline."""

from __future__ import annotations

import random
from typing import Final, Protocol

TRIES: Final = 6
SHORTEST: Final = 0.25
LONGEST: Final = 8.0


class Clock(Protocol):
    """What is used of the module `time`."""

    def monotonic(self) -> float:
        """Return seconds since some moment."""

    def sleep(self, seconds: float, /) -> None:
        """Return after that many seconds."""


class Patience:
    """How long one request goes on: at most `tries` times, none after `deadline` (monotonic seconds)."""

    def __init__(self, clock: Clock, deadline: float, tries: int = TRIES) -> None:
        self._clock = clock
        self._deadline = deadline
        self._tries = tries
        self._tried = 0

    def left(self) -> float:
        """Return the seconds to the deadline, less than nothing when it has passed."""
        return self._deadline - self._clock.monotonic()

    def wait(self, at_least: float = 0.0) -> bool:
        """Sleep until the next try, `at_least` seconds if the server asked for it; return False when there is none.

        Every client that was turned away at the same moment must come back at another one, so the whole of the
        distance is random (AWS' "full jitter"), on top of what the server asked for.
        """
        self._tried += 1
        if self._tried >= self._tries:
            return False
        longest = min(LONGEST, SHORTEST * 2 ** (self._tried - 1))
        seconds = at_least + random.uniform(0.0, longest)  # noqa: S311
        if seconds >= self.left():
            return False
        self._clock.sleep(seconds)
        return True
