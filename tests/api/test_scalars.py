"""Sizes, shares and times as Kubernetes and Go read them. An API server checks the spelling of sizes elsewhere."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from redisop.api.scalars import Duration, Quantity, QuantityOrPercent, spell_bytes


@pytest.mark.parametrize(
    ("written", "size"),
    [
        ("512Mi", 512 * 1024**2),
        ("1.5Gi", 1536 * 1024**2),
        ("2G", 2 * 10**9),
        ("1e3", 1000),
        ("1E3", 1000),
        ("1E", 10**18),
        ("12e-1", 2),
        ("100m", 1),
        ("0.1Ki", 103),
        ("+5", 5),
        (1024, 1024),
        ("0", 0),
    ],
)
def test_a_quantity_in_whole_bytes_is_rounded_up(written: str | int, size: int):
    assert Quantity.parse(written).bytes == size


@pytest.mark.parametrize(
    "written", ["", "Gi", "1 Gi", "1ki", "1KI", "lots", "1e1000", "0x10", "1_000", "１Gi", "1Gi\n", True, 1.5, None]
)
def test_what_kubernetes_does_not_take_for_a_quantity_is_none(written: object):
    with pytest.raises(PydanticCustomError, match="write for example 512Mi"):
        Quantity.parse(written)


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("30s", 30), ("1m30s", 90), ("1200ms", Fraction(6, 5)), ("1.5h", 5400), ("0", 0), ("0s", 0), ("1h1s", 3601)],
)
def test_a_duration_is_read_as_go_reads_it(written: str, seconds: Fraction):
    assert Duration.parse(written).value == seconds


def test_a_duration_in_whole_seconds_is_rounded_up():
    assert Duration.parse("1200ms").seconds == 2


@pytest.mark.parametrize("written", ["", "5", "1d", "-5s", "s", "1 s", "1S", "1s\n", "９s", 5, None, "1000000h"])
def test_what_is_no_duration_of_ours_is_refused(written: object):
    with pytest.raises(PydanticCustomError, match="write for example 30s"):
        Duration.parse(written)


def test_a_share_and_a_size_are_told_apart():
    assert QuantityOrPercent.parse("75%").choice.value == 75
    assert QuantityOrPercent.parse("75").choice.bytes == 75


@given(st.integers(1, 2**62))
def test_bytes_are_spelled_so_that_they_can_be_read_again(size: int):
    assert Quantity.parse(spell_bytes(size)).bytes == size
