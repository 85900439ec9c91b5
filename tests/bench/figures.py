"""Figures and the ways to get them."""

import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One line of the report; `goal` is what the design asks for, None when it asks for nothing."""

    what: str
    value: float
    unit: str
    goal: float | None = None
    more_is_better: bool = True

    def __str__(self) -> str:
        line = f"{self.what:<72} {self.value:>10,.2f} {self.unit}"
        if self.goal is None:
            return line
        met = self.value >= self.goal if self.more_is_better else self.value <= self.goal
        sign = ">=" if self.more_is_better else "<="
        return f"{line:<100} goal {sign} {self.goal:g}: {'met' if met else 'MISSED'}"


def seconds(command: Sequence[str], stdin: str | None = None) -> float:
    """Return the wall time of one run of `command`, which must succeed."""
    began = time.perf_counter()
    subprocess.run(command, input=stdin, check=True, capture_output=True, text=True)
    return time.perf_counter() - began


def alternating(runs: int, *measures: Callable[[], float]) -> list[list[float]]:
    """Return `runs` values of each measure, taken in turn after one run of each that does not count."""
    for measure in measures:
        measure()
    rounds = [[measure() for measure in measures] for _ in range(runs)]
    return [list(values) for values in zip(*rounds, strict=True)]


def ratio(one: list[float], other: list[float]) -> float:
    """Return the median of the ratios of values that were taken side by side."""
    return statistics.median(a / b for a, b in zip(one, other, strict=True))
