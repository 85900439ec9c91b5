"""Sizes, shares and durations as users write them: types that keep the text and know the value.

The text is kept because a document must come back as it was written (conversion, `explain`), the value because
`1Gi` and `1024Mi` are the same size. Grammar: Kubernetes `resource.Quantity` and Go `time.ParseDuration`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Self

from pydantic_core import CoreSchema, PydanticCustomError, core_schema

QUANTITY_PATTERN = r"^[+-]?([0-9]+|[0-9]+\.[0-9]*|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,3})?$"
PERCENT_PATTERN = r"^[0-9]{1,3}%$"
# A longer one could not be counted in nanoseconds, as Go does.
DURATION_PATTERN = r"^(0|([0-9]{1,6}(\.[0-9]{1,3})?(ms|s|m|h))+)$"
QUANTITY_LENGTH = 32
DURATION_LENGTH = 20

_BINARY = {f"{letter}i": 1024 ** (power + 1) for power, letter in enumerate("KMGTPE")}
_DECIMAL = {"n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": 1} | {
    letter: 1000 ** (power + 1) for power, letter in enumerate("kMGTPE")
}
# What the API server can count; Python refuses to print some that are longer.
_LARGEST = 2**63 - 1
_QUANTITY = re.compile(QUANTITY_PATTERN)
_DURATION = re.compile(DURATION_PATTERN)
_DURATION_UNITS = {"ms": Fraction(1, 1000), "s": Fraction(1), "m": Fraction(60), "h": Fraction(3600)}


class Written:
    """A scalar that pydantic reads with `parse` and writes back as the user wrote it."""

    written: str | int

    @classmethod
    def parse(cls, written: object) -> Self:
        raise NotImplementedError

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: Callable[[object], CoreSchema]) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls.parse, serialization=core_schema.plain_serializer_function_ser_schema(lambda value: value.written)
        )

    def __str__(self) -> str:
        return str(self.written)


@dataclass(frozen=True, slots=True)
class Quantity(Written):
    """A Kubernetes quantity, e.g. `512Mi`, `2G`, `1.5Gi`, `0`."""

    written: str | int
    value: Fraction

    @classmethod
    def parse(cls, written: object) -> Quantity:
        """Return the quantity that `written` (text or a whole number) stands for; raises PydanticCustomError."""
        if isinstance(written, cls):
            return written
        if isinstance(written, bool) or not isinstance(written, str | int):
            raise _not_a_quantity()
        if isinstance(written, int) and abs(written) > _LARGEST:
            raise _not_a_quantity()
        return _quantity(written)

    @property
    def bytes(self) -> int:
        """The size in whole bytes, rounded up as the API server does."""
        return -(-self.value.numerator // self.value.denominator)

    def canonical(self) -> str:
        """The spelling that the API server stores unchanged (`1024Mi` is `1Gi`, `1.5Gi` is `1536Mi`).

        As there, whole bytes for sizes with a binary suffix, and thousandths for anything else; rounded up.
        """
        _, suffix = _split(str(self.written))
        if suffix in _BINARY and abs(self.value) >= 1024:
            return _scaled(self.bytes, 1024, ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"])
        thousandths = int(-(-self.value * 1000 // 1))
        if suffix[:1] in {"e", "E"} and suffix != "E":
            return _scaled(thousandths, 1000, ["e-3", "", *(f"e{3 * power}" for power in range(1, 7))])
        return _scaled(thousandths, 1000, ["m", "", "k", "M", "G", "T", "P", "E"])


@dataclass(frozen=True, slots=True)
class Percent(Written):
    """A whole share of something, e.g. `75%`."""

    written: str
    value: int

    @classmethod
    def parse(cls, written: object) -> Percent:
        """Return the share that the text `written` stands for; raises PydanticCustomError."""
        if isinstance(written, cls):
            return written
        if not isinstance(written, str) or not re.fullmatch(PERCENT_PATTERN, written):
            raise PydanticCustomError("percent", "is not a share; write for example 75%")
        return cls(written, int(written[:-1]))


@dataclass(frozen=True, slots=True)
class QuantityOrPercent(Written):
    """Either of the two; what `tuning.maxmemory` takes."""

    written: str | int
    choice: Quantity | Percent

    @classmethod
    def parse(cls, written: object) -> QuantityOrPercent:
        """Return what `written` stands for; raises PydanticCustomError."""
        if isinstance(written, cls):
            return written
        if isinstance(written, str) and written.endswith("%"):
            return cls(written, Percent.parse(written))
        quantity = Quantity.parse(written)
        return cls(quantity.written, quantity)


@dataclass(frozen=True, slots=True)
class Duration(Written):
    """A Go duration, e.g. `30s`, `1m30s`, `1200ms`."""

    written: str
    value: Fraction

    @classmethod
    def parse(cls, written: object) -> Duration:
        """Return the duration that the text `written` stands for; raises PydanticCustomError."""
        if isinstance(written, cls):
            return written
        if not isinstance(written, str) or len(written) > DURATION_LENGTH or not _DURATION.fullmatch(written):
            raise PydanticCustomError("duration", "is not a duration; write for example 30s or 1m30s")
        parts = re.findall(r"([0-9.]+)(ms|s|m|h)", written)
        return cls(written, sum((Fraction(number) * _DURATION_UNITS[unit] for number, unit in parts), Fraction(0)))

    @property
    def seconds(self) -> int:
        """Whole seconds, rounded up: what a probe or a script that counts seconds can use."""
        return -(-self.value.numerator // self.value.denominator)


def spell_bytes(size: int) -> str:
    """Return `size` in bytes as a person reads it: the largest binary unit that divides it (`402653184` is `384Mi`)."""
    return _scaled(size, 1024, ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"])


@lru_cache(maxsize=4096)
def _quantity(written: str | int) -> Quantity:
    text = str(written)
    if len(text) > QUANTITY_LENGTH or not _QUANTITY.fullmatch(text):
        raise _not_a_quantity()
    number, suffix = _split(text)
    if suffix in _BINARY:
        scale: Fraction | int = _BINARY[suffix]
    elif suffix in _DECIMAL:
        scale = _DECIMAL[suffix]
    else:
        scale = Fraction(10) ** int(suffix[1:])
    return Quantity(written, Fraction(number) * scale)


def _split(text: str) -> tuple[str, str]:
    found = re.match(r"[+-]?[0-9.]+", text)
    assert found is not None, "checked against QUANTITY_PATTERN"  # noqa: S101
    return found.group(), text[found.end() :]


def _scaled(count: int, base: int, units: list[str]) -> str:
    unit = 0
    if count == 0:
        return "0"
    while count % base == 0 and unit + 1 < len(units):
        count //= base
        unit += 1
    return f"{count}{units[unit]}"


def _not_a_quantity() -> PydanticCustomError:
    return PydanticCustomError("quantity", "is not a quantity; write for example 512Mi or 2Gi")
