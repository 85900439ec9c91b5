"""From the content of a document to a `Redis`, or to everything that is wrong with it.

Takes plain values (what a YAML or JSON reader returns) and never raises for any of them. Files, streams and line
numbers are not its business.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from redisop.api import rules, shape
from redisop.api.v1 import API_VERSION, KIND, Redis
from redisop.api.violation import Violation


@dataclass(frozen=True, slots=True)
class Read:
    """A `Redis`, or None when at least one of the violations is an error."""

    redis: Redis | None
    violations: tuple[Violation, ...]


def read(document: object, old: Redis | None = None) -> Read:
    """Return the `Redis` that `document` describes, judged by every rule; `old` is what it replaces, if known."""
    foreign = _foreign(document)
    if foreign:
        return Read(None, (foreign,))
    redis, violations = _shaped(document)
    if redis is None:
        return Read(None, violations)
    violations = rules.violations(redis, old)
    refused = any(violation.level == "error" for violation in violations)
    return Read(None if refused else redis, violations)


def _foreign(document: object) -> Violation | None:
    """Return why the document cannot be a `Redis` of a version that is known here."""
    if not isinstance(document, dict):
        return Violation("", f"{shape.said(document)} is not a Redis document", f"begin with apiVersion: {API_VERSION}")
    if document.get("kind") != KIND:
        given = shape.said(document["kind"]) + " is not a Redis" if "kind" in document else "is missing"
        return Violation("kind", given, f"write kind: {KIND}")
    if document.get("apiVersion") != API_VERSION:
        given = shape.said(document["apiVersion"]) + " is not known here" if "apiVersion" in document else "is missing"
        return Violation("apiVersion", given, f"write apiVersion: {API_VERSION}")
    return None


def _shaped(document: Any) -> tuple[Redis | None, tuple[Violation, ...]]:
    try:
        return Redis.model_validate(document), ()
    except ValidationError as error:
        nulls = [details["loc"] for details in error.errors(include_url=False) if shape.is_null_field(details)]
        if not nulls:
            return None, shape.violations(Redis, error)
    return _shaped(_without(document, nulls))


def _without(document: Any, locations: Iterable[tuple[str | int, ...]]) -> Any:
    """Return `document` without the fields at `locations`: the API server drops a field that says null, too."""
    for location in locations:
        document = _without_one(document, location)
    return document


def _without_one(value: Any, location: tuple[str | int, ...]) -> Any:
    step, *rest = location
    if isinstance(value, list):
        return [_without_one(item, tuple(rest)) if index == step else item for index, item in enumerate(value)]
    if not rest:
        return {key: item for key, item in value.items() if key != step}
    return {key: _without_one(item, tuple(rest)) if key == step else item for key, item in value.items()}
