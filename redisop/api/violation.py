"""One thing that is wrong with a document, and how the place where it is wrong is written."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

_STEP = re.compile(r"\[(?P<index>[0-9]+)\]|\[(?P<key>[^\]]*)\]|(?P<field>[^.\[]+)")
_LONGEST_SAYING = 60


@dataclass(frozen=True, slots=True)
class Violation:
    """What is wrong at `path` (`spec.tuning.maxmemory`, `spec.pod.sidecars[0].name`) and what would be right.

    An error stops the document; a warning is said and nothing more. Fields are joined by dots; an index, and a key
    that the user chose, stand in brackets: `spec.config[maxclients]`. The path of the whole document is empty.
    """

    path: str
    wrong: str
    right: str
    level: Literal["error", "warning"] = "error"

    @property
    def message(self) -> str:
        """What is wrong and what would be right, without the path: what CEL says too."""
        return f"{self.wrong}: {self.right}"

    @property
    def steps(self) -> tuple[str | int, ...]:
        """The path as keys and indexes, outermost first: `("spec", "pod", "sidecars", 0, "name")`."""
        return tuple(
            int(found["index"]) if found["index"] is not None else (found["field"] or found["key"])
            for found in _STEP.finditer(self.path)
        )

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


def spell_path(steps: Iterable[str | int], keyed: frozenset[int] | set[int] = frozenset()) -> str:
    """Return `steps` as a path; those at the positions `keyed` are keys that the user chose."""
    path = ""
    for position, step in enumerate(steps):
        if isinstance(step, int) or position in keyed:
            path += f"[{step if isinstance(step, int) else printable(step)}]"
        else:
            path += f".{printable(step)}" if path else printable(step)
    return path


def printable(text: str) -> str:
    """Return `text` shortened, and without what a terminal would act upon: it comes from a stranger's document."""
    if len(text) > _LONGEST_SAYING:
        text = f"{text[:_LONGEST_SAYING]}…"
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
