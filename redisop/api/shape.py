"""What pydantic finds wrong with the shape of a document, in words that its author can act upon.

Runs only for documents that are refused, so it may be slow; it must never fail, whatever the document holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, Final

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from redisop import names
from redisop.api import v1
from redisop.api.schema import PRESERVE, Schema, structural
from redisop.api.violation import Violation, printable, spell_path

RESERVED: Final = frozenset(
    {
        "spec.engine",
        "spec.sentinel",
        "spec.cluster",
        "spec.tls",
        "spec.auth.users",
        "spec.auth.rotation",
        "spec.auth.aclSecretRef",
        "spec.configFrom",
        "spec.modules",
        "spec.network.announce",
        "spec.connectionSecret",
        "spec.update.maintenanceWindows",
        "spec.bootstrap",
        "spec.backup",
        "spec.autotune",
        "spec.pod.overrides",
        "spec.persistence.accessModes",
        "spec.replication.minReplicasToWrite",
        "spec.replication.minReplicasMaxLag",
    }
)
RESERVED_VALUES: Final = MappingProxyType({"spec.mode": ("Sentinel", "Cluster")})
# What a field of one version is called in the other.
RENAMED: Final = MappingProxyType(
    {
        "spec.size": "spec.replicas",
        "spec.persistent": "spec.storage and spec.persistence.mode",
        "spec.passwordSecret": "spec.auth.secretRef.name",
        "spec.redisConfig": "spec.config",
        "spec.replicas": "spec.size",
        "spec.auth": "spec.passwordSecret",
        "spec.config": "spec.redisConfig",
    }
)
LATER: Final = "reserved for a later version of redisop"

AS_WRITTEN: Final = object()
_KEY: Final = "[key]"  # pydantic's word for: the key itself, not what stands at it
_ABOUT_NAMES: Final = ("extra_forbidden", "invalid_key", "missing")

Saying = tuple[str, str]
Steps = tuple[str | int, ...]
_LONGEST_NAME: Final = 64


def violations(model: type[BaseModel], error: ValidationError) -> tuple[Violation, ...]:
    """Return everything that `error`, raised by `model`, finds wrong, in the order of the model's fields."""
    schema = structural(model)
    return tuple(_violation(schema, details) for details in error.errors(include_url=False))


def meant(details: ErrorDetails) -> Any:
    """Return what the API server takes the value for, though it is of another type: None for nothing at all.

    It drops a known field, or a key of a map, that says `null`, and reads `2.0` as a whole number. Everything else is
    meant AS_WRITTEN, and wrong.
    """
    given = details["input"]
    if details["type"] in _ABOUT_NAMES or details["loc"][-1] == _KEY:
        return AS_WRITTEN
    if given is None and isinstance(details["loc"][-1], str):
        return None
    if details["type"] == "int_type" and isinstance(given, float) and given.is_integer():
        return int(given)
    return AS_WRITTEN


def _violation(schema: Schema, details: ErrorDetails) -> Violation:
    steps = tuple(step for step in details["loc"] if step != _KEY)
    path = _spelled(schema, steps)
    if details["type"] == "extra_forbidden":
        return Violation(path, *_unknown_field(schema, steps, path))
    say = _SAYINGS.get(details["type"], _other)
    return Violation(path, *say(details, _at(schema, steps), path))


# -- what each kind of error says -------------------------------------------------------------------------------------


def _not_a_whole_number(details: ErrorDetails, schema: Schema, path: str) -> Saying:
    given = details["input"]
    if isinstance(given, str) and given.strip().lstrip("+-").isascii() and given.strip().lstrip("+-").isdigit():
        return f"{said(given)} is text", f"write {printable(given.strip())} without quotes"
    return f"{said(given)} is not a whole number", "write for example 2"


def _not_text(details: ErrorDetails, schema: Schema, path: str) -> Saying:
    given = details["input"]
    if isinstance(given, bool | int | float):
        kind = "true or false" if isinstance(given, bool) else "a number"
        return f"{said(given)} is {kind} in YAML", f'quote it: {_last_name(path)}: "{said(given)}"'
    return f"{said(given)} is not text", 'write text, in quotes where YAML would read something else: "7.0"'


def _not_a_switch(details: ErrorDetails, schema: Schema, path: str) -> Saying:
    return f"{said(details['input'])} is neither true nor false", "write true or false, without quotes"


def _not_one_of(details: ErrorDetails, schema: Schema, path: str) -> Saying:
    given, choices = details["input"], schema["enum"]
    if given in RESERVED_VALUES.get(path, ()):
        return f"{said(given)} is {LATER}", f"write one of {', '.join(choices)}"
    near = _nearest(given, choices) if isinstance(given, str) else None
    return f"{said(given)} is not known here", f"write {near}" if near else f"write one of {', '.join(choices)}"


def _out_of_bounds(details: ErrorDetails, schema: Schema, path: str) -> Saying:
    least, most = schema.get("minimum"), schema.get("maximum")
    return f"{said(details['input'])} is out of bounds", f"write a number from {least} to {most}"


def _text_too_short(details: ErrorDetails, schema: Schema, path: str) -> Saying:
    return "is empty", "write something, or remove the field"


def _text_too_long(details: ErrorDetails, schema: Schema, path: str) -> Saying:
    return f"has {len(details['input'])} characters", f"write at most {details['ctx']['max_length']}"


def _list_too_long(details: ErrorDetails, schema: Schema, path: str) -> Saying:
    return f"has {len(details['input'])} entries", f"write at most {details['ctx']['max_length']}"


def _not_a_map(details: ErrorDetails, schema: Schema, path: str) -> Saying:
    return f"{said(details['input'])} is not a map", "write fields below it, each on its own line with its value"


def _not_a_list(details: ErrorDetails, schema: Schema, path: str) -> Saying:
    return f"{said(details['input'])} is not a list", "write entries below it, each with a dash in front"


def _missing(details: ErrorDetails, schema: Schema, path: str) -> Saying:
    return "is missing", "add it"


def _key_is_no_text(details: ErrorDetails, schema: Schema, path: str) -> Saying:
    return f"{said(details['input'])} is not text, as a field's name must be", "quote it or remove it"


def _not_unicode(details: ErrorDetails, schema: Schema, path: str) -> Saying:
    return "is not valid Unicode text", "write it anew"


def _not_a_scalar_of_ours(details: ErrorDetails, schema: Schema, path: str) -> Saying:
    wrong, _, right = details["msg"].partition("; ")
    return f"{said(details['input'])} {wrong}", right


def _other(details: ErrorDetails, schema: Schema, path: str) -> Saying:
    return f"{said(details['input'])} is not allowed here", printable(details["msg"])


_SAYINGS: Final[Mapping[str, Callable[[ErrorDetails, Schema, str], Saying]]] = MappingProxyType(
    {
        "bool_type": _not_a_switch,
        "dict_type": _not_a_map,
        "duration": _not_a_scalar_of_ours,
        "greater_than_equal": _out_of_bounds,
        "int_type": _not_a_whole_number,
        "invalid_key": _key_is_no_text,
        "less_than_equal": _out_of_bounds,
        "literal_error": _not_one_of,
        "missing": _missing,
        "model_type": _not_a_map,
        "percent": _not_a_scalar_of_ours,
        "quantity": _not_a_scalar_of_ours,
        "string_too_long": _text_too_long,
        "string_too_short": _text_too_short,
        "string_type": _not_text,
        "string_unicode": _not_unicode,
        "too_long": _list_too_long,
        "tuple_type": _not_a_list,
        "list_type": _not_a_list,
    }
)


def said(value: object) -> str:
    """Return `value` as an author would recognise it in the document, short and harmless on a terminal."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str():
            return f'"{printable(value)}"'
        case int() if value.bit_length() > 100:
            return "a number of many digits"  # CPython refuses to print some
        case int() | float():
            return str(value)
        case Mapping():
            return "a map"
        case _:
            return "a list"


def _last_name(path: str) -> str:
    return path.rpartition(".")[2].rpartition("[")[2].rstrip("]")


# -- unknown fields ---------------------------------------------------------------------------------------------------


def _unknown_field(schema: Schema, steps: Steps, path: str) -> Saying:
    name = str(steps[-1])
    if path in RESERVED:
        return f"is {LATER}", "remove it"
    if path in RENAMED:
        return "is not a field of this apiVersion", f"use {RENAMED[path]}"
    if _at(structural(v1.Redis), steps):
        other = names.REDIS.api_version
        return f"is not a field of this apiVersion, but of {other}", f"write apiVersion: {other}"
    siblings = tuple(_at(schema, steps[:-1]).get("properties", ()))
    homes = [home for home in _paths(schema, "") if home.rpartition(".")[2] == name]
    if 0 < len(homes) <= 3:
        return "is not a field here", f"it belongs at {' or '.join(homes)}"
    if near := _nearest(name, siblings):
        return "is not a field", f"did you mean {near}?"
    known = f", or use one of {', '.join(siblings)}" if 0 < len(siblings) <= 8 else ""
    return "is not a field", f"remove it{known}"


def _nearest(name: str, known: Iterable[str]) -> str | None:
    """Return which of `known` the author most likely meant, whatever the case."""
    spelled = {word.lower(): word for word in known}
    found = get_close_matches(name.lower(), spelled, n=1, cutoff=0.7) if len(name) <= _LONGEST_NAME else []
    return spelled[found[0]] if found else None


def _paths(schema: Schema, prefix: str) -> Iterator[str]:
    """Yield the path of every field below `schema` that is a field of redisop's own, not one of Kubernetes'."""
    for name, field in schema.get("properties", {}).items():
        if PRESERVE not in schema and prefix != "metadata":
            path = f"{prefix}.{name}" if prefix else name
            yield path
            yield from _paths(field, path)


def _at(schema: Schema, steps: Steps) -> Schema:
    """Return the schema of what stands at `steps`; empty where the models do not say."""
    for step in steps:
        if "properties" in schema:
            schema = schema["properties"].get(step, {})
        else:
            schema = schema.get("items" if isinstance(step, int) else "additionalProperties", {})
    return schema


def _spelled(schema: Schema, steps: Steps) -> str:
    chosen = {
        position
        for position, step in enumerate(steps)
        if isinstance(step, str) and "properties" not in _at(schema, steps[:position])
    }
    return spell_path(steps, chosen)
