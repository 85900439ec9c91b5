"""Candidates for one Lease on a clock that the test moves: never two lead, and before long one does.

The API server is a small fake that keeps one Lease and its version. A request can fail before or after it was done, and
take any time, in which others go on.
"""

import contextlib
import random
import threading
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from redisop.failures import AlreadyExists, Failure, NotFound, Stale, Unreachable
from redisop.live.lease import Elector, Term, Times, identity, since_boot
from redisop.manifest import Key

LEASE = Key("Lease", "operators", "redisop")


class Api:
    """One Lease as the API server keeps it, and the clock."""

    def __init__(self):
        self.now = 1000.0
        self.spec = None
        self.labels = {}
        self.versions = 0
        self.written = []

    def stored(self):
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"resourceVersion": str(self.versions), "labels": self.labels},
            "spec": dict(self.spec),
        }

    def put(self, **spec):
        """Write without a precondition, as a person does."""
        self.spec = {**(self.spec or {}), **spec}
        self.versions += 1

    def get(self, which):
        assert which == LEASE
        return None if self.spec is None else self.stored()

    def create(self, manifest):
        if self.spec is not None:
            raise AlreadyExists(LEASE, "it is there")
        self.written.append(manifest["spec"])
        self.put(**manifest["spec"])
        return self.stored()

    def patch(self, which, changes):
        if self.spec is None:
            raise NotFound(which, "it is gone")
        if changes["metadata"]["resourceVersion"] != str(self.versions):
            raise Stale(which, "it has changed")
        self.written.append(changes["spec"])
        if self.spec != self.spec | changes["spec"]:  # else the API server keeps the version that there is
            self.put(**changes["spec"])
        return self.stored()


class Link:
    """A client; `before` and `after` are called around what the API server does, and may raise."""

    def __init__(self, api):
        self.api = api
        self.heal()

    def heal(self):
        self.before = self.after = lambda: None

    def until(self, deadline):
        return self

    def get(self, which):
        return self._ask(lambda: self.api.get(which))

    def create(self, manifest):
        return self._ask(lambda: self.api.create(manifest))

    def patch(self, which, changes):
        return self._ask(lambda: self.api.patch(which, changes))

    def _ask(self, do):
        self.before()
        answer = do()
        self.after()
        return answer


class Candidate:
    """An elector that is moved by hand."""

    def __init__(self, api, name):
        self.api = api
        self.link = Link(api)
        self.name = name
        self.today = lambda: datetime(2030, 1, 1, tzinfo=UTC) + timedelta(seconds=api.now)
        self.elector = Elector(self.link, LEASE, name, clock=lambda: api.now, today=lambda: self.today())
        self.next = api.now

    @property
    def term(self):
        return self.elector.term

    def turn(self):
        """Take a turn, and note when the next one is due."""
        pause = 2.0
        with contextlib.suppress(Failure):
            pause = self.elector.turn()
        self.next = self.api.now + pause


def go_on(api, candidates, seconds, until=lambda: False):
    """Let time pass and everybody have its turns; return the time that passed until `until()` was true."""
    begun = api.now
    while api.now < begun + seconds and not until():
        first = min(candidates, key=lambda candidate: candidate.next)
        api.now = max(api.now, min(first.next, begun + seconds))
        if first.next <= api.now:
            first.turn()
        assert sum(candidate.term is not None for candidate in candidates) <= 1
    return api.now - begun


def cut():
    raise Unreachable(LEASE, "no answer")


@pytest.fixture
def api():
    return Api()


@pytest.fixture
def one(api):
    one = Candidate(api, "one")
    one.turn()
    assert one.term
    return one


@pytest.fixture
def two(api, one):
    two = Candidate(api, "two")
    two.turn()
    assert two.term is None
    return two


def test_the_first_leads_at_once_and_says_so_in_the_lease(api, one):
    assert one.term.left() == 10.0
    assert api.spec == {
        "holderIdentity": "one",
        "leaseDurationSeconds": 15,
        "acquireTime": "2030-01-01T00:16:40.000000Z",
        "renewTime": "2030-01-01T00:16:40.000000Z",
        "leaseTransitions": 0,
    }


def test_who_leads_goes_on_in_one_term_with_one_write_for_each_renewal(api, one, two):
    term = one.term
    assert go_on(api, [one, two], 3600) == 3600
    assert one.term is term
    assert term.left() > 7.9
    assert 3600 / 2 <= len(api.written) <= 3600 / 1.5 + 2
    assert (two.elector.holder, api.spec["leaseTransitions"]) == ("one", 0)


def test_a_leader_that_dies_is_followed_after_the_lease_has_run_out_and_not_before(api, one, two):
    go_on(api, [one, two], 100)
    renewed = api.now
    one.turn()
    passed = go_on(api, [two], 60, until=lambda: two.term)
    assert 15.0 <= passed <= 17.0
    assert two.term.left() == 10.0
    assert (api.now - renewed, api.spec["leaseTransitions"], api.spec["holderIdentity"]) == (passed, 1, "two")


def test_a_lease_that_was_given_up_is_taken_at_the_next_look(api, one, two):
    term = one.term
    one.elector.stop(0.0)
    assert not term.held()
    one.elector.give_up()
    assert go_on(api, [two], 60, until=lambda: two.term) <= 2.0
    one.elector.give_up()  # which was given up by now
    assert api.spec["holderIdentity"] == "two"


def test_giving_up_what_somebody_has_changed_meanwhile_still_gives_it_up(api, one):
    api.put(renewTime="2031-01-01T00:00:00.000000Z")
    one.elector.give_up()
    assert api.spec["holderIdentity"] == ""
    assert one.elector.holder == ""


def test_a_turn_that_ends_after_the_stop_begins_no_term(api):
    late = Candidate(api, "late")
    late.link.after = lambda: late.elector.stop(0.0)
    late.turn()
    assert (late.term, api.spec["holderIdentity"]) == (None, "late")
    late.elector.give_up()
    assert api.spec["holderIdentity"] == ""


def test_the_term_is_over_although_the_renewal_hangs(api, one):
    term = one.term
    held = []

    def hang():
        for _ in range(12):
            api.now += 1.0
            held.append(term.held())
        cut()

    one.link.before = hang
    one.turn()
    assert held == [True] * 9 + [False] * 3
    assert term.left() == 0.0


def test_the_term_counts_from_when_the_renewal_was_sent_not_from_when_it_was_answered(api, one):
    def slowly():
        api.now += 6.0

    one.link.after = slowly
    one.turn()
    assert one.term.left() == pytest.approx(4.0)


@pytest.mark.parametrize("frozen", [10.0, 16.0, 3600.0])
def test_who_was_stopped_finds_on_waking_that_it_leads_no_more_and_what_it_began_stays_over(api, one, two, frozen):
    term = one.term
    go_on(api, [two], frozen)
    assert not term.held()
    one.turn()
    assert not term.held()
    assert (one.term is None) == (frozen > 15.0)
    assert one.term is not term


def test_a_write_that_was_sent_before_a_long_sleep_makes_nobody_lead_afterwards(api, two, one):
    api.put(holderIdentity="", leaseDurationSeconds=1)
    one.elector.stop(0.0)

    def sleep():
        api.now += 60.0

    two.link.after = sleep
    two.turn()
    assert api.spec["holderIdentity"] == "two"
    assert two.term is None


def test_an_api_server_that_is_away_for_less_than_the_deadline_ends_no_term(api, one, two):
    term = one.term
    one.link.before = two.link.before = cut
    go_on(api, [one, two], 7.0)
    one.link.heal()
    two.link.heal()
    go_on(api, [one, two], 60.0)
    assert one.term is term


def test_an_api_server_that_is_away_for_longer_ends_the_term_and_another_begins_soon_after(api, one, two):
    term = one.term
    one.link.before = two.link.before = cut
    go_on(api, [one, two], 120.0)
    assert not term.held()
    one.link.heal()
    two.link.heal()
    assert go_on(api, [one, two], 60.0, until=lambda: one.term or two.term) <= 2.0
    assert not term.held()


def test_a_renewal_whose_reply_was_lost_is_repeated(api, one):
    term = one.term
    one.link.after = cut
    api.now += 2.0
    one.turn()
    one.link.heal()
    api.now += 2.0
    one.turn()
    assert one.term is term
    assert term.left() == 10.0


def test_a_first_write_whose_reply_was_lost_is_found_to_be_ones_own(api):
    lone = Candidate(api, "lone")
    writes = iter([lambda: None, cut])  # the look, then the creation
    lone.link.after = lambda: next(writes)()
    lone.turn()
    assert (lone.term, api.spec["holderIdentity"]) == (None, "lone")
    lone.link.heal()
    lone.turn()
    assert lone.term.left() == 10.0


def test_who_was_slower_than_another_does_not_lead(api):
    one, two = Candidate(api, "one"), Candidate(api, "two")
    asked = iter([lambda: None, two.turn])
    one.link.before = lambda: next(asked)()
    one.turn()
    assert (bool(one.term), bool(two.term)) == (False, True)


def test_a_label_that_somebody_sets_ends_no_term_and_makes_nobody_wait_longer(api, one, two):
    term = one.term
    api.put()
    one.turn()
    assert one.term is term
    for _ in range(18):
        api.put()
        go_on(api, [two], 1.0)
    assert two.term


def test_a_lease_that_somebody_deletes_is_made_again_by_who_leads(api, one, two):
    term = one.term
    api.spec = None
    go_on(api, [two, one], 60.0)
    assert one.term is term
    assert api.spec["holderIdentity"] == "one"


def test_a_lease_that_was_deleted_is_not_free_for_those_who_have_seen_it(api, one, two):
    api.spec = None
    assert 15.0 <= go_on(api, [two], 60.0, until=lambda: two.term) <= 17.0


GARBAGE = [
    {"holderIdentity": ""},
    {"holderIdentity": None, "leaseDurationSeconds": None, "renewTime": None},
    {"holderIdentity": "nobody", "leaseDurationSeconds": 2**31 - 1},
    {"leaseDurationSeconds": 1},
    {"renewTime": "9999-12-31T23:59:59.999999Z", "acquireTime": None},
    {"leaseTransitions": 2**31 - 1},
]


@pytest.mark.parametrize("garbage", GARBAGE)
def test_no_garbage_in_the_lease_makes_two_lead_or_nobody_for_long(api, one, two, garbage):
    api.put(**garbage)
    two.turn()
    go_on(api, [two, one], 80.0)
    assert one.term or two.term
    go_on(api, [two if one.term else one], 80.0)
    assert one.term or two.term
    assert 0 <= api.spec["leaseTransitions"] < 2**31  # more the API server does not take


def test_a_lease_without_a_spec_is_taken_once_it_has_not_changed_for_so_long(api):
    api.put()
    lone = Candidate(api, "lone")
    assert 15.0 <= go_on(api, [lone], 60.0, until=lambda: lone.term) <= 17.0


def test_who_finds_another_name_in_the_lease_stops_at_once(api, one):
    term = one.term
    api.put(holderIdentity="other")
    one.turn()
    assert not term.held()


@pytest.mark.parametrize("jump", [-3600, 3600])
def test_no_wall_clock_counts(api, one, two, jump):
    term = one.term
    go_on(api, [one, two], 20)
    right = one.today
    one.today = lambda: right() + timedelta(seconds=jump)
    go_on(api, [one, two], 60)
    assert one.term is term


def test_a_renewal_changes_the_lease_although_the_wall_clock_stands_still(api, one, two):
    term = one.term
    one.today = lambda: datetime(2030, 1, 1, tzinfo=UTC)
    go_on(api, [one, two], 60)
    assert one.term is term


def test_an_answer_that_is_no_lease_is_a_failure_that_says_so(api):
    lone = Candidate(api, "lone")
    lone.link.get = lambda which: {"kind": "Status"}
    with pytest.raises(Failure, match=r"^Lease/operators/redisop: .* no Lease .*is it a Kubernetes API server\?"):
        lone.elector.turn()


@pytest.mark.parametrize("times", [(15, 15, 2), (15, 10, 5), (15, 10, 0), (61, 10, 2)])
def test_times_by_which_two_could_lead_or_nobody_are_refused(times):
    with pytest.raises(ValueError, match="each must be longer than the next"):
        Times(*times)


def test_no_two_processes_have_one_name():
    assert identity() != identity()


class Race(RuleBasedStateMachine):
    """Three candidates, any failure of any request at any time, and somebody who edits the Lease by hand."""

    def __init__(self):
        super().__init__()
        self.api = Api()
        self.count = 0
        self.candidates = []
        for _ in range(3):
            self.candidates.append(self.candidate())
            self.candidates[-1].turn()

    def candidate(self):
        self.count += 1
        return Candidate(self.api, str(self.count))

    def check(self):
        assert sum(candidate.term is not None for candidate in self.candidates) <= 1

    @rule(
        who=st.integers(0, 2),
        others=st.lists(st.tuples(st.sampled_from([0.0, 0.3, 2.0, 7.0, 14.0, 16.0]), st.integers(0, 2)), max_size=4),
        committed=st.booleans(),
        answered=st.booleans(),
        at=st.integers(1, 3),
    )
    def turn(self, who, others, committed, answered, at):
        """Somebody's turn; during its `at`-th request time passes and others have theirs."""
        candidate = self.candidates[who]
        asked = 0

        def meanwhile():
            nonlocal asked
            asked += 1
            if asked != at:
                return
            for seconds, other in others:
                self.api.now += seconds
                if other != who:
                    self.candidates[other].turn()
                self.check()
            if not answered:
                cut()

        if committed:
            candidate.link.after = meanwhile
        else:
            candidate.link.before = meanwhile
        candidate.turn()
        candidate.link.heal()
        self.check()

    @rule(seconds=st.sampled_from([0.1, 2.0, 5.0, 9.9, 15.0, 61.0]))
    def wait(self, seconds):
        self.api.now += seconds

    @rule(garbage=st.sampled_from(GARBAGE))
    def edit(self, garbage):
        edited = {**(self.api.spec or {}), **garbage}
        if edited.get("holderIdentity") or edited.get("leaseDurationSeconds") != 1:  # that is how one gives it up
            self.api.put(**garbage)

    @rule()
    def label(self):
        if self.api.spec is not None:
            self.api.put()

    @precondition(lambda self: all(candidate.elector.holder for candidate in self.candidates))
    @rule()
    def delete(self):
        """Delete what everybody has seen; who has not takes it for what nobody has."""
        self.api.spec = None

    @precondition(lambda self: self.api.spec is not None)
    @rule(who=st.integers(0, 2), gives_up=st.booleans())
    def restart(self, who, gives_up):
        self.candidates[who].elector.stop(0.0)
        if gives_up:
            with contextlib.suppress(Failure):
                self.candidates[who].elector.give_up()
        self.candidates[who] = self.candidate()
        self.candidates[who].turn()

    @invariant()
    def never_two(self):
        self.check()

    def teardown(self):
        """Left alone, one leads after what a Lease says can make it wait, and goes on."""
        for candidate in self.candidates:
            candidate.next = self.api.now
        go_on(self.api, self.candidates, 80.0)
        (leader,) = [candidate for candidate in self.candidates if candidate.term]
        term = leader.term
        go_on(self.api, self.candidates, 80.0)
        assert leader.term is term


TestRace = Race.TestCase
TestRace.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)


# -- with threads and the real clock -----------------------------------------------------------------------------------


def test_who_waits_for_the_end_of_a_term_is_told_also_if_nobody_ends_it():
    term = Term(since_boot() + 0.1, since_boot)
    assert not term.wait_until_over(0.01)
    assert term.wait_until_over(20.0)
    assert not term.extend(since_boot() + 100.0)
    assert not term.held()


def test_who_waits_for_the_end_of_a_term_is_told_when_it_is_ended():
    term = Term(since_boot() + 1000.0, since_boot)
    threading.Timer(0.05, term.end).start()
    assert term.wait_until_over(20.0)


def test_a_candidate_leads_while_it_runs_and_has_given_up_when_it_has_stopped():
    api = Api()
    elector = Elector(Link(api), LEASE, "one", Times(3.0, 2.0, random.uniform(0.01, 0.02)))
    assert elector.wait(0.0) is None
    elector.start()
    term = elector.wait(20.0)
    while len(api.written) < 5:
        assert not term.wait_until_over(0.01)
    elector.stop(20.0)
    assert (term.held(), elector.term, elector.wait(20.0)) == (False, None, None)
    assert api.spec["holderIdentity"] == ""


def test_a_candidate_that_fails_goes_on_trying_and_says_why():
    api = Api()
    link = Link(api)
    failing = threading.Event()

    def fail():
        failing.set()
        cut()

    link.before = fail
    elector = Elector(link, LEASE, "one", Times(3.0, 2.0, 0.01))
    elector.start()
    failing.wait(20.0)
    while elector.failure is None:
        pass
    assert str(elector.failure) == "Lease/operators/redisop: no answer"
    link.heal()
    assert elector.wait(20.0)
    while elector.failure:
        pass
    elector.stop(20.0)
