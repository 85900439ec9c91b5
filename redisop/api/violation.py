"""One thing that is wrong with a document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Violation:
    """What is wrong at `path` (`spec.tuning.maxmemory`, `spec.pod.sidecars[0].name`) and what would be right.

    An error stops the document; a warning is said and nothing more.
    """

    path: str
    wrong: str
    right: str
    level: Literal["error", "warning"] = "error"

    @property
    def message(self) -> str:
        """What is wrong and what would be right, without the path: what CEL says too."""
        return f"{self.wrong}: {self.right}"

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"
