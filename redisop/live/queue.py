"""Which `Redis` is next: one entry a key, taken by one worker at a time, and nothing that was asked for is lost.

Pure: no thread and no clock, every `now` is in monotonic seconds and never goes back. `BlockingQueue` makes it wait.
This module must not know what is done with a key. Every operation takes O(log n), amortised; `figures` takes O(n).
"""

from __future__ import annotations

import heapq
import math
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from itertools import count
from typing import Final, Generic, Literal, NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)

# The first: what fails at once has mostly met a neighbour, and requests were sent again before that for seconds.
# The longest: what heals without being seen is found so late at most; 5,000 that fail cost 17 to 33 passes a second.
FIRST_BACK_OFF: Final = 1.0
LONGEST_BACK_OFF: Final = 300.0
# Failing primaries that are looked at all the time would else keep every worker for as long as they fail.
URGENT_IN_A_ROW: Final = 8
_DOUBLINGS: Final = int(math.log2(LONGEST_BACK_OFF / FIRST_BACK_OFF)) + 1
_NOT_WANTED: Final = math.inf
_SMALL: Final = 64


class Taken(NamedTuple, Generic[K]):
    """What a worker has to do: the key, whether it was urgent, and the seconds that it has waited since it was due."""

    key: K
    urgent: bool
    waited: float


class Figures(NamedTuple):
    """The queue in numbers. The first five are controller-runtime's metrics `workqueue_<name>`, with its meaning.

    `retries_total` counts failures alone. `delayed` are those that are not due yet, `oldest_seconds` is how long the
    one that is due for the longest has waited (0 when none is).
    """

    adds_total: int
    depth: int
    retries_total: int
    unfinished_work_seconds: float
    longest_running_processor_seconds: float
    delayed: int
    oldest_seconds: float


@dataclass(slots=True, eq=False)
class _Entry(Generic[K]):
    """A key that is wanted at `due`, or that a worker took at `taken`, or both; `removed` since it was taken."""

    key: K
    due: float = _NOT_WANTED
    urgent: bool = False
    place: Literal["nowhere", "delayed", "waiting"] = "nowhere"
    taken: float | None = None
    taken_urgent: bool = False
    removed: bool = False
    failures: int = 0


class Queue(Generic[K]):
    """`namespace` says with whom a key shares its turns; `random` returns numbers from 0 to 1, for the back-off."""

    def __init__(self, namespace: Callable[[K], str], random: Callable[[], float]) -> None:
        self._random = random
        self._entries: dict[K, _Entry[K]] = {}
        self._urgent = _Turns(namespace)
        self._routine = _Turns(namespace)
        self._delayed: _Delayed[K] = _Delayed()
        self._urgent_in_a_row = 0
        self._adds = self._retries = 0

    def add(self, key: K, now: float, after: float = 0.0, urgent: bool = False) -> None:
        """Have `key` taken `after` seconds from now or, while a worker has it, once that is done.

        Of several wishes the earliest time counts, and whether one was urgent: a pass does all there is to do, and
        says itself when to look again. So an event is answered at once although the key is backing off.
        """
        self._wake(now)
        self._adds += 1
        entry = self._entries.setdefault(key, _Entry(key))
        self._want(entry, now + after, urgent, now)

    def take(self, now: float) -> Taken[K] | None:
        """Return what is to be done next, None when nothing is due; whoever takes it must call `done`.

        Urgent ones come first, but for one routine key after each eight in a row. Among equals each namespace has its
        turn, and in a namespace who could first be taken.
        """
        self._wake(now)
        turns = self._next_turns()
        if turns is None:
            return None
        entry = turns.pop()
        taken = Taken(entry.key, entry.urgent, now - entry.due)
        entry.taken, entry.taken_urgent = now, entry.urgent
        entry.due, entry.urgent, entry.place = _NOT_WANTED, False, "nowhere"
        return taken

    def done(self, key: K, now: float, failed: bool = False) -> float | None:
        """Give `key` back; return the seconds until it may be taken again, None when nobody wants it.

        After a failure it comes back by itself, as urgent as it was: in 0.5 to 1 s, after each further failure in a
        row in twice that, at last in 2.5 to 5 minutes. The random half keeps all that failed at one moment from coming
        back at one; the other half keeps each delay as long as the one before. Raises KeyError when nobody has `key`.
        """
        self._wake(now)
        entry = self._entries[key]
        if entry.taken is None:
            raise KeyError(key)
        retry = failed and not entry.removed
        entry.taken, entry.removed = None, False
        entry.failures = entry.failures + 1 if retry else 0
        if retry:
            self._retries += 1
            self._want(entry, now + self._back_off(entry.failures), entry.taken_urgent, now)
        elif entry.due == _NOT_WANTED:
            del self._entries[key]
            return None
        else:
            self._put(entry, now)
        return max(0.0, entry.due - now)

    def remove(self, key: K) -> None:
        """Forget all about `key`, which is gone; a worker that has it still gives it back, and that is the end of it.

        Added again meanwhile it is as new.
        """
        entry = self._entries.get(key)
        if entry is None:
            return
        self._pull(entry)
        entry.due, entry.urgent, entry.failures, entry.removed = _NOT_WANTED, False, 0, True
        if entry.taken is None:
            del self._entries[key]

    def failures(self, key: K) -> int:
        """Return how often `key` has failed in a row."""
        entry = self._entries.get(key)
        return entry.failures if entry else 0

    def next_due(self, now: float) -> float | None:
        """Return the seconds until `take` has something to give: 0 for at once, None for not before an `add`."""
        self._wake(now)
        if self._urgent or self._routine:
            return 0.0
        due = self._delayed.first()
        return None if due is None else due - now

    def figures(self, now: float) -> Figures:
        """Return the numbers to watch the queue by."""
        self._wake(now)
        waited = [now - entry.due for entry in self._entries.values() if entry.place == "waiting"]
        worked = [now - entry.taken for entry in self._entries.values() if entry.taken is not None]
        return Figures(
            adds_total=self._adds,
            depth=len(waited),
            retries_total=self._retries,
            unfinished_work_seconds=sum(worked),
            longest_running_processor_seconds=max(worked, default=0.0),
            delayed=len(self._delayed),
            oldest_seconds=max(waited, default=0.0),
        )

    def _next_turns(self) -> _Turns[K] | None:
        if self._urgent and not (self._routine and self._urgent_in_a_row >= URGENT_IN_A_ROW):
            self._urgent_in_a_row += 1
            return self._urgent
        self._urgent_in_a_row = 0
        return self._routine or None

    def _want(self, entry: _Entry[K], due: float, urgent: bool, now: float) -> None:
        if entry.place != "nowhere" and due >= entry.due and urgent <= entry.urgent:
            return  # it keeps its place: put anew, a key that is always added would never come to its turn
        self._pull(entry)
        entry.due, entry.urgent = min(due, entry.due), urgent or entry.urgent
        if entry.taken is None:
            self._put(entry, now)

    def _wake(self, now: float) -> None:
        while entry := self._delayed.pop(now):
            self._put(entry, now)

    def _put(self, entry: _Entry[K], now: float) -> None:
        if entry.due > now:
            entry.place = "delayed"
            self._delayed.push(entry)
        else:
            entry.place = "waiting"
            self._turns(entry).push(entry)

    def _pull(self, entry: _Entry[K]) -> None:
        if entry.place == "delayed":
            self._delayed.drop(entry)
        elif entry.place == "waiting":
            self._turns(entry).drop(entry)
        entry.place = "nowhere"

    def _turns(self, entry: _Entry[K]) -> _Turns[K]:
        return self._urgent if entry.urgent else self._routine

    def _back_off(self, failures: int) -> float:
        longest = LONGEST_BACK_OFF if failures > _DOUBLINGS else FIRST_BACK_OFF * 2.0 ** (failures - 1)
        return longest * (1.0 + self._random()) / 2.0


class _Turns(Generic[K]):
    """The entries of each namespace in their order, and the namespaces in the order of their turns.

    All of it in OrderedDicts: the first of a dict is found ever later the more were taken from its front.
    """

    def __init__(self, namespace: Callable[[K], str]) -> None:
        self._namespace = namespace
        self._namespaces: OrderedDict[str, OrderedDict[K, _Entry[K]]] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._namespaces)

    def push(self, entry: _Entry[K]) -> None:
        self._namespaces.setdefault(self._namespace(entry.key), OrderedDict())[entry.key] = entry

    def pop(self) -> _Entry[K]:
        namespace, entries = next(iter(self._namespaces.items()))
        self._namespaces.move_to_end(namespace)
        entry = next(iter(entries.values()))
        self.drop(entry)
        return entry

    def drop(self, entry: _Entry[K]) -> None:
        namespace = self._namespace(entry.key)
        entries = self._namespaces[namespace]
        del entries[entry.key]
        if not entries:
            del self._namespaces[namespace]


class _Delayed(Generic[K]):
    """The entries that are not due yet. Dropped ones stay in the heap until they are half of it, or come to its top."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, _Entry[K]]] = []
        self._numbers: dict[_Entry[K], int] = {}
        self._count = count()

    def __len__(self) -> int:
        return len(self._numbers)

    def push(self, entry: _Entry[K]) -> None:
        number = self._numbers[entry] = next(self._count)
        heapq.heappush(self._heap, (entry.due, number, entry))

    def drop(self, entry: _Entry[K]) -> None:
        del self._numbers[entry]
        if len(self._heap) > 2 * len(self._numbers) + _SMALL:
            self._heap = [item for item in self._heap if self._is_in(item)]
            heapq.heapify(self._heap)

    def first(self) -> float | None:
        """Return the earliest time, None when there is none."""
        while self._heap and not self._is_in(self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def pop(self, now: float) -> _Entry[K] | None:
        """Return the earliest entry and leave it out from now on, if it is due."""
        due = self.first()
        if due is None or due > now:
            return None
        entry = heapq.heappop(self._heap)[2]
        del self._numbers[entry]
        return entry

    def _is_in(self, item: tuple[float, int, _Entry[K]]) -> bool:
        return self._numbers.get(item[2]) == item[1]
