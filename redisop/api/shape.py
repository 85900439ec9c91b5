"""What pydantic finds wrong with the shape of a document, in words that its author can act upon.

Runs only for documents that are refused, so it may be slow; it must never fail, whatever the document holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from types import MappingProxyType, UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

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
RENAMED: Final = MappingProxyType(
    {
        "spec.size": "spec.replicas",
        "spec.persistent": "spec.storage and spec.persistence.mode",
        "spec.passwordSecret": "spec.auth.secretRef.name",
        "spec.redisConfig": "spec.config",
    }
)
LATER: Final = "reserved for a later version of redisop"

Saying = tuple[str, str]
_WRAPPERS: Final = (Annotated, Union, UnionType)


def violations(model: type[BaseModel], error: ValidationError) -> tuple[Violation, ...]:
    """Return everything that `error`, raised by `model`, finds wrong, in the order of the document's model."""
    return tuple(_violation(model, details) for details in error.errors(include_url=False))


def is_null_field(details: ErrorDetails) -> bool:
    """Tell whether the error is a known field, or a key of a map, that says `null` where something else must stand."""
    return details["input"] is None and details["type"] != "extra_forbidden" and isinstance(details["loc"][-1], str)


def _violation(model: type[BaseModel], details: ErrorDetails) -> Violation:
    steps = tuple(step for step in details["loc"] if step != "[key]")
    path = _spelled(model, steps)
    if details["type"] == "extra_forbidden":
        wrong, right = _unknown_field(model, steps, path)
    else:
        wrong, right = _SAYINGS.get(details["type"], _other)(details, path)
    return Violation(path, wrong, right)


# -- what each kind of error says -------------------------------------------------------------------------------------


def _not_a_whole_number(details: ErrorDetails, path: str) -> Saying:
    given = details["input"]
    if isinstance(given, str) and given.strip().lstrip("+-").isascii() and given.strip().lstrip("+-").isdigit():
        return f"{said(given)} is text", f"write {printable(given.strip())} without quotes"
    return f"{said(given)} is not a whole number", "write for example 2"


def _not_text(details: ErrorDetails, path: str) -> Saying:
    given = details["input"]
    if isinstance(given, bool | int | float):
        kind = "true or false" if isinstance(given, bool) else "a number"
        return f"{said(given)} is {kind} in YAML", f'quote it: {_last_name(path)}: "{said(given)}"'
    return f"{said(given)} is not text", 'write text, in quotes where YAML would read something else: "7.0"'


def _not_a_switch(details: ErrorDetails, path: str) -> Saying:
    return f"{said(details['input'])} is neither true nor false", "write true or false, without quotes"


def _not_one_of(details: ErrorDetails, path: str) -> Saying:
    given, choices = details["input"], details["ctx"]["expected"].replace("'", "").replace(" or ", ", ")
    if given in RESERVED_VALUES.get(path, ()):
        return f"{said(given)} is {LATER}", f"write one of {choices}"
    near = get_close_matches(given.lower(), {c.lower(): c for c in choices.split(", ")}) if _is_short(given) else []
    named = next((c for c in choices.split(", ") if near and c.lower() == near[0]), None)
    return f"{said(given)} is not known here", f"write {named}" if named else f"write one of {choices}"


def _too_small(details: ErrorDetails, path: str) -> Saying:
    return f"{said(details['input'])} is too small", f"write at least {details['ctx']['ge']}"


def _too_large(details: ErrorDetails, path: str) -> Saying:
    return f"{said(details['input'])} is too large", f"write at most {details['ctx']['le']}"


def _text_too_short(details: ErrorDetails, path: str) -> Saying:
    return "is empty", "write something, or remove the field"


def _text_too_long(details: ErrorDetails, path: str) -> Saying:
    return f"has {len(details['input'])} characters", f"write at most {details['ctx']['max_length']}"


def _list_too_long(details: ErrorDetails, path: str) -> Saying:
    return f"has {len(details['input'])} entries", f"write at most {details['ctx']['max_length']}"


def _not_text_matching(details: ErrorDetails, path: str) -> Saying:
    return f"{said(details['input'])} is not allowed here", f"write text that matches {details['ctx']['pattern']}"


def _not_a_map(details: ErrorDetails, path: str) -> Saying:
    return f"{said(details['input'])} is not a map", "write fields below it, each on its own line with its value"


def _not_a_list(details: ErrorDetails, path: str) -> Saying:
    return f"{said(details['input'])} is not a list", "write entries below it, each with a dash in front"


def _missing(details: ErrorDetails, path: str) -> Saying:
    return "is missing", "add it"


def _key_is_no_text(details: ErrorDetails, path: str) -> Saying:
    return f"{said(details['input'])} is not text, as a field's name must be", "quote it or remove it"


def _not_unicode(details: ErrorDetails, path: str) -> Saying:
    return "is not valid Unicode text", "write it anew"


def _not_a_scalar_of_ours(details: ErrorDetails, path: str) -> Saying:
    wrong, _, right = details["msg"].partition("; ")
    return f"{said(details['input'])} {wrong}", right


def _other(details: ErrorDetails, path: str) -> Saying:
    return f"{said(details['input'])} is not allowed here", printable(details["msg"])


_SAYINGS: Final[Mapping[str, Callable[[ErrorDetails, str], Saying]]] = MappingProxyType(
    {
        "bool_type": _not_a_switch,
        "dict_type": _not_a_map,
        "duration": _not_a_scalar_of_ours,
        "greater_than_equal": _too_small,
        "int_type": _not_a_whole_number,
        "invalid_key": _key_is_no_text,
        "less_than_equal": _too_large,
        "literal_error": _not_one_of,
        "missing": _missing,
        "model_type": _not_a_map,
        "percent": _not_a_scalar_of_ours,
        "quantity": _not_a_scalar_of_ours,
        "string_pattern_mismatch": _not_text_matching,
        "string_too_long": _text_too_long,
        "string_too_short": _text_too_short,
        "string_type": _not_text,
        "string_unicode": _not_unicode,
        "too_long": _list_too_long,
        "tuple_type": _not_a_list,
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


def _is_short(value: object) -> bool:
    return isinstance(value, str) and len(value) <= 40


def _last_name(path: str) -> str:
    return path.rpartition(".")[2].rpartition("[")[2].rstrip("]")


# -- unknown fields ---------------------------------------------------------------------------------------------------


def _unknown_field(model: type[BaseModel], steps: tuple[str | int, ...], path: str) -> Saying:
    name = str(steps[-1])
    if path in RESERVED:
        return f"is {LATER}", "remove it"
    if path in RENAMED:
        return "is not a field of v1, though of v1alpha1", f"use {RENAMED[path]}"
    siblings = _fields_at(model, steps[:-1])
    homes = [home for home in _homes(model) if home.rpartition(".")[2] == name]
    if 0 < len(homes) <= 3:
        return "is not a field here", f"it belongs at {' or '.join(homes)}"
    near = get_close_matches(name.lower(), {s.lower(): s for s in siblings}, n=1, cutoff=0.7) if _is_short(name) else []
    if near:
        return "is not a field", f"did you mean {next(s for s in siblings if s.lower() == near[0])}?"
    return "is not a field", f"remove it, or use one of {', '.join(siblings)}" if 0 < len(
        siblings
    ) <= 8 else "remove it"


@cache
def _homes(model: type[BaseModel]) -> tuple[str, ...]:
    return tuple(_paths(model.model_fields["spec"].annotation, "spec")) if "spec" in model.model_fields else ()


def _paths(annotation: Any, prefix: str) -> Iterator[str]:
    part = _part(annotation)
    if part is None:
        return
    for name, field in part.model_fields.items():
        yield f"{prefix}.{name}"
        yield from _paths(field.annotation, f"{prefix}.{name}")


def _fields_at(model: type[BaseModel], steps: tuple[str | int, ...]) -> tuple[str, ...]:
    annotation: Any = model
    for step in steps:
        annotation = _inside(annotation, step)
    part = _part(annotation)
    return tuple(part.model_fields) if part else ()


def _spelled(model: type[BaseModel], steps: tuple[str | int, ...]) -> str:
    annotation: Any = model
    keyed = set()
    for position, step in enumerate(steps):
        if isinstance(step, str) and annotation is not None and _part(annotation) is None:
            keyed.add(position)
        annotation = _inside(annotation, step)
    return spell_path(steps, keyed)


def _inside(annotation: Any, step: str | int) -> Any:
    """Return the type that stands at `step` of something of this type, or None where the models do not say."""
    part = _part(annotation)
    if part is not None:
        field = part.model_fields.get(str(step))
        return field.annotation if field else None
    inner = [argument for argument in get_args(_stripped(annotation)) if argument is not ...]
    return inner[-1] if inner else None


def _part(annotation: Any) -> type[BaseModel] | None:
    stripped = _stripped(annotation)
    return stripped if isinstance(stripped, type) and issubclass(stripped, BaseModel) else None


def _stripped(annotation: Any) -> Any:
    """Return the type without `| None` and `Annotated`."""
    while get_origin(annotation) in _WRAPPERS:
        annotation = next(inner for inner in get_args(annotation) if inner is not type(None))
    return annotation
