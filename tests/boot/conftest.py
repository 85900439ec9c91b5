"""Two tiers (the second with `--full`), generated histories in any number, and instances that leave nothing behind."""

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.boot.instance import Instance
from tests.boot.loopback import Block
from tests.boot.setups import Setup


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("boot", "the scripts inside the pods")
    for name, about in (("--histories", "how many generated histories"), ("--seed", "the seed of the first of them")):
        group.addoption(name, type=int, default=None, help=about)
    with suppress(ValueError):  # another folder of tests defines it too, and both may be named on one command line
        group.addoption("--full", action="store_true", help="all cases of the second tier too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--full", default=False):
        return
    here = Path(__file__).parent
    later = [item for item in items if here in item.path.parents and item.get_closest_marker("full")]
    config.hook.pytest_deselected(items=later)
    items[:] = [item for item in items if item not in later]


Boot = Callable[..., Instance]


@pytest.fixture
def prepare(tmp_path: Path) -> Iterator[Boot]:
    """Return a function that makes an Instance without starting it: `prepare(setup, **options of Instance)`.

    Afterwards all of it is stopped, and what the watcher saw fails the test: two writable primaries, data that went back.
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
