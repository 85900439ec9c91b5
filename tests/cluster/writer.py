"""A client that writes all the time, in a process of its own, and knows what was promised to it."""

import itertools
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Collection
from pathlib import Path

from tests.cluster.cluster import Cluster

PROGRAM = Path(__file__).with_name("write_ids.py")
_numbers = itertools.count()


class Writer:
    """Writes to ``address`` from the moment it is made until ``stop``.

    ``node`` names the node whose network it writes from, by default the control plane's, which no fault touches.
    ``rate`` is writes a second, 0 as fast as it goes. Times are those of ``time.monotonic()``. A socket that says
    nothing for half a second counts as broken; after any error it connects again 2 ms later and goes on with the next
    key.
    """

    def __init__(
        self, cluster: Cluster, address: str, password: bytes = b"", node: str | None = None, rate: float = 100
    ) -> None:
        self.tag = f"writer{os.getpid()}x{next(_numbers)}"
        self._log = cluster.folder / f"log/{self.tag}"
        self._log.touch()
        self._stopped: float | None = None
        self._began = time.monotonic()
        self._process = subprocess.Popen(
            cluster.client_command_in(
                [sys.executable, str(PROGRAM), address, self.tag, str(rate), str(self._log)], node
            ),
            env={**os.environb, b"REDISCLI_AUTH": password},
            stdin=subprocess.DEVNULL,
        )

    def stop(self) -> "Writer":
        """End the writing process; what it wrote can be asked for before and after that."""
        if self._stopped is None:
            self._process.terminate()
            self._process.wait()
            self._stopped = time.monotonic()
        return self

    def acknowledged(self) -> dict[str, float]:
        """Return every key whose write was acknowledged, in order, with the time of the acknowledgement."""
        return {key: at for at, key in self._lines("ack")}

    def errors(self, since: float = 0) -> Counter[str]:
        """Return how often the writer met each kind of error: the first word of what Redis or redis-py said."""
        return Counter(kind for at, kind in self._lines("error") if at >= since)

    def longest_gap(self, since: float | None = None, until: float | None = None) -> float:
        """Return the longest time in seconds without an acknowledgement.

        Looks from ``since`` (the first acknowledgement) to ``until`` (the stop, or now), both ends included: a writer
        that never came through again has a gap up to the end.
        """
        times = list(self.acknowledged().values())
        start = since if since is not None else times[0] if times else self._began
        end = until if until is not None else self._stopped or time.monotonic()
        points = [start, *(at for at in times if start < at < end), end]
        return max(later - earlier for earlier, later in itertools.pairwise(points))

    def lost(self, keys: Collection[str]) -> list[str]:
        """Return the acknowledged keys that are not among ``keys``."""
        present = set(keys)
        return [key for key in self.acknowledged() if key not in present]

    def _lines(self, kind: str) -> list[tuple[float, str]]:
        words = (line.split() for line in self._log.read_text().splitlines())
        return [(float(word[1]), word[2]) for word in words if word[:1] == [kind] and len(word) == 3]
