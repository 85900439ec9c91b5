"""What comes back from a member to which a command was sent: replies, or the reason why not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from redisop.snapshot.vitals import Trouble


@dataclass(frozen=True, slots=True)
class ErrorReply:
    """An error as Redis words it, e.g. `NOAUTH Authentication required.`"""

    text: bytes

    @property
    def code(self) -> str:
        """The first word where it is a code, else `ERR`."""
        word = self.text.partition(b" ")[0].decode(errors="replace")
        return word if word.isascii() and word.isalpha() and word.isupper() and len(word) <= 20 else "ERR"


# Simple and bulk strings, integers, null, errors, arrays.
Reply: TypeAlias = "bytes | int | ErrorReply | list[Reply] | None"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why commands were not carried out: the trouble, and a sentence that names the pod and what Redis said.

    `uncertain`: a command left and no reply came, so it may have taken effect, or may yet.
    """

    trouble: Trouble
    sentence: str
    uncertain: bool = False
