"""From the content of a document to a `Redis`, or to everything that is wrong with it.

Takes plain values (what a YAML or JSON reader returns) and never raises for any of them. Files, streams and line
numbers are not its business.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from redisop import names
from redisop.api import rules, shape
from redisop.api.v1 import Redis
from redisop.api.violation import Violation

Model = TypeVar("Model", bound=BaseModel)


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
    if document["apiVersion"] == names.REDIS_V1ALPHA1.api_version:  # type: ignore[index]
        return _read_v1alpha1(document, old)
    redis, violations = _shaped(Redis, document)
    return Read(None, violations) if redis is None else _judged(redis, old)


def _foreign(document: object) -> Violation | None:
    """Return why the document cannot be a `Redis` of a version that is known here."""
    if not isinstance(document, dict):
        right = f"begin with apiVersion: {names.REDIS.api_version}"
        return Violation("", f"{shape.said(document)} is not a Redis document", right)
    if document.get("kind") != names.REDIS.kind:
        given = f"{shape.said(document['kind'])} is not a Redis" if "kind" in document else "is missing"
        return Violation("kind", given, f"write kind: {names.REDIS.kind}")
    if document.get("apiVersion") not in (names.REDIS.api_version, names.REDIS_V1ALPHA1.api_version):
        given = f"{shape.said(document['apiVersion'])} is not known here" if "apiVersion" in document else "is missing"
        return Violation("apiVersion", given, f"write apiVersion: {names.REDIS.api_version}")
    return None


def _judged(redis: Redis, old: Redis | None) -> Read:
    violations = rules.violations(redis, old)
    refused = any(violation.level == "error" for violation in violations)
    return Read(None if refused else redis, violations)


def _shaped(model: type[Model], document: Any) -> tuple[Model | None, tuple[Violation, ...]]:
    try:
        return model.model_validate(document), ()
    except ValidationError as error:
        refused = error
    try:
        return model.model_validate(_as_meant(document, refused)), ()
    except ValidationError as error:
        return None, shape.violations(model, error)


def _as_meant(document: Any, error: ValidationError) -> Any:
    """Return `document` with what the API server takes for something else, as it takes it."""
    for details in error.errors(include_url=False):
        value = shape.meant(details)
        if value is not shape.AS_WRITTEN:
            document = _with(document, details["loc"], value)
    return document


def _with(document: Any, location: tuple[str | int, ...], value: Any) -> Any:
    """Return `document` with `value` at `location`; None takes the field away."""
    step, *rest = location
    if isinstance(document, list):
        inner = _with(document[int(step)], tuple(rest), value) if rest else value
        return [inner if index == step else item for index, item in enumerate(document)]
    if rest:
        return {**document, step: _with(document[step], tuple(rest), value)}
    others = {name: inner for name, inner in document.items() if name != step}
    return others if value is None else {**document, step: value}


# -- v1alpha1 ---------------------------------------------------------------------------------------------------------

_IN_V1ALPHA1: Final = (
    (re.compile(r"spec\.replicas"), "spec.size"),
    (re.compile(r"spec\.(image|memory|storage|version)"), r"spec.\1"),
    (re.compile(r"spec\.persistence\.mode"), "spec.persistent"),
    (re.compile(r"spec\.auth\.secretRef\.name"), "spec.passwordSecret"),
    (re.compile(r"spec\.config(\[.*\])?"), "spec.redisConfig"),
    (re.compile(r"(metadata\..*)"), r"\1"),
)


def _read_v1alpha1(document: Any, old: Redis | None) -> Read:
    from redisop.api import convert, v1alpha1  # here, since the early form is rare, and each start would pay for it

    _, violations = _shaped(v1alpha1.Redis, document)
    if violations:
        return Read(None, violations)
    redis, violations = _shaped(Redis, convert.to_v1(document))
    result = Read(None, violations) if redis is None else _judged(redis, old)
    return replace(result, violations=tuple(_said_in_v1alpha1(violation) for violation in result.violations))


def _said_in_v1alpha1(violation: Violation) -> Violation:
    """Return the violation with a path that its author knows; what v1alpha1 cannot say came out of the annotation."""
    for pattern, path in _IN_V1ALPHA1:
        if found := pattern.fullmatch(violation.path):
            return replace(violation, path=found.expand(path))
    wrong = f"{violation.path} {violation.wrong}"
    return replace(violation, path=f"metadata.annotations[{names.CONVERTED_V1}]", wrong=wrong)
