"""Which Events are written, how often, and what the telling may cost."""

import threading
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest

from redisop.failures import Failure, NotFound
from redisop.live.events import MOST_SERIES, MOST_WAITING, Ledger, Recorder, Writing, event, note
from redisop.live.store import Name
from redisop.live.told import Told
from redisop.manifest import Key, Manifest

HOUR = 3600.0
OF = Name("default", "r")
UID = "8b2c1f0e-6f0b-4c51-9d3a-0f6f3a3a7c11"
REGARDING = {"apiVersion": "example.com/v1", "kind": "Redis", "namespace": "default", "name": "r", "uid": UID}
FAILED = Told("Warning", "Denied", "Create", "Service/default/r-master: no")


class FakeKube:
    """Takes Events as an API server does; `gone` are those that have expired."""

    def __init__(self, hindrance: Callable[[], None] = lambda: None) -> None:
        self.events: dict[str, Manifest] = {}
        self.patches: list[Manifest] = []
        self._hindrance = hindrance

    def until(self, deadline: float) -> "FakeKube":
        return self

    def event(self, manifest: Manifest) -> None:
        self._hindrance()
        self.events[manifest["metadata"]["name"]] = manifest

    def patch(self, which: Key, changes: Manifest) -> Manifest:
        self._hindrance()
        if which.name not in self.events:
            raise NotFound(which, "it does not exist")
        self.patches.append(changes)
        self.events[which.name] |= changes
        return self.events[which.name]


def recorder(kube: FakeKube, clock: Callable[[], float] = lambda: 0.0, leads: Callable[[], bool] = lambda: True) -> Any:
    return Recorder(kube, "redisop-0", leads, clock)  # type: ignore[arg-type]


def tell_each(ledger: Ledger, every: float, until: float, begin: float = 0.0) -> list[tuple[float, Writing]]:
    """Tell the same thing again and again; return what is written, and when."""
    moments = [begin + number * every for number in range(int(until / every) + 1)]
    found = [(now, ledger.tell(OF, UID, FAILED, int(now), now)) for now in moments]
    return [(now, writing) for now, writing in found if writing is not None]


# -- what is written --------------------------------------------------------------------------------------------------


def test_what_is_told_again_and_again_is_one_event_that_counts_at_growing_distances() -> None:
    written = tell_each(Ledger(), every=10, until=3600)
    assert {writing.serial for _, writing in written} == {0}
    assert [now / 60 for now, _ in written] == [0, 1, 3, 7, 15, 31]
    assert [writing.times for _, writing in written] == [1, 7, 19, 43, 91, 187]


def test_what_goes_on_for_a_day_is_written_before_it_expires_and_no_more_than_that() -> None:
    """Events live for an hour in most clusters (kube-apiserver's --event-ttl)."""
    written = tell_each(Ledger(), every=300, until=24 * HOUR)
    distances = [later - earlier for (earlier, _), (later, _) in pairwise(written)]
    assert max(distances) < HOUR
    assert len(written) < 60


def test_what_was_told_an_hour_ago_is_told_as_new() -> None:
    ledger = Ledger()
    assert ledger.tell(OF, UID, FAILED, 1, 0.0) == Writing(1, 1)
    assert ledger.tell(OF, UID, FAILED, 2, HOUR + 1) == Writing(2, 1)


def test_what_was_told_an_hour_ago_is_told_as_new_though_other_things_were_told_since() -> None:
    ledger = Ledger()
    assert ledger.tell(OF, UID, FAILED, 1, 0.0) == Writing(1, 1)
    assert ledger.tell(OF, UID, FAILED._replace(note="other"), 2, HOUR / 2) == Writing(2, 1)
    assert ledger.tell(OF, UID, FAILED, 3, HOUR + 1) == Writing(3, 1)


def test_another_note_or_another_redis_is_another_event() -> None:
    ledger = Ledger()
    assert ledger.tell(OF, UID, FAILED, 1, 0.0) == Writing(1, 1)
    assert ledger.tell(OF, UID, FAILED._replace(note="other"), 2, 0.0) == Writing(2, 1)
    assert ledger.tell(Name("default", "another"), UID, FAILED, 3, 0.0) == Writing(3, 1)


def test_a_redis_writes_25_at_once_and_then_one_each_five_minutes_whatever_is_told() -> None:
    ledger = Ledger()
    moments = [
        now
        for now in range(0, 3600, 5)
        if ledger.tell(OF, UID, FAILED._replace(note=f"number {now}"), now, float(now)) is not None
    ]
    assert moments[:25] == list(range(0, 125, 5))
    assert len(moments) == 25 + 11
    assert (moments[-1] - moments[25]) / 10 == pytest.approx(300, abs=5)
    assert ledger.tell(Name("default", "another"), UID, FAILED, 1, 3600.0) is not None


# -- what it costs ----------------------------------------------------------------------------------------------------


def test_a_redis_costs_some_hundred_bytes_for_an_hour_and_then_nothing() -> None:
    ledger, names = Ledger(), [Name("default", f"my-redis-{number}") for number in range(2000)]
    notes = [FAILED._replace(note=f"{number} " + "x" * 1000) for number in range(20)]
    tracemalloc.start()
    for of in names:
        ledger.tell(of, UID, notes[0], 1_900_000_000_000_000, 0.0)
    one = tracemalloc.get_traced_memory()[0] / len(names)
    for of in names:
        for each in notes:
            ledger.tell(of, UID, each, 1_900_000_000_000_000, 1.0)
    many = tracemalloc.get_traced_memory()[0] / len(names)
    ledger.tell(Name("default", "another"), UID, FAILED, 1, HOUR + 2)
    tracemalloc.stop()
    print(f"{one:.0f} bytes with one thing told, {many:.0f} with 20")  # noqa: T201
    assert one < 600
    assert many < 300 + 300 * MOST_SERIES
    assert len(ledger) == 1


def test_a_redis_that_is_gone_is_forgotten() -> None:
    ledger = Ledger()
    ledger.tell(OF, UID, FAILED, 1, 0.0)
    ledger.forget(OF)
    ledger.forget(OF)
    assert len(ledger) == 0


def test_a_redis_of_the_same_name_that_was_made_anew_begins_anew() -> None:
    ledger = Ledger()
    ledger.tell(OF, UID, FAILED, 1, 0.0)
    assert ledger.tell(OF, "another-uid", FAILED, 2, 1.0) == Writing(2, 1)


def test_nobody_waits_for_an_api_server_that_hangs_and_what_waits_is_bounded() -> None:
    hangs = threading.Event()
    voice = recorder(FakeKube(lambda: hangs.wait(30) and None))
    for number in range(3 * MOST_WAITING):
        voice.record(Name("default", str(number)), UID, [FAILED])
    assert voice._waiting.qsize() == MOST_WAITING
    voice.close(0.1)
    hangs.set()


def test_a_client_that_raises_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    trouble: list[Exception] = [ZeroDivisionError()]

    def once() -> None:
        if trouble:
            raise trouble.pop()

    kube = FakeKube(once)
    voice = recorder(kube)
    voice.record(OF, UID, [FAILED])
    voice.record(OF, UID, [FAILED._replace(note="later")])
    voice.close(10)
    assert [each["note"] for each in kube.events.values()] == ["later"]
    assert "an Event could not be written" in caplog.text


# -- what an Event says -----------------------------------------------------------------------------------------------


def test_an_event_is_about_the_redis_and_names_who_says_it() -> None:
    kube = FakeKube()
    voice = recorder(kube)
    voice.record(OF, UID, [FAILED])
    voice.close(10)
    [written] = kube.events.values()
    assert written["regarding"] == REGARDING
    assert (written["type"], written["reason"], written["action"], written["note"]) == FAILED
    assert (written["reportingController"], written["reportingInstance"]) == ("redisop", "redisop-0")
    assert written["metadata"]["namespace"] == "default"
    assert "series" not in written
    assert datetime.strptime(written["eventTime"], "%Y-%m-%dT%H:%M:%S.%f%z").tzinfo == UTC


def test_a_repetition_is_counted_on_the_event_that_there_is_or_on_a_new_one_once_it_has_expired() -> None:
    kube, now = FakeKube(), [0.0]
    voice = recorder(kube, lambda: now[0])

    def tell(times: int) -> None:
        for _ in range(times):
            voice.record(OF, UID, [FAILED])
        while not voice._waiting.empty():
            threading.Event().wait(0.01)
        threading.Event().wait(0.05)

    tell(3)
    now[0] = 61.0
    tell(1)
    [name] = kube.events
    assert [patch["series"]["count"] for patch in kube.patches] == [4]
    kube.events.clear()
    now[0] = 200.0
    tell(1)
    voice.close(10)
    assert list(kube.events) == [name]
    assert kube.events[name]["series"]["count"] == 5


def test_who_no_longer_leads_writes_nothing() -> None:
    kube, leads = FakeKube(), [True]
    voice = recorder(kube, leads=lambda: leads[0])
    leads[0] = False
    voice.record(OF, UID, [FAILED])
    voice.close(10)
    assert kube.events == {}


@pytest.mark.parametrize("text", ["x" * 5000, "é" * 600, "\N{GRINNING FACE}" * 300])
def test_a_note_has_at_most_1024_bytes_and_whole_characters(text: str) -> None:
    """ValidateEventCreate in the API server counts the bytes."""
    short = note(text)
    assert len(short.encode()) <= 1024
    assert short.endswith("…")
    assert text.startswith(short[:-1])


def test_a_note_holds_nothing_that_a_terminal_acts_upon() -> None:
    assert note("a\nb\x1b[31mred\x07 \ud800\u202e") == "a b\ufffd[31mred\ufffd \ufffd\ufffd"


def test_a_failure_to_count_leaves_the_event_as_it_was() -> None:
    class Broken(FakeKube):
        def patch(self, which: Key, changes: Manifest) -> Manifest:
            raise Failure(which, "no")

    kube, now = Broken(), [0.0]
    voice = recorder(kube, lambda: now.__setitem__(0, now[0] + 61) or now[0])
    voice.record(OF, UID, [FAILED, FAILED])
    voice.close(10)
    assert [each.get("series") for each in kube.events.values()] == [None]


def test_an_event_of_the_second_time_on_has_a_series() -> None:
    now = datetime(2030, 1, 1, tzinfo=UTC)
    series = event(REGARDING, FAILED, Writing(1, 2), now, "i")["series"]
    assert series == {"count": 2, "lastObservedTime": "2030-01-01T00:00:00.000000Z"}
