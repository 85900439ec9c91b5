"""Works on several things at once, so that one which hangs or fails costs the others nothing."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from typing import Final, TypeVar

# Python runs one thread at a time: more would only make each of them slower.
MOST_THREADS: Final = 4
# The kernel may give a signal to any thread, and Python acts upon it when the main thread next does something.
INTERRUPTIBLE_EVERY: Final = 0.5

T = TypeVar("T")
R = TypeVar("R")


def each(items: Sequence[T], work: Callable[[T], R]) -> list[R]:
    """Return what `work` makes of each of `items`, in their order. What it raises is raised when all are done.

    The threads are daemons: an interruption does not wait for them, and the next run goes on from what they did.
    """
    waiting: queue.SimpleQueue[tuple[T, Future[R]]] = queue.SimpleQueue()
    results: list[Future[R]] = [Future() for _ in items]
    for pair in zip(items, results, strict=True):
        waiting.put(pair)

    def serve() -> None:
        while True:
            try:
                item, result = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                result.set_result(work(item))
            except BaseException as error:
                result.set_exception(error)

    for _ in items[:MOST_THREADS]:
        threading.Thread(target=serve, daemon=True).start()
    while wait(results, timeout=INTERRUPTIBLE_EVERY).not_done:
        pass
    return [result.result() for result in results]
