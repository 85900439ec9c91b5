"""The two tiers of tests: those marked `full` run with `--full` only."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="run the tests of the second tier too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--full"):
        return
    later = [item for item in items if item.get_closest_marker("full")]
    config.hook.pytest_deselected(items=later)
    items[:] = [item for item in items if item not in later]
