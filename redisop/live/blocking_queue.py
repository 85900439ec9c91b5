"""A `Queue` that threads share and wait at. The queue decides everything; this only locks, waits and knows the time."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import Generic

from redisop.live.queue import Figures, K, Queue, Taken


class BlockingQueue(Generic[K]):
    """Any thread may call any method. `namespace` as for `Queue`."""

    def __init__(self, namespace: Callable[[K], str]) -> None:
        self._queue = Queue(namespace, random.random)
        self._changed = threading.Condition()
        self._stopped = False

    def add(self, key: K, after: float = 0.0, urgent: bool = False) -> None:
        """Have `key` taken `after` seconds from now at the latest."""
        with self._changed:
            self._queue.add(key, time.monotonic(), after, urgent)
            self._changed.notify()

    def take(self, timeout: float | None = None) -> Taken[K] | None:
        """Wait for something to do; return None after `timeout` seconds (None: never) and once `stop` was called."""
        with self._changed:
            end = None if timeout is None else time.monotonic() + timeout
            while not self._stopped:
                now = time.monotonic()
                taken = self._queue.take(now)
                if taken or (end is not None and now >= end):
                    return taken
                waits = (self._queue.next_due(now), None if end is None else end - now)
                self._changed.wait(min((wait for wait in waits if wait is not None), default=None))
            return None

    def done(self, key: K, failed: bool = False) -> float | None:
        """Give `key` back; return the seconds until it may be taken again, None when nobody wants it."""
        with self._changed:
            self._changed.notify()
            return self._queue.done(key, time.monotonic(), failed)

    def remove(self, key: K) -> None:
        """Forget all about `key`."""
        with self._changed:
            self._queue.remove(key)

    def failures(self, key: K) -> int:
        """Return how often `key` has failed in a row."""
        with self._changed:
            return self._queue.failures(key)

    def figures(self) -> Figures:
        """Return the numbers to watch the queue by."""
        with self._changed:
            return self._queue.figures(time.monotonic())

    def stop(self) -> None:
        """Let no more be taken, by those who wait at this moment neither; what was taken may still be given back."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
