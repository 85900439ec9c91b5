"""Who a member is, and what counts as its being alive."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from redisop.manifest import Key
from redisop.snapshot import Snapshot
from redisop.snapshot.vitals import Identity, Target, Trouble, Vitals, target

VITALS = Vitals(pod="cache-2", ordinal=2, uid="u2", address="10.0.0.7", run_id="a" * 40, replication_id="b" * 40)
POD = {
    "kind": "Pod",
    "metadata": {"name": "my-cache-12", "namespace": "shop", "uid": "u12"},
    "status": {"phase": "Running", "podIP": "fd00::7"},
}


@pytest.mark.parametrize(
    ("trouble", "alive"),
    [
        (None, True),
        (Trouble.WRONG_PASSWORD, True),
        (Trouble.LOADING, True),
        (Trouble.BUSY, True),
        (Trouble.ERROR_REPLY, True),
        (Trouble.REFUSED, False),
        (Trouble.TIMEOUT, False),
        (Trouble.CLOSED, False),
        (Trouble.UNREACHABLE, False),
        (Trouble.NO_ADDRESS, False),
        (Trouble.PROTOCOL_ERROR, False),
    ],
)
def test_any_reply_of_redis_is_life_and_nonsense_is_none(trouble, alive):
    assert replace(VITALS, trouble=trouble).alive is alive


def test_commands_go_to_the_process_and_the_history_that_answered():
    assert VITALS.identity == Identity("a" * 40, "b" * 40)
    assert replace(VITALS, trouble=Trouble.TIMEOUT).identity is None


def test_a_pod_says_where_to_ask():
    assert target(POD) == Target(Key("Pod", "shop", "my-cache-12"), 12, "u12", "fd00::7", 6379)


@pytest.mark.parametrize("status", [{}, {"phase": "Pending"}, {"phase": "Pending", "podIP": ""}])
def test_a_pod_without_an_address_is_still_a_target(status):
    assert target({**POD, "status": status}).address is None


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_the_address_of_an_ended_pod_may_be_somebody_elses(phase):
    assert target({**POD, "status": {"phase": phase, "podIP": "10.0.0.7"}}).address is None


def test_a_pod_without_a_status_is_a_target_without_an_address():
    assert target({key: value for key, value in POD.items() if key != "status"}).address is None


def test_a_printed_snapshot_holds_no_secret():
    secret = {
        "kind": "Secret",
        "metadata": {"name": "cache-auth", "namespace": "shop"},
        "data": {"password": "Y2FuYXJ5"},
    }
    key = Key("Secret", "shop", "cache-auth")
    seen = Snapshot(datetime(2026, 1, 2, tzinfo=UTC), {key: secret}, (POD,), (), (VITALS,))
    for text in (str(seen), repr(seen), f"{seen}"):
        assert "Y2FuYXJ5" not in text
        assert "Secret/shop/cache-auth" in text
        assert "my-cache-12" in text
        assert "2026-01-02" in text
        assert "cache-2" in text
