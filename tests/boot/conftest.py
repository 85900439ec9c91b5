"""Generated histories in any number, and instances that leave nothing behind."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.boot.instance import Instance
from tests.boot.loopback import Block
from tests.boot.setups import Setup


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("boot", "the scripts inside the pods")
    for name, about in (("--histories", "how many generated histories"), ("--seed", "the seed of the first of them")):
        group.addoption(name, type=int, default=None, help=about)


Boot = Callable[..., Instance]


@pytest.fixture
def prepare(tmp_path: Path) -> Iterator[Boot]:
    """Return a function that makes an Instance without starting it: `prepare(setup, **options of Instance)`.

    Afterwards all of it is stopped. The test fails if the watcher saw two writable primaries, or data that went back.
    """
    made: list[Instance] = []

    def instance(setup: Setup, **options: object) -> Instance:
        made.append(Instance(setup, tmp_path / f"instance-{len(made)}", Block.take(), **options))
        return made[-1]

    yield instance
    for each in made:
        each.stop()
        sys.stdout.write(each.story())  # pytest shows it when the test failed
    faults = [fault for each in made for fault in each.faults]
    assert not faults, faults


@pytest.fixture
def serving(prepare: Boot) -> Boot:
    """Return a function that makes an Instance, starts it, and gives it its roles as an operator would, at once."""

    def instance(setup: Setup, **options: object) -> Instance:
        made = prepare(setup, **options)
        made.start()
        made.assign_roles()
        return made

    return instance
