"""The first tier is a part of the matrix: it must hold every pair of its values."""

from tests.boot import test_judgement, test_operator, test_rows  # noqa: F401  their setups are drawn on import
from tests.boot.setups import FIRST_TIER, Setup, missing_pairs


def test_the_first_tier_shows_every_pair() -> None:
    assert missing_pairs(FIRST_TIER) == set()


def test_a_missing_pair_is_noticed() -> None:
    assert ("aof", "8.2") in missing_pairs([setup for setup in FIRST_TIER if setup.version != "8.2"])
    assert ("rdb", 2) in missing_pairs([Setup("rdb", 3, "7.0", "dash")])
