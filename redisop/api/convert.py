"""From one version of the API to another and back, without losing anything.

What the other version cannot say travels in an annotation as JSON and comes back from there. Fields that both versions
know are compared when they come back: one that was edited meanwhile wins over the annotation.

Works on documents as they are, since the API server sends what it has stored, old or odd; nothing here judges them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

from pydantic_core import PydanticCustomError

from redisop import names
from redisop.api import redis_conf_lines, v1, v1alpha1
from redisop.api.scalars import Quantity
from redisop.api.schema import PRESERVE, Schema, structural
from redisop.api.status import RedisStatus

Document = dict[str, Any]
Fields = dict[str, Any]
Path = tuple[str, ...]


def to_v1(document: Document) -> Document:
    """Return the v1 form of a `v1alpha1` document."""
    return _converted(document, _TO_V1)


def to_v1alpha1(document: Document) -> Document:
    """Return the v1alpha1 form of a `v1` document."""
    return _converted(document, _TO_V1ALPHA1)


# -- what corresponds to what -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Match:
    """Fields of one version that say the same as fields of the other, and how to go from these to those and back.

    Both functions get a whole spec or status, look at their fields only, and return nothing but their fields.
    """

    alpha: tuple[Path, ...]
    v1: tuple[Path, ...]
    to_v1: Callable[[Fields], Fields]
    to_alpha: Callable[[Fields], Fields]


def _same(alpha: str, v1_name: str) -> _Match:
    return _Match(
        ((alpha,),),
        ((v1_name,),),
        lambda fields: {v1_name: fields[alpha]} if alpha in fields else {},
        lambda fields: {alpha: fields[v1_name]} if v1_name in fields else {},
    )


def _storage_to_v1(alpha: Fields) -> Fields:
    if alpha.get("persistent", True) or _is_nothing(alpha.get("storage")):
        return _picked(alpha, (("storage",),))
    return {"storage": "0"}


def _storage_to_alpha(spec: Fields) -> Fields:
    if _is_nothing(spec.get("storage")):
        return {"persistent": False}
    return _picked(spec, (("storage",),))


def _persistence_to_v1(alpha: Fields) -> Fields:
    return {} if alpha.get("persistent", True) else {"persistence": {"mode": "None"}}


def _persistence_to_alpha(spec: Fields) -> Fields:
    return {"persistent": False} if _is_nothing(spec.get("storage")) else {}


def _password_to_v1(alpha: Fields) -> Fields:
    if "passwordSecret" in alpha:
        return {"auth": {"secretRef": {"name": alpha["passwordSecret"]}}}
    return {"auth": {"enabled": False}}


def _password_to_alpha(spec: Fields) -> Fields:
    wanted = _picked(spec, (("auth", "enabled"),)) != {"auth": {"enabled": False}}
    named = _picked(spec, (("auth", "secretRef", "name"),))
    return {"passwordSecret": named["auth"]["secretRef"]["name"]} if wanted and named else {}


def _config_to_v1(alpha: Fields) -> Fields:
    lines = alpha.get("redisConfig")
    return {"config": redis_conf_lines.parse(lines)} if isinstance(lines, list) else {}


def _config_to_alpha(spec: Fields) -> Fields:
    config = spec.get("config")
    if not isinstance(config, dict):
        return {}
    said = {key: value for key, value in config.items() if value is not None}  # null says nothing, as to the API server
    return {"redisConfig": redis_conf_lines.spell(said)}


_SPEC: Final = (
    _same("size", "replicas"),
    _same("image", "image"),
    _same("memory", "memory"),
    _same("version", "version"),
    # Apart, so that another size leaves the mode as it was.
    _Match((("persistent",), ("storage",)), (("storage",),), _storage_to_v1, _storage_to_alpha),
    _Match((("persistent",),), (("persistence", "mode"),), _persistence_to_v1, _persistence_to_alpha),
    _Match(
        (("passwordSecret",),),
        (("auth", "enabled"), ("auth", "secretRef")),
        _password_to_v1,
        _password_to_alpha,
    ),
    _Match((("redisConfig",),), (("config",),), _config_to_v1, _config_to_alpha),
)
_STATUS: Final = (
    _same("phase", "phase"),
    _same("message", "message"),
    _same("master", "masterPodName"),
    _same("slaves", "slavePodNames"),
)
_MATCHES: Final = {"spec": _SPEC, "status": _STATUS}


def _is_nothing(size: object) -> bool:
    try:
        return size is not None and Quantity.parse(size).value == 0
    except PydanticCustomError:
        return False


# -- one direction, seen from where it starts --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Direction:
    api_version: str
    source_annotation: str
    target_annotation: str
    forth: Callable[[_Match, Fields], Fields]
    back: Callable[[_Match, Fields], Fields]
    source_paths: Callable[[_Match], tuple[Path, ...]]
    target_paths: Callable[[_Match], tuple[Path, ...]]
    source_schema: Callable[[str], Schema]


def _v1_schema(part: str) -> Schema:
    return structural(v1.RedisSpec if part == "spec" else RedisStatus)


def _v1alpha1_schema(part: str) -> Schema:
    return structural(v1alpha1.RedisSpec if part == "spec" else v1alpha1.RedisStatus)


_TO_V1: Final = _Direction(
    api_version=names.REDIS.api_version,
    source_annotation=names.CONVERTED_V1ALPHA1,
    target_annotation=names.CONVERTED_V1,
    forth=lambda match, fields: match.to_v1(fields),
    back=lambda match, fields: match.to_alpha(fields),
    source_paths=lambda match: match.alpha,
    target_paths=lambda match: match.v1,
    source_schema=_v1alpha1_schema,
)
_TO_V1ALPHA1: Final = _Direction(
    api_version=names.REDIS_V1ALPHA1.api_version,
    source_annotation=names.CONVERTED_V1,
    target_annotation=names.CONVERTED_V1ALPHA1,
    forth=lambda match, fields: match.to_alpha(fields),
    back=lambda match, fields: match.to_v1(fields),
    source_paths=lambda match: match.v1,
    target_paths=lambda match: match.alpha,
    source_schema=_v1_schema,
)


def _converted(document: Document, direction: _Direction) -> Document:
    # A missing spec says something, and not the same in both versions; a missing status says nothing.
    document = deepcopy(document)
    document.setdefault("spec", {})
    former = _take_annotation(document, direction.target_annotation)
    unsaid: Fields = {}
    for part in _MATCHES:
        if not isinstance(document.get(part), dict) and part not in former:
            continue
        source = document.get(part) or {}
        document[part] = _part(part, source, former.get(part), direction)
        if not _says_it_all(part, source, document[part], direction):
            unsaid[part] = source
    document["apiVersion"] = direction.api_version
    if unsaid:
        _put_annotation(document, direction.source_annotation, unsaid)
    return document


def _part(part: str, source: Fields, former: Fields | None, direction: _Direction) -> Fields:
    """Return the target's spec or status; `former` is what it was when the source was made from it, if it was."""
    target = deepcopy(former) if former is not None else {}
    for match in _MATCHES[part]:
        as_it_was = former is not None and direction.back(match, former) == _picked(
            source, direction.source_paths(match)
        )
        if not as_it_was:
            _remove(target, direction.target_paths(match))
            _merge(target, direction.forth(match, source))
    return target


def _says_it_all(part: str, source: Fields, target: Fields, direction: _Direction) -> bool:
    """Tell whether the source can be made from the target alone, but for defaults, which come back by themselves."""
    again: Fields = {}
    for match in _MATCHES[part]:
        _merge(again, direction.back(match, target))
    schema = direction.source_schema(part)
    return bool(_without_defaults(again, schema) == _without_defaults(source, schema))


# -- documents and annotations ----------------------------------------------------------------------------------------


def _take_annotation(document: Document, name: str) -> Fields:
    """Remove the annotation and return what it kept; nothing when somebody has broken it."""
    metadata = document.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(annotations, dict) or name not in annotations:
        return {}
    text = annotations.pop(name)
    if not annotations:
        del metadata["annotations"]
    try:
        kept = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return {}
    parts = kept if isinstance(kept, dict) else {}
    return {part: fields for part, fields in parts.items() if part in _MATCHES and isinstance(fields, dict)}


def _put_annotation(document: Document, name: str, unsaid: Fields) -> None:
    metadata = document.setdefault("metadata", {})
    text = json.dumps(unsaid, separators=(",", ":"), sort_keys=True)
    metadata["annotations"] = {**(metadata.get("annotations") or {}), name: text}


def _picked(fields: Fields, paths: tuple[Path, ...]) -> Fields:
    """Return a copy of `fields` with nothing but what stands at `paths`."""
    picked: Fields = {}
    for path in paths:
        value: Any = fields
        for step in path:
            value = value.get(step, _ABSENT) if isinstance(value, dict) else _ABSENT
        if value is not _ABSENT:
            _merge(picked, _nested(path, deepcopy(value)))
    return picked


_ABSENT: Final = object()


def _nested(path: Path, value: Any) -> Fields:
    for step in reversed(path):
        value = {step: value}
    fields: Fields = value
    return fields


def _remove(fields: Fields, paths: tuple[Path, ...]) -> None:
    for path in paths:
        inner: Any = fields
        for step in path[:-1]:
            inner = inner.get(step) if isinstance(inner, dict) else None
        if isinstance(inner, dict):
            inner.pop(path[-1], None)


def _merge(fields: Fields, more: Fields) -> None:
    for name, value in more.items():
        if isinstance(value, dict) and isinstance(fields.get(name), dict):
            _merge(fields[name], value)
        else:
            fields[name] = value


def _without_defaults(value: Any, schema: Schema) -> Any:
    """Return `value` without what the API server, or the models, would fill in again."""
    if not isinstance(value, dict) or "properties" not in schema or PRESERVE in schema:
        return value
    kept = {}
    for name, inner in value.items():
        field = schema["properties"].get(name, {})
        lean = _without_defaults(inner, field)
        if lean != field.get("default", _ABSENT) and not (lean == {} and isinstance(field.get("default"), dict)):
            kept[name] = lean
    return kept
