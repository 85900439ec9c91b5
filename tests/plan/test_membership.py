"""Who leads and who follows, for any answer that members may give."""

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redisop.layout import layout
from redisop.plan import plan
from redisop.plan.actions import Follow, Hold, Promote
from redisop.plan.wanted import Wanted
from redisop.snapshot import Snapshot
from redisop.snapshot.vitals import Trouble, Vitals, target
from tests.world import NOW, parked, pod, redis


def member(ordinal: int, **facts: object) -> Vitals:
    return parked(target(pod("r", ordinal)), **facts)


def primary(ordinal: int, **facts: object) -> Vitals:
    return member(ordinal, **{"role": "primary", "link": None, "primary_host": None, "keys": 5, "offset": 99, **facts})


def replica(ordinal: int, of: int, **facts: object) -> Vitals:
    return member(ordinal, **{"link": "up", "primary_host": f"10.0.0.{of + 1}", "keys": 5, "offset": 99, **facts})


def silent(ordinal: int) -> Vitals:
    known = member(ordinal)
    return Vitals(
        pod=known.pod, ordinal=ordinal, uid=known.uid, address=known.address, trouble=Trouble.TIMEOUT, silent_probes=3
    )


def decided(*vitals: Vitals, replicas: int | None = None, home: int = 0) -> object:
    subject = redis(replicas=len(vitals) if replicas is None else replicas)
    shards = layout(subject.metadata, subject.spec)
    wanted = Wanted(subject.spec, shards, home, "6.2", "")
    return plan(wanted, Snapshot(NOW, {}, (), (), vitals))


def test_the_home_of_a_new_instance_leads_first() -> None:
    action = decided(member(0), member(1), member(2), home=1)
    assert isinstance(action, Promote)
    assert action.member.pod == "r-1"


def test_the_others_of_a_new_instance_follow_then() -> None:
    action = decided(primary(0), member(1), member(2))
    assert isinstance(action, Follow)
    assert ([each.pod for each in action.members], action.primary.pod) == (["r-1", "r-2"], "r-0")


def test_a_member_with_data_does_not_follow_an_empty_primary() -> None:
    held = decided(primary(0, keys=0, offset=0), member(1, keys=5, offset=99))
    assert isinstance(held, Hold)
    assert held.reason == "EmptyPrimary"
    assert "r-1" in held.message
    assert isinstance(decided(primary(0, keys=0, offset=0), member(1)), Follow)


def test_a_replica_that_follows_another_address_follows_again() -> None:
    action = decided(primary(0), replica(1, of=0), replica(2, of=1))
    assert isinstance(action, Follow)
    assert [each.pod for each in action.members] == ["r-2"]


def test_nothing_is_done_where_all_have_their_roles() -> None:
    assert decided(primary(1), replica(0, of=1), replica(2, of=1), home=1) is None


def test_nothing_is_done_without_members() -> None:
    assert decided(replicas=0) is None
    assert decided(replicas=3) is None


@pytest.mark.parametrize("other", [silent(1), member(1, loading=True)])
def test_nobody_is_promoted_while_somebody_is_unknown_or_loads(other: Vitals) -> None:
    assert decided(member(0), other) is None
    assert decided(member(0), replicas=2) is None


def test_nobody_is_promoted_over_data() -> None:
    hold = decided(member(0), member(1, keys=1))
    assert isinstance(hold, Hold)
    assert hold.reason == "NoPrimary"


def test_of_two_primaries_none_is_chosen() -> None:
    hold = decided(primary(0), primary(1), member(2))
    assert isinstance(hold, Hold)
    assert (hold.reason, "r-0 and r-1" in hold.message) == ("TwoPrimaries", True)


def test_members_beyond_the_layout_are_left_alone() -> None:
    assert decided(primary(0), replica(1, of=0), member(2), replicas=2) is None


facts = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["primary", "replica", None]),
        "loading": st.sampled_from([True, False, None]),
        "keys": st.sampled_from([0, 1, None]),
        "offset": st.sampled_from([0, 1, 100, None]),
        "primary_host": st.sampled_from([None, "127.0.0.1", "10.0.0.1", "10.0.0.2"]),
        "trouble": st.sampled_from([None, None, Trouble.TIMEOUT, Trouble.LOADING]),
    }
)


@settings(deadline=None)
@given(st.lists(facts, max_size=4), st.integers(0, 4), st.integers(0, 4))
def test_every_snapshot_has_one_answer_and_none_of_them_risks_data(
    all_facts: list[dict[str, object]], replicas: int, home: int
) -> None:
    vitals = [dataclasses.replace(member(ordinal), **each) for ordinal, each in enumerate(all_facts)]
    answer = decided(*vitals, replicas=replicas, home=home)
    assert answer == decided(*vitals, replicas=replicas, home=home)
    inside = vitals[:replicas]
    if isinstance(answer, Promote):
        assert len(inside) == replicas
        assert all(each.answered and each.blank for each in inside)
    if isinstance(answer, Follow):
        assert [each for each in inside if each.role == "primary"] == [answer.primary]
        assert all(each.role == "replica" for each in answer.members)
