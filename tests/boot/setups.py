"""The matrix: persistence, members, Redis version, shell. The first tier takes a part of it that holds every pair."""

import itertools
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import pytest

from tests.redis_servers import VERSIONS

PERSISTENCE = ("none", "rdb", "aof")
SHELLS = ("dash", "ash")

Test = TypeVar("Test", bound=Callable[..., None])


@dataclass(frozen=True)
class Setup:
    """One cell of the matrix."""

    persistence: str = "aof"
    members: int = 3
    version: str = "7.0"
    shell: str = "dash"

    def __str__(self) -> str:
        return f"{self.persistence}-{self.members}-{self.version}-{self.shell}"


FIRST_TIER: list[Setup] = []


def matrix(
    persistence: Sequence[str] = PERSISTENCE,
    members: Sequence[int] = (2, 3),
    versions: Sequence[str] = VERSIONS,
) -> Callable[[Test], Test]:
    """Parametrize a test by `setup`: one setup for each persistence in the first tier, every one with --full.

    Which one is drawn by the test's name, so that the tests together show every pair.
    """

    def parametrized(test: Test) -> Test:
        draw = zlib.crc32(test.__name__.encode())
        first = [
            Setup(
                kept,
                members[(draw + place) % len(members)],
                versions[(draw // 7 + place) % len(versions)],
                SHELLS[(draw // 11 + place) % len(SHELLS)],
            )
            for place, kept in enumerate(persistence)
        ]
        FIRST_TIER.extend(first)
        every = [Setup(*cell) for cell in itertools.product(persistence, members, versions, SHELLS)]
        cells: list[Any] = [pytest.param(setup, id=str(setup)) for setup in first]
        cells += [pytest.param(setup, marks=pytest.mark.full, id=str(setup)) for setup in every if setup not in first]
        return pytest.mark.parametrize("setup", cells)(test)

    return parametrized


def missing_pairs(setups: Sequence[Setup]) -> set[tuple[object, object]]:
    """Return the pairs of values of two different columns that stand together in none of `setups`."""
    columns = {"persistence": PERSISTENCE, "members": (2, 3), "version": VERSIONS, "shell": SHELLS}
    wanted = {
        (left, right)
        for one, other in itertools.combinations(columns, 2)
        for left in columns[one]
        for right in columns[other]
    }
    shown = {
        pair
        for setup in setups
        for pair in itertools.combinations((setup.persistence, setup.members, setup.version, setup.shell), 2)
    }
    return wanted - shown
