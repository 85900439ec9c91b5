"""The queue: one worker a key, nothing lost, urgent first, every namespace in its turn, and a memory that ends."""

import gc
import itertools
import random
import threading
import weakref
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from redisop.live.blocking_queue import BlockingQueue
from redisop.live.queue import LONGEST_BACK_OFF, URGENT_IN_A_ROW, Queue
from redisop.manifest import Key

A, B, C = (Key("Redis", "shop", name) for name in "abc")


def queue(jitter=lambda: 1.0):
    return Queue(lambda key: key.namespace, jitter)


def drained(some, now=0.0):
    """Take all that is due, and give it back at the end."""
    taken = list(iter(lambda: some.take(now), None))
    for each in taken:
        some.done(each.key, now)
    return [each.key for each in taken]


def test_what_was_added_is_taken_once_in_the_order_in_which_it_came():
    some = queue()
    for key in (A, B, A, C, B):
        some.add(key, 0.0)
    assert drained(some) == [A, B, C]
    assert drained(some) == []


def test_what_is_added_while_a_worker_has_it_is_taken_again_once_that_is_done():
    some = queue()
    some.add(A, 0.0)
    some.take(1.0)
    some.add(A, 2.0)
    assert some.take(3.0) is None
    assert some.done(A, 5.0) == 0.0
    assert some.take(6.0) == (A, False, 4.0)
    assert some.done(A, 7.0) is None
    assert some.take(8.0) is None


def test_only_what_was_taken_can_be_given_back():
    some = queue()
    some.add(A, 0.0)
    for key in (A, B):
        with pytest.raises(KeyError):
            some.done(key, 0.0)


@pytest.mark.parametrize("delays", list(itertools.permutations([3.0, 5.0, 8.0])))
def test_of_several_times_the_earliest_counts_and_it_is_taken_once(delays):
    some = queue()
    for delay in delays:
        some.add(A, 0.0, after=delay)
    assert (some.take(2.9), some.next_due(2.0)) == (None, 1.0)
    assert some.take(3.5) == (A, False, 0.5)
    some.done(A, 3.5)
    assert (some.take(9.0), some.next_due(9.0)) == (None, None)


def test_what_is_wanted_now_does_not_wait_for_the_time_that_was_named_before():
    some = queue()
    some.add(A, 0.0, after=60.0)
    some.add(A, 1.0)
    assert some.next_due(1.0) == 0.0
    assert drained(some, 1.0) == [A]
    assert some.next_due(1.0) is None


def test_urgent_ones_come_first_also_those_that_were_routine_before():
    some = queue()
    for key in (A, B, C):
        some.add(key, 0.0)
    some.add(C, 0.0, urgent=True)
    some.add(C, 0.0)
    assert [some.take(0.0)[:2] for _ in range(3)] == [(C, True), (A, False), (B, False)]


def test_routine_work_goes_on_while_urgent_work_never_ends():
    some = queue()
    urgent = [Key("Redis", "fire", str(number)) for number in range(20)]
    for key in urgent:
        some.add(key, 0.0, urgent=True)
    some.add(A, 0.0)
    some.add(B, 0.0)
    taken = []
    for _ in range(3 * (URGENT_IN_A_ROW + 1)):
        key = some.take(0.0).key
        taken.append(key)
        some.done(key, 0.0)
        if key in urgent:
            some.add(key, 0.0, urgent=True)
    assert [number for number, key in enumerate(taken) if key in (A, B)] == [8, 17]


def test_a_namespace_with_a_thousand_does_not_hold_up_another():
    some = queue()
    for number in range(1000):
        some.add(Key("Redis", "noisy", str(number)), 0.0)
    some.add(A, 0.0)
    some.add(Key("Redis", "other", "x"), 0.0)
    first = [some.take(0.0).key.namespace for _ in range(4)]
    assert first == ["noisy", "shop", "other", "noisy"]


def test_a_key_that_is_always_added_anew_keeps_its_place():
    some = queue()
    some.add(A, 0.0)
    some.add(B, 0.0)
    some.add(A, 1.0)
    assert drained(some, 1.0) == [A, B]


def delays(jitter, count=14):
    some = queue(jitter)
    now = 0.0
    some.add(A, now)
    for _ in range(count):
        assert some.take(now)
        delay = some.done(A, now, failed=True)
        assert some.take(now + delay - 0.001) is None
        now += delay
        yield delay


def test_what_fails_comes_back_by_itself_ever_later_up_to_five_minutes():
    assert list(delays(lambda: 1.0)) == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300, 300, 300]
    assert list(delays(lambda: 0.0)) == [0.5, 1, 2, 4, 8, 16, 32, 64, 128, 150, 150, 150, 150, 150]


@given(st.randoms(use_true_random=False))
def test_no_chance_makes_a_back_off_shorter_than_the_one_before_until_the_longest(chance):
    found = list(delays(chance.random, 12))
    assert all(now <= later + 1e-9 for now, later in itertools.pairwise(found[:9]))
    assert all(LONGEST_BACK_OFF / 2 - 1e-9 <= delay <= LONGEST_BACK_OFF + 1e-9 for delay in found[9:])


def test_a_success_ends_the_back_off():
    some = queue()
    some.add(A, 0.0)
    for _ in range(5):
        some.take(1000.0)
        some.done(A, 0.0, failed=True)
    assert some.failures(A) == 5
    some.take(1000.0)
    some.done(A, 1000.0)
    assert some.failures(A) == 0
    some.add(A, 1000.0)
    some.take(1000.0)
    assert some.done(A, 1000.0, failed=True) == 1.0


def test_an_event_is_answered_at_once_although_the_key_backs_off_and_leaves_the_back_off_as_it_is():
    some = queue()
    some.add(A, 0.0)
    some.take(0.0)
    some.done(A, 0.0, failed=True)
    some.add(A, 0.1)
    assert some.take(0.1).key == A
    assert some.done(A, 0.1, failed=True) == 2.0


def test_what_was_urgent_and_failed_comes_back_urgent():
    some = queue()
    some.add(A, 0.0, urgent=True)
    some.take(0.0)
    some.done(A, 0.0, failed=True)
    some.add(B, 0.5)
    assert some.take(1.0)[:2] == (A, True)


def test_a_removed_key_is_not_taken_and_leaves_nothing_behind():
    some = queue()
    for after, urgent in [(0.0, False), (0.0, True), (9.0, False)]:
        some.add(A, 0.0, after, urgent)
        some.remove(A)
        assert (some.take(10.0), some.next_due(10.0)) == (None, None)
    some.remove(B)
    some.add(A, 10.0)
    assert some.take(10.0) == (A, False, 0.0)


@pytest.mark.parametrize("failed", [False, True])
def test_a_key_that_was_removed_while_a_worker_had_it_is_forgotten_when_that_is_done(failed):
    some = queue()
    some.add(A, 0.0)
    some.take(0.0)
    some.add(A, 0.0)
    some.remove(A)
    assert some.done(A, 1.0, failed) is None
    assert (some.take(1000.0), some.failures(A)) == (None, 0)


def test_a_key_that_was_removed_and_added_again_while_a_worker_had_it_is_as_new():
    some = queue()
    some.add(A, 0.0)
    some.take(0.0)
    some.done(A, 0.0, failed=True)
    some.take(1.0)
    some.remove(A)
    some.add(A, 1.5)
    assert some.take(1.5) is None
    assert some.done(A, 2.0, failed=True) == 0.0
    assert (some.take(2.0).key, some.failures(A)) == (A, 0)


def test_nothing_of_a_hundred_thousand_removed_keys_is_kept():
    class Name(str):
        __slots__ = ("__weakref__",)

    some = queue(random.Random(1).random)
    alive = weakref.WeakSet()
    for number in range(100_000):
        name = Name(number)
        alive.add(name)
        key = Key("Redis", "shop", name)
        some.add(key, number, after=number % 3 * 100_000)
        if number % 3 == 0:
            some.take(number)
            some.done(key, number, failed=number % 2 == 0)
        some.remove(key)
    del key, name
    gc.collect()
    assert len(alive) <= 100


def test_a_time_that_is_named_earlier_and_earlier_leaves_nothing_behind():
    some = queue()
    for after in range(100_000, 0, -1):
        some.add(A, 0.0, after)
    assert some.figures(0.0).delayed == 1
    assert len(some._delayed._heap) <= 100


def test_the_figures_say_how_it_stands():
    some = queue()
    for number in range(4):
        some.add(Key("Redis", "shop", str(number)), float(number))
    some.add(A, 4.0, after=9.0)
    some.take(5.0)
    some.take(6.0)
    figures = some.figures(10.0)
    assert figures._asdict() == {
        "adds_total": 5,
        "depth": 2,
        "retries_total": 0,
        "unfinished_work_seconds": 9.0,
        "longest_running_processor_seconds": 5.0,
        "delayed": 1,
        "oldest_seconds": 8.0,
    }
    some.done(Key("Redis", "shop", "0"), 10.0, failed=True)
    assert some.figures(10.0)[2] == 1
    assert queue().figures(0.0) == (0, 0, 0, 0.0, 0.0, 0, 0.0)


keys = st.builds(Key, st.just("Redis"), st.sampled_from("xyz"), st.sampled_from("12345"))


class Workers(RuleBasedStateMachine):
    """Beside the queue stands what a slow and simple one would know: which keys are wanted when, and who has them."""

    def __init__(self):
        super().__init__()
        self.now = 0.0
        self.queue = queue(random.Random(7).random)
        self.wanted: dict[Key, float] = {}  # the earliest time that was asked for since the key was last taken
        self.urgent: set[Key] = set()
        self.had: dict[Key, bool] = {}  # urgent when it was taken
        self.gone: set[Key] = set()  # since it was taken
        self.passed_over: Counter[Key] = Counter()  # how often another of its urgency went first
        self.given_back: dict[Key, float] = {}  # when a worker last did
        self.urgent_in_a_row = 0

    def due(self):
        return {key for key, due in self.wanted.items() if due <= self.now and key not in self.had}

    def in_line_since(self, key):
        return max(self.wanted[key], self.given_back.get(key, 0.0))

    @rule(key=keys, after=st.sampled_from([0.0, 0.0, 0.5, 2.0, 60.0]), urgent=st.booleans())
    def add(self, key, after, urgent):
        self.queue.add(key, self.now, after, urgent)
        self.wanted[key] = min(self.now + after, self.wanted.get(key, self.now + after))
        if urgent and key not in self.urgent:
            self.urgent.add(key)
            self.passed_over.pop(key, None)

    @rule(seconds=st.sampled_from([0.1, 1.0, 30.0, 300.0]))
    def wait(self, seconds):
        self.now += seconds

    @rule()
    def take(self):
        due = self.due()
        taken = self.queue.take(self.now)
        assert (taken is None) == (not due)
        if taken is None:
            return
        assert taken.key in due
        assert taken.urgent == (taken.key in self.urgent)
        assert taken.waited == pytest.approx(self.now - self.wanted[taken.key])
        alike = {key for key in due if (key in self.urgent) == taken.urgent}
        if not taken.urgent:  # an urgent one may have become so later than it was due
            ahead = [key for key in alike if key.namespace == taken.key.namespace]
            assert self.in_line_since(taken.key) <= min(map(self.in_line_since, ahead)) + 1e-9
        if due & self.urgent and not taken.urgent:
            assert self.urgent_in_a_row >= URGENT_IN_A_ROW
        self.urgent_in_a_row = self.urgent_in_a_row + 1 if taken.urgent else 0
        for key in alike - {taken.key}:
            self.passed_over[key] += 1
        del self.wanted[taken.key]
        self.passed_over.pop(taken.key, None)
        self.had[taken.key] = taken.urgent
        self.urgent.discard(taken.key)

    @precondition(lambda self: self.had)
    @rule(data=st.data(), failed=st.booleans())
    def done(self, data, failed):
        key = data.draw(st.sampled_from(sorted(self.had)))
        urgent = self.had.pop(key)
        self.given_back[key] = self.now
        delay = self.queue.done(key, self.now, failed)
        if failed and key not in self.gone:
            assert 0.0 <= delay <= LONGEST_BACK_OFF + 1e-9
            assert key not in self.wanted or delay <= max(0.0, self.wanted[key] - self.now) + 1e-9
            self.wanted[key] = min(self.now + delay, self.wanted.get(key, self.now + delay))
            self.urgent |= {key} if urgent else set()
        else:
            assert delay == (max(0.0, self.wanted[key] - self.now) if key in self.wanted else None)
        self.gone.discard(key)

    @rule(key=keys)
    def remove(self, key):
        self.queue.remove(key)
        self.wanted.pop(key, None)
        self.passed_over.pop(key, None)
        self.urgent.discard(key)
        if key in self.had:
            self.gone.add(key)

    @invariant()
    def nobody_waits_for_longer_than_the_turns_of_the_others(self):
        """Three namespaces of five keys: before its own turn comes each other namespace has one, for each before it."""
        for key, count in self.passed_over.items():
            assert count <= 3 * 5, key

    @invariant()
    def it_says_when_there_is_something_to_take(self):
        times = [due for key, due in self.wanted.items() if key not in self.had]
        expected = max(0.0, min(times) - self.now) if times else None
        assert self.queue.next_due(self.now) == (expected if expected is None else pytest.approx(expected))

    @invariant()
    def it_counts_what_there_is(self):
        figures = self.queue.figures(self.now)
        free = [key for key in self.wanted if key not in self.had]
        assert (figures.depth, figures.delayed) == (len(self.due()), len(free) - len(self.due()))

    def teardown(self):
        """Whatever was asked for and not taken since is taken in the end."""
        for key in list(self.had):
            self.queue.done(key, self.now)
        self.had.clear()
        self.now += 1000.0
        assert set(drained(self.queue, self.now)) == set(self.wanted)
        assert self.queue._entries == {}


TestWorkers = Workers.TestCase
TestWorkers.settings = settings(max_examples=150, stateful_step_count=60, deadline=None)


# -- the queue that threads wait at ------------------------------------------------------------------------------------


def blocking():
    return BlockingQueue(lambda key: key.namespace)


def test_threads_never_have_the_same_key_at_once_and_see_every_change():
    some = blocking()
    keys = [Key("Redis", f"ns-{number % 7}", str(number)) for number in range(40)]
    written = dict.fromkeys(keys, 0)
    seen = dict.fromkeys(keys, 0)
    locks = {key: threading.Lock() for key in keys}
    twice = []

    def work():
        while taken := some.take(20.0):
            if not locks[taken.key].acquire(blocking=False):
                twice.append(taken.key)
                continue
            seen[taken.key] = written[taken.key]
            locks[taken.key].release()
            some.done(taken.key)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    chance = random.Random(3)
    for _ in range(4000):
        key = chance.choice(keys)
        written[key] += 1
        some.add(key, urgent=chance.random() < 0.1, after=chance.choice([0.0, 0.0, 0.001]))
    figures = some.figures()
    while figures.depth or figures.delayed or figures.unfinished_work_seconds:
        figures = some.figures()
    some.stop()
    for worker in workers:
        worker.join()
    assert twice == []
    assert seen == written


def test_who_waits_is_woken_by_what_is_added_earlier_than_what_it_waits_for():
    some = blocking()
    some.add(A, after=600.0)
    threading.Timer(0.05, lambda: some.add(B)).start()
    assert some.take(20.0).key == B


def test_who_waits_gets_what_becomes_due_meanwhile():
    some = blocking()
    some.add(A, after=0.05)
    assert some.take(20.0).key == A
    threading.Timer(0.05, lambda: some.done(A)).start()
    some.add(A)
    assert some.take(20.0).key == A


def test_waiting_ends_in_time_and_when_the_queue_stops():
    some = blocking()
    assert some.take(0.01) is None
    threading.Timer(0.05, some.stop).start()
    assert some.take() is None
    some.add(A)
    assert some.take() is None


def test_what_a_worker_has_can_be_given_back_after_the_queue_stopped():
    some = blocking()
    some.add(A)
    some.take()
    some.stop()
    assert some.done(A, failed=True) > 0
    assert some.failures(A) == 1
    some.remove(A)
    assert some.figures()[:2] == (1, 0)
