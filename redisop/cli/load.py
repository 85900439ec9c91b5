"""From paths to `Redis` objects that every rule was asked about, and all that was found on the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from redisop import names
from redisop.api.read import read
from redisop.api.shape import said
from redisop.api.v1 import Redis
from redisop.api.violation import Violation, printable
from redisop.cli.exit_codes import INVALID
from redisop.cli.output import Level, say
from redisop.cli.sources import Missing, gather
from redisop.documents import Document, Problem
from redisop.manifest import Key


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to say about a place in a source; `line` is None when it is about the source as a whole."""

    level: Level
    source: str
    line: int | None
    path: str
    wrong: str
    right: str

    @property
    def message(self) -> str:
        """What is wrong and what would be right."""
        return ": ".join(part for part in (self.wrong, self.right) if part)

    def say(self) -> None:
        """Write it to stderr as one line."""
        where = self.source if self.line is None else f"{self.source}:{self.line}"
        say(self.level, ": ".join(part for part in (self.path, self.message) if part), where)

    def as_data(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A `Redis` without errors, and the document that it comes from."""

    redis: Redis
    document: Document

    @property
    def key(self) -> Key:
        """What identifies the `Redis`."""
        return Key(names.REDIS.kind, self.redis.metadata.namespace, self.redis.metadata.name)

    def identity(self) -> dict[str, Any]:
        """Return what it is and where it stands, as JSON can hold it."""
        return {"source": self.document.source, "line": self.document.line, **self.key._asdict()}

    def finding(self, violation: Violation) -> Finding:
        """Return the violation with its place."""
        return _finding(self.document, violation)

    def error(self, wrong: str, right: str) -> Finding:
        """Return why the document as a whole cannot be used."""
        return Finding("error", self.document.source, self.document.line, "", wrong, right)

    def note(self, wrong: str, right: str) -> Finding:
        """Return something worth knowing about the document as a whole."""
        return Finding("note", self.document.source, self.document.line, "", wrong, right)


@dataclass(slots=True)
class Load:
    """What came of the paths: each `Redis` that may be used, and everything there is to say."""

    loaded: list[Loaded] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """3 when something is wrong, else 0; warnings and notes are no fault."""
        return INVALID if any(finding.level == "error" for finding in self.findings) else 0


def load(paths: tuple[str, ...], recursive: bool, namespace: str | None) -> Load:
    """Read, judge and compare everything that the paths hold."""
    load = Load()
    for found in gather(paths, recursive):
        if isinstance(found, Document):
            _judge(found, namespace, load)
        else:
            load.findings.append(_unreadable(found))
    _refuse_twins(load)
    _refuse_nothing(paths, load)
    return load


def in_namespace(load: Load, namespace: str) -> None:
    """Put every `Redis` that names no namespace into `namespace`, where it may meet its twin."""
    load.loaded = [_moved(loaded, namespace) for loaded in load.loaded]
    _refuse_twins(load)


def _moved(loaded: Loaded, namespace: str) -> Loaded:
    metadata = loaded.redis.metadata
    if metadata.namespace is not None:
        return loaded
    named = metadata.model_copy(update={"namespace": namespace})
    return Loaded(loaded.redis.model_copy(update={"metadata": named}), loaded.document)


def _unreadable(found: Problem | Missing) -> Finding:
    line = found.line if isinstance(found, Problem) else None
    return Finding("error", found.source, line, "", found.wrong, found.right)


def _judge(document: Document, namespace: str | None, load: Load) -> None:
    foreign = _foreign(document)
    if foreign:
        load.findings.append(foreign)
        return
    verdict = read(_in_namespace(document.value, namespace))
    violations = [*_other_namespace(document.value, namespace), *verdict.violations]
    findings = [_finding(document, violation) for violation in violations]
    load.findings += sorted(findings, key=lambda finding: finding.line or 0)
    if verdict.redis and len(violations) == len(verdict.violations):
        load.loaded.append(Loaded(verdict.redis, document))


def _foreign(document: Document) -> Finding | None:
    """Return a note when the document is an object of somebody else's kind."""
    version, kind = document.value.get("apiVersion"), document.value.get("kind")
    if not (isinstance(version, str) and isinstance(kind, str)) or version.partition("/")[0] == names.REDIS.group:
        return None
    wrong = f"{printable(kind)} of {printable(version)} is passed over"
    right = f"redisop takes {names.REDIS.kind} of {names.REDIS.api_version}"
    return Finding("note", document.source, document.line, "", wrong, right)


def _in_namespace(value: dict[str, Any], namespace: str | None) -> dict[str, Any]:
    metadata = value.get("metadata")
    if namespace is None or not isinstance(metadata, dict) or metadata.get("namespace") is not None:
        return value
    return {**value, "metadata": {**metadata, "namespace": namespace}}


def _other_namespace(value: dict[str, Any], namespace: str | None) -> Iterator[Violation]:
    metadata = value.get("metadata")
    own = metadata.get("namespace") if isinstance(metadata, dict) else None
    if namespace is not None and isinstance(own, str) and own != namespace:
        yield Violation(
            "metadata.namespace", f"{said(own)} is not {namespace}", f"leave one out, or call with -n {printable(own)}"
        )


def _finding(document: Document, violation: Violation) -> Finding:
    wrong, right = _as_written(document, violation)
    line = document.line_of(violation.steps)
    return Finding(violation.level, document.source, line, violation.path, wrong, right)


def _as_written(document: Document, violation: Violation) -> tuple[str, str]:
    """Return what it says with `7.10` or `on` where the author wrote that, so that nobody quotes `7.1` or `true`."""
    scalar = document.scalar(violation.steps)
    if scalar is None:
        return violation.wrong, violation.right
    value, written = scalar
    text, own = said(value), printable(written)
    wrong = own + violation.wrong.removeprefix(text) if violation.wrong.startswith(text) else violation.wrong
    return wrong, violation.right.replace(f'"{text}"', f'"{own}"')


def _refuse_twins(load: Load) -> None:
    """Take out every `Redis` that stands in the sources twice: nobody can know which one was meant."""
    places: dict[Key, list[Document]] = {}
    for loaded in load.loaded:
        places.setdefault(loaded.key, []).append(loaded.document)
    for key, (first, *others) in places.items():
        for other in others:
            wrong = f"{key} stands at {first.source}:{first.line} too"
            load.findings.append(Finding("error", other.source, other.line, "metadata.name", wrong, "leave one out"))
    load.loaded = [loaded for loaded in load.loaded if len(places[loaded.key]) == 1]


def _refuse_nothing(paths: Iterable[str], load: Load) -> None:
    """Make an error of nothing but foreign objects: pruning would delete what a mistyped apiVersion hides."""
    if not load.loaded and not load.exit_code:
        wrong = f"no {names.REDIS.kind} document in {', '.join(paths)}"
        right = f"begin one with apiVersion: {names.REDIS.api_version}"
        load.findings.append(Finding("error", "redisop", None, "", wrong, right))
