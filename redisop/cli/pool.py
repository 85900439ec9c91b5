"""Works on several things at once, so that one which hangs or fails costs the others nothing."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

# Python runs one thread at a time: more would only make each of them slower.
MOST_THREADS: Final = 4

T = TypeVar("T")
R = TypeVar("R")


def each(items: Sequence[T], work: Callable[[T], R]) -> list[R]:
    """Return what `work`, which must not raise, makes of each of `items`, in their order.

    The threads are daemons: an interruption does not wait for them, and the next run goes on from what they did.
    """
    waiting: queue.SimpleQueue[tuple[int, T]] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[int, R]] = queue.SimpleQueue()
    for numbered in enumerate(items):
        waiting.put(numbered)

    def serve() -> None:
        while True:
            try:
                number, item = waiting.get_nowait()
            except queue.Empty:
                return
            done.put((number, work(item)))

    for _ in items[:MOST_THREADS]:
        threading.Thread(target=serve, daemon=True).start()
    results = dict(done.get() for _ in items)
    return [results[number] for number in range(len(items))]
