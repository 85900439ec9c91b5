"""A clock that only moves when somebody sleeps."""

from collections.abc import Callable


class FakeClock:
    """`slept` are the lengths of all sleeps; `meanwhile` is called during each."""

    def __init__(self, meanwhile: Callable[[], object] = lambda: None) -> None:
        self.now = 1000.0
        self.slept: list[float] = []
        self.meanwhile = meanwhile

    def monotonic(self) -> float:
        """Return the seconds on this clock."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Move on at once."""
        self.now += seconds
        self.slept.append(seconds)
        self.meanwhile()
