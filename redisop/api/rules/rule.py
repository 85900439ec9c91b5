"""What a rule is: one sentence about a document, said by Python and, where it can, by CEL with the same words.

The machinery only; the rules themselves stand in `rules`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Literal

from pydantic import BaseModel

from redisop.api.violation import Violation, printable

_STEP = re.compile(r"\[\*\]|\{\}|[^.\[{]+")


@dataclass(frozen=True, slots=True)
class Rule:
    """`holds` and `cel` are the same test of what stands at the scope; `field` is what they complain of, from there.

    `cel` is empty where only Python can see the matter. `holds` gets the value at the scope, or, where the scope goes
    over a map, its key and value; `cel` calls these `self`, or `key` and `self[key]`.
    """

    wrong: str
    right: str
    holds: Callable[[Any], bool]
    cel: str = ""
    field: str = ""
    level: Literal["error", "warning"] = "error"

    @property
    def message(self) -> str:
        """What both Python and CEL say; over a map, behind the key."""
        return f"{self.wrong}: {self.right}"


@dataclass(frozen=True, slots=True)
class Scope:
    """A place in a document (`spec.pod.sidecars[*].securityContext`, `spec.config{}`) and the rules that hold there.

    `[*]` is each entry of a list, `{}` at the end each key of a map. What is absent or empty is not looked at.
    """

    path: str
    rules: tuple[Rule, ...]
    _root: Callable[[Any], Any] = field(init=False, repr=False)
    _root_path: str = field(init=False, repr=False)
    _rest: tuple[str, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        plain = re.split(r"[\[{]", self.path, maxsplit=1)[0]
        rest = tuple(_STEP.findall(self.path.removeprefix(plain)))
        object.__setattr__(self, "_root", attrgetter(plain) if plain else _itself)
        object.__setattr__(self, "_root_path", plain)
        object.__setattr__(self, "_rest", rest)

    @staticmethod
    def steps(path: str) -> list[str]:
        """Return the steps of a path: fields, `[*]` and `{}`."""
        return _STEP.findall(path)

    @property
    def over_keys(self) -> bool:
        """Whether the rules look at the keys of a map, one by one."""
        return self.path.endswith("{}")

    def violations(self, document: BaseModel) -> Iterator[Violation]:
        """Yield what breaks a rule of this scope; `document` is a whole `Redis`."""
        value = self._root(document)
        if not value:
            return
        places = _places(value, self._root_path, self._rest) if self._rest else ((self.path, value),)
        for path, place in places:
            for rule in self.rules:
                if not rule.holds(place):
                    yield self._violation(rule, path, place)

    def _violation(self, rule: Rule, path: str, place: Any) -> Violation:
        said = f"{printable(place[0])} " if self.over_keys else ""
        return Violation(_joined(path, rule.field), f"{said}{rule.wrong}", rule.right, rule.level)


@dataclass(frozen=True, slots=True)
class Transition:
    """A rule about going from one document to another: `cel` has `self` and `oldSelf`."""

    path: str
    wrong: str
    right: str
    holds: Callable[[Any, Any], bool]
    cel: str
    field: str = ""

    @property
    def message(self) -> str:
        """What both Python and CEL say."""
        return f"{self.wrong}: {self.right}"

    def violations(self, new: BaseModel, old: BaseModel) -> Iterator[Violation]:
        """Yield the violation, if there is one; both are whole `Redis` documents."""
        part = attrgetter(self.path)
        if not self.holds(part(new), part(old)):
            yield Violation(_joined(self.path, self.field), self.wrong, self.right)


def _places(value: Any, path: str, steps: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    if not steps:
        yield path, value
        return
    step, rest = steps[0], steps[1:]
    inner: Iterable[tuple[str, Any]]
    if step == "[*]":
        inner = ((f"{path}[{index}]", item) for index, item in enumerate(value))
    elif step == "{}":
        inner = ((f"{path}[{printable(key)}]", (key, item)) for key, item in value.items())
    else:
        found = value.get(step) if isinstance(value, Mapping) else getattr(value, step)
        inner = [(f"{path}.{step}", found)] if found is not None else []
    for place, item in inner:
        yield from _places(item, place, rest)


def _joined(path: str, inside: str) -> str:
    return f"{path}.{inside}" if path and inside else path or inside


def _itself(document: Any) -> Any:
    return document
