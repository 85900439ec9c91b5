"""The schema of a model as Kubernetes wants it: structural, with every reference spelled out."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from redisop.api.scalars import Written

Schema = dict[str, Any]

PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_DROPPED: Final = frozenset({"$defs", "title", "additionalProperties", "propertyNames"})


class _AsWritten(GenerateJsonSchema):
    """Writes a default as a user would."""

    def encode_default(self, dft: Any) -> Any:
        return dft.written if isinstance(dft, Written) else super().encode_default(dft)


@cache
def structural(model: type[BaseModel]) -> Schema:
    """Return the structural schema of `model`; to be read only, since each caller gets the same one."""
    schema = model.model_json_schema(schema_generator=_AsWritten)
    return _structural(schema, schema.get("$defs", {}))


def _structural(schema: Schema, definitions: Schema) -> Schema:
    schema = _without_null(_resolved(schema, definitions))
    schema = {**_resolved(schema, definitions)}
    result = {key: value for key, value in schema.items() if key not in _DROPPED}
    if "const" in result:
        result["enum"] = [result.pop("const")]
    if "properties" in schema:
        result["properties"] = {
            name: _property(field, definitions, name in schema.get("required", ()))
            for name, field in schema["properties"].items()
        }
    if "items" in schema:
        result["items"] = _structural(schema["items"], definitions)
    match schema.get("additionalProperties"):
        case dict() as values:
            result["additionalProperties"] = _structural(values, definitions)
        case True:
            result[PRESERVE] = True
    return result


def _property(field: Schema, definitions: Schema, required: bool) -> Schema:
    result = _structural(field, definitions)
    if "default" in result and result["default"] in (None, []):
        del result["default"]
    if not required and "default" not in field and _is_part(result):
        # The server fills in what is inside a part only when the part is there, and wants defaults to be complete.
        result["default"] = _defaults(result)
    return result


def _is_part(schema: Schema) -> bool:
    return "properties" in schema and "required" not in schema and PRESERVE not in schema


def _defaults(part: Schema) -> Schema:
    return {name: field["default"] for name, field in part["properties"].items() if "default" in field}


def _resolved(schema: Schema, definitions: Schema) -> Schema:
    """Return `schema` with its reference replaced by what it refers to; what stands beside the reference wins."""
    if "$ref" not in schema:
        return schema
    name = schema["$ref"].rpartition("/")[2]
    return {**definitions[name], **{key: value for key, value in schema.items() if key != "$ref"}}


def _without_null(schema: Schema) -> Schema:
    """Return `schema` without the choice of null: in a document null means the same as leaving the field out."""
    if "anyOf" not in schema:
        return schema
    (choice,) = (choice for choice in schema["anyOf"] if choice != {"type": "null"})
    beside = {key: value for key, value in schema.items() if key != "anyOf"}
    return {**choice, **beside}
