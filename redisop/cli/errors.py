"""What can go wrong with one `Redis` in a cluster: how it is said, and what the process then leaves with."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from redisop.cli.exit_codes import CLUSTER, FAULT_OF_REDISOP, INVALID, OWNED_BY_OTHERS, PENDING
from redisop.cli.load import Finding
from redisop.cli.output import say, say_fault
from redisop.cli.pool import each
from redisop.failures import Conflict, Failure, Invalid, OutOfTime

T = TypeVar("T")
R = TypeVar("R")


class Unusable(Exception):
    """A `Redis` that nothing can be done with; `findings` say what is wrong with it."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        super().__init__("a Redis is not valid")
        self.findings = tuple(findings)


@dataclass(frozen=True, slots=True)
class Attempt(Generic[T, R]):
    """What became of the work on one thing: a result, or the error that there is instead."""

    target: T
    result: R | None = None
    error: Exception | None = None


def attempt_each(targets: Sequence[T], work: Callable[[T], R]) -> list[Attempt[T, R]]:
    """Do `work` on each of `targets`; what goes wrong with one is told apart from the others."""

    def attempt(target: T) -> Attempt[T, R]:
        try:
            return Attempt(target, work(target))
        except Exception as error:
            return Attempt(target, error=error)

    return each(targets, attempt)


_CODES: Final[tuple[tuple[type[Exception], int], ...]] = (
    (Unusable, INVALID),
    (Conflict, OWNED_BY_OTHERS),
    (Invalid, INVALID),
    (OutOfTime, PENDING),
    (Failure, CLUSTER),
    (Exception, FAULT_OF_REDISOP),
)


def code_of(error: Exception) -> int:
    """Return what a command that met `error` leaves with."""
    return next(code for kind, code in _CODES if isinstance(error, kind))


def complain(error: Exception) -> None:
    """Say on stderr what went wrong."""
    match error:
        case Unusable(findings=findings):
            for finding in findings:
                finding.say()
        case Conflict():
            say("error", str(error))
            say("note", "--force-conflicts takes over the fields that a document sets")
        case Failure():
            say("error", str(error))
        case _:
            if os.environ.get("REDISOP_TRACEBACK"):
                traceback.print_exception(error)
            say_fault(error)


def as_data(error: Exception) -> list[dict[str, Any]]:
    """Return what went wrong as JSON can hold it, one entry a thing."""
    if isinstance(error, Unusable):
        return [
            {"object": finding.source, "reason": "Invalid", "field": finding.path, "message": finding.message}
            for finding in error.findings
        ]
    which = error.key if isinstance(error, Failure) else None
    return [{"object": str(which) if which else None, "reason": type(error).__name__, "message": str(error)}]
