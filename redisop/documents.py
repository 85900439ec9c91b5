"""From the bytes of a file to the documents in it, each with the lines on which its parts stand.

Reads YAML 1.1 as kubectl does, so that both take a document for the same thing; JSON is YAML. What readers disagree
about (a key that stands twice, a key that is no text, a tag of somebody's own) is refused. One document that cannot be
read never hides the others. This module opens no file and knows nothing about Redis.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import yaml
from yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    Event,
    MappingStartEvent,
    ScalarEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

MOST_BYTES: Final = 10 * 1024**2
MOST_VALUES: Final = 100_000
DEEPEST: Final = 100

Step = str | int


class Place(NamedTuple):
    """Where a value stands (lines count from 1), and its text where that is read as a number, truth value or null."""

    line: int
    written: str | None = None


# By the id of the dict or list, which live as long as their document does, and the key or index in it.
Places = dict[tuple[int, Step], Place]


@dataclass(frozen=True, slots=True)
class Problem:
    """Why something in a source could not be read, and what to do about it."""

    source: str
    line: int
    wrong: str
    right: str

    def __str__(self) -> str:
        return f"{self.source}:{self.line}: {self.wrong}: {self.right}"


@dataclass(frozen=True, slots=True)
class Document:
    """One object of a source. `value` is made of dict, list, str, int, float, bool and None and must not be changed."""

    source: str
    line: int
    value: dict[str, Any]
    _places: Places = field(repr=False)

    def line_of(self, steps: Sequence[Step]) -> int:
        """Return the line of what `steps` (keys and indexes, outermost first) lead to, or of its nearest parent."""
        place, _, _ = self._follow(steps)
        return place.line

    def scalar(self, steps: Sequence[Step]) -> tuple[int | float | bool | None, str] | None:
        """Return the number, truth value or null at `steps` with its text (`7.1` and `7.10`); None for all else."""
        place, value, arrived = self._follow(steps)
        return (value, place.written) if arrived and place.written is not None else None

    def _follow(self, steps: Sequence[Step]) -> tuple[Place, Any, bool]:
        """Return the place and the value that the steps lead to, and whether all of them lead somewhere."""
        place, value = Place(self.line), self.value
        for given in steps:
            step = str(given) if isinstance(value, dict) else given
            if (id(value), step) not in self._places:
                return place, value, False
            place, value = self._places[id(value), step], value[step]
        return place, value, True


def parse(data: bytes, source: str) -> list[Document | Problem]:
    """Return the documents in `data`, called `source`, in their order; the items of a `List` are documents too."""
    problem = _foreign_bytes(data)
    if problem:
        return [Problem(source, *problem)]
    return [found for line, chunk in _chunks(data) for found in _documents(chunk, line, source)]


# -- the source as a whole --------------------------------------------------------------------------------------------

_MARKER: Final = re.compile(rb"^---(?=[ \t\r\n]|\Z)", re.MULTILINE)
_UTF16: Final = re.compile(rb"\xff\xfe|\xfe\xff|(?:[\t\r\n -~]\0){4}|(?:\0[\t\r\n -~]){4}")


def _foreign_bytes(data: bytes) -> tuple[int, str, str] | None:
    if len(data) > MOST_BYTES:
        return 1, f"holds more than {MOST_BYTES // 1024**2} MiB", "give a file of documents, or split it"
    if _UTF16.match(data):
        return 1, "is written as UTF-16", "save it as UTF-8"
    if b"\0" in data:
        return _line_breaks(data, data.index(b"\0")) + 1, "holds a NUL byte and is no text", "give a file of documents"
    return None


def _chunks(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield each document with the line on which it begins.

    `---` at the beginning of a line begins a document wherever it stands, inside quotes and brackets too. Splitting
    there first lets the documents after a broken one be read.
    """
    line, start = 1, 0
    for end in [*(marker.start() for marker in _MARKER.finditer(data)), len(data)]:
        yield line, data[start:end]
        line += _line_breaks(data, end, start)
        start = end


def _line_breaks(text: bytes, end: int, start: int = 0) -> int:
    return text.count(b"\n", start, end)


# -- one document -----------------------------------------------------------------------------------------------------


def _documents(chunk: bytes, line: int, source: str) -> Iterator[Document | Problem]:
    try:
        reader = _Reader(_text(chunk, line), line)
        place, value = reader.read()
        for item_place, item in _opened(value, place, reader.places):
            yield Document(source, item_place.line, item, reader.places)
    except _Unreadable as error:
        yield Problem(source, error.line, error.wrong, error.right)


def _opened(value: Any, place: Place, places: Places) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield the object that `value` is, or those of the `List` that it is; nothing for an empty document."""
    if value is None:
        return
    if not isinstance(value, dict):
        kind = "a list" if isinstance(value, list) else "a single value"
        raise _Unreadable(place.line, f"{kind} is no object", "write fields, with --- between one object and the next")
    items = value.get("items")
    if not (isinstance(items, list) and str(value.get("kind")).endswith("List")):
        yield place, value
        return
    for index, item in enumerate(items):
        yield from _opened(item, places[id(items), index], places)


class _Unreadable(Exception):
    """Ends the reading of one document."""

    def __init__(self, line: int, wrong: str, right: str) -> None:
        super().__init__(wrong)
        self.line = line
        self.wrong = wrong
        self.right = right


_CONTROL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")


def _text(chunk: bytes, line: int) -> str:
    try:
        text = chunk.decode()
    except UnicodeDecodeError as error:
        line += _line_breaks(chunk, error.start)
        raise _Unreadable(line, f"the byte 0x{chunk[error.start]:02x} is not UTF-8", "save the file as UTF-8") from None
    control = _CONTROL.search(text)
    if control:
        line += text.count("\n", 0, control.start())
        escape = json.dumps(control.group())
        raise _Unreadable(line, "a control character stands here", f"remove it, or write {escape}")
    return _PAIR.sub(_paired, text) if text.lstrip().startswith("{") else text


# JSON writes a character beyond U+FFFF as two escapes, which YAML does not allow.
_PAIR: Final = re.compile(r"(?<!\\)((?:\\\\)*)(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})")


def _paired(pair: re.Match[str]) -> str:
    return pair.group(1) + str(json.loads(f'"{pair.group(2)}"'))


class _Reader:
    """Builds the value of one document from the events of libyaml, and notes where each part of it stands."""

    def __init__(self, text: str, first_line: int) -> None:
        self.places: Places = {}
        self._text = text
        self._first_line = first_line
        self._parser = yaml.CSafeLoader(text)
        self._anchors: dict[str, Any] = {}
        self._count = 0

    def read(self) -> tuple[Place, Any]:
        """Return the value of the document and where it begins; None if it is empty."""
        self._next()
        if isinstance(self._next(), StreamEndEvent):
            return Place(self._first_line), None
        event = self._next()
        value = self._value(event, 0)
        self._next()
        self._next()
        return self._place(event, value), value

    def _next(self) -> Any:
        try:
            return self._parser.get_event()
        except yaml.MarkedYAMLError as error:
            line, wrong, right = _syntax_error(error, self._text)
            raise _Unreadable(self._first_line + line, wrong, right) from None

    def _value(self, event: Any, depth: int) -> Any:
        self._reckon(event, 1, depth)
        kind = type(event)
        if kind is AliasEvent:
            return self._anchored(event, depth)
        value: Any
        if kind is ScalarEvent:
            value = self._scalar(event)
        elif kind is MappingStartEvent:
            value = self._mapping(event, depth + 1)
        else:
            value = self._sequence(event, depth + 1)
        if event.anchor is not None:
            self._anchors[event.anchor] = value
        return value

    def _mapping(self, start: MappingStartEvent, depth: int) -> dict[str, Any]:
        self._check_tag(start, "tag:yaml.org,2002:map")
        mapping: dict[str, Any] = {}
        merged: list[dict[str, Any]] = []
        while not isinstance(event := self._next(), CollectionEndEvent):
            if _is_merge(event):
                merged += self._merged(self._next(), depth)
                continue
            key = self._key(event, mapping)
            value_event = self._next()
            mapping[key] = value = self._value(value_event, depth)
            self.places[id(mapping), key] = self._place(event, value, value_event)
        for other in merged:
            for key in [key for key in other if key not in mapping]:
                mapping[key] = other[key]
                self.places[id(mapping), key] = self.places[id(other), key]
        return mapping

    def _sequence(self, start: SequenceStartEvent, depth: int) -> list[Any]:
        self._check_tag(start, "tag:yaml.org,2002:seq")
        items: list[Any] = []
        while not isinstance(event := self._next(), CollectionEndEvent):
            value = self._value(event, depth)
            self.places[id(items), len(items)] = self._place(event, value, event)
            items.append(value)
        return items

    def _key(self, event: Any, mapping: dict[str, Any]) -> str:
        if not isinstance(event, ScalarEvent):
            raise self._refusal(
                event, "a map, list or alias stands as a key", "write text, and fill in templates first"
            )
        key = self._scalar(event)
        if not isinstance(key, str):
            raise self._refusal(event, f"the key {_shown(event.value)} is no text in YAML", "put it in quotes")
        if key in mapping:
            line = self.places[id(mapping), key].line
            raise self._refusal(
                event, f"{_shown(key)} stands here a second time", f"keep this one or that on line {line}"
            )
        return key

    def _merged(self, event: Any, depth: int) -> list[dict[str, Any]]:
        value = self._value(event, depth)
        sources = value if isinstance(value, list) else [value]
        if not all(isinstance(source, dict) for source in sources):
            raise self._refusal(event, "<< takes in something that is no map", "write an alias of a map after <<")
        return sources

    def _anchored(self, event: AliasEvent, depth: int) -> Any:
        if event.anchor not in self._anchors:
            name = _shown(str(event.anchor))
            raise self._refusal(
                event, f"no anchor {name} ends above this alias", "write the anchor first, or quote the *"
            )
        value = self._anchors[event.anchor]
        self._reckon(event, *_extent(value, depth))
        return value

    def _scalar(self, event: ScalarEvent) -> str | int | float | bool | None:
        plain = event.implicit[0]
        if event.tag is not None:
            self._check_tag(event, "tag:yaml.org,2002:str")
        elif plain:
            value = resolve(event.value)
            if isinstance(value, float) and not math.isfinite(value):
                raise self._refusal(event, f"{event.value} is no number that JSON can hold", "quote it if it is text")
            return value
        return event.value

    def _check_tag(self, event: Any, known: str) -> None:
        if event.tag not in (None, known):
            tag = _shown(event.tag.replace("tag:yaml.org,2002:", "!!"))
            raise self._refusal(event, f"the tag {tag} is not known here", "write the value without a tag")

    def _reckon(self, event: Event, count: int, depth: int) -> None:
        """Bound what a document holds, since aliases make a thousand million values out of a few lines."""
        self._count += count
        if self._count > MOST_VALUES:
            raise self._refusal(
                event, f"there are more than {MOST_VALUES} values up to here", "write fewer, or aliases less"
            )
        if depth > DEEPEST:
            raise self._refusal(event, f"maps and lists stand more than {DEEPEST} deep here", "write it flatter")

    def _refusal(self, event: Any, wrong: str, right: str) -> _Unreadable:
        return _Unreadable(self._first_line + event.start_mark.line, wrong, right)

    def _place(self, at: Any, value: Any, event: Any = None) -> Place:
        written = None if isinstance(value, str | dict | list) else getattr(event, "value", None)
        return Place(self._first_line + at.start_mark.line, written)


def _is_merge(event: Any) -> bool:
    return isinstance(event, ScalarEvent) and event.value == "<<" and event.tag is None and event.implicit[0]


def _extent(value: Any, depth: int) -> tuple[int, int]:
    """Return how many values `value`, which stands at `depth`, is made of, and the depth of its deepest."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    extents = [_extent(child, depth + 1) for child in inner]
    return 1 + sum(count for count, _ in extents), max((deepest for _, deepest in extents), default=depth)


def _shown(text: str) -> str:
    """Return text of a stranger's document, short and harmless on a terminal."""
    return json.dumps(text if len(text) <= 60 else f"{text[:60]}...")


# -- plain scalars ----------------------------------------------------------------------------------------------------

_WORDS: Final[dict[str, bool | float | None]] = {
    word: value
    for value, words in (
        (None, "null Null NULL ~"),
        (True, "true True TRUE yes Yes YES on On ON y Y"),
        (False, "false False FALSE no No NO off Off OFF n N"),
        (math.inf, ".inf .Inf .INF +.inf +.Inf +.INF"),
        (-math.inf, "-.inf -.Inf -.INF"),
        (math.nan, ".nan .NaN .NAN"),
    )
    for word in words.split()
} | {"": None}
_INTEGER: Final = re.compile(
    r"[+-]?(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<bin>[01]+)|0[oO]?(?P<oct>[0-7]+)|0|[1-9][0-9]*)"
)
_FLOAT: Final = re.compile(r"[+-]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][+-]?[0-9]+)?")
_BASES: Final = {"hex": 16, "bin": 2, "oct": 8, None: 10}


def resolve(text: str) -> str | int | float | bool | None:
    """Return what kubectl reads for `text` without quotes: `on` is true, `017` is 15, `12:30:45` and dates are text."""
    if text in _WORDS:
        return _WORDS[text]
    return _number(text) if text[0] in "+-.0123456789" else text


def _number(text: str) -> str | int | float:
    digits = text.replace("_", "")
    integer = _INTEGER.fullmatch(digits)
    if integer and len(digits) <= 66:
        base = _BASES[integer.lastgroup]
        value = int(integer[integer.lastgroup] if integer.lastgroup else digits, base)
        value = -value if integer.lastgroup and digits[0] == "-" else value
        if -(2**63) <= value < 2**64:
            return value if value < 2**63 else float(value)
    if _FLOAT.fullmatch(digits) and math.isfinite(float(digits)):
        return _whole(float(digits))
    return text


def _whole(number: float) -> int | float:
    """Return `7.0` and `3e8` as whole numbers: kubectl sends JSON, which does not tell them apart."""
    return int(number) if number.is_integer() and abs(number) < 2**63 else number


# -- what libyaml finds wrong -----------------------------------------------------------------------------------------

# Part of libyaml's problem, whether the place to look at is where the broken thing begins, what is wrong, what to do.
SYNTAX_ERRORS: Final = (
    ("character that cannot start any token", False, "{character} cannot begin a value", "quote the value"),
    ("tab character", False, "a tab stands in the indentation", "indent with spaces"),
    (
        "mapping values are not allowed",
        False,
        "a colon stands where no field can",
        "check indentation, or quote the text",
    ),
    ("sequence entries are not allowed", False, "a dash stands where no list can", "write it on a line of its own"),
    (
        "could not find expected ':'",
        True,
        "this is no field and no list entry",
        "write name: value, or indent the text",
    ),
    ("unexpected end of stream", True, "a quote opens here and nothing closes it", "close it"),
    (
        "expected ',' or",
        True,
        "a bracket opens here and its entries do not go on as they should",
        "check commas, close it",
    ),
    (
        "expected node content",
        False,
        "a value is missing, or its bracket is not open or not closed",
        "check the brackets",
    ),
    ("did not find expected key", False, "this does not line up with the fields above", "check indentation and quotes"),
    (
        "expected '-' indicator",
        False,
        "this does not line up with the list above",
        "indent it, or begin it with a dash",
    ),
    (
        "expected <document start>",
        False,
        "this belongs to no document",
        "indent as above, or write --- before an object",
    ),
    ("maximum nesting depth", False, f"maps and lists stand more than {DEEPEST} deep here", "write it flatter"),
    ("escape character", False, "no such escape is known", "double the backslash, or use single quotes"),
    ("Unicode character escape", False, "the escape stands for half a character", "write the character itself"),
)


def _syntax_error(error: yaml.MarkedYAMLError, text: str) -> tuple[int, str, str]:
    """Return the line, counted from 0, what is wrong there and what to do."""
    problem = str(error.problem)
    known = (entry for entry in SYNTAX_ERRORS if entry[0] in problem)
    unknown = (problem, False, f"is no YAML: {problem}", "correct this line or the one above")
    _, at_beginning, wrong, right = next(known, unknown)
    mark = error.context_mark if at_beginning else error.problem_mark
    line, column = (mark.line, mark.column) if mark else (0, 0)
    character = _character(text, line, column)
    if character == "\t":
        return line, "a tab stands in the indentation", "indent with spaces"
    last_line = text.rstrip().count("\n")  # what is missing at the end is missed behind it
    return min(line, last_line), wrong.format(character=_shown(character)), right


def _character(text: str, line: int, column: int) -> str:
    lines = text.split("\n")
    return lines[line][column : column + 1] if line < len(lines) else ""
