"""The CustomResourceDefinition of `Redis`, made from the models and the rules.

The API server then holds what the models hold: shapes and bounds as a schema, rules as CEL, with the words that
`validate` uses. It must say nothing of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, Final

from pydantic import Field

from redisop.api.rules import SCOPES, TRANSITIONS, Scope
from redisop.api.rules.syntax import quoted
from redisop.api.schema import Schema, structural
from redisop.api.status import RedisStatus
from redisop.api.v1 import API_VERSION, KIND, Part, RedisSpec
from redisop.manifest import Manifest

GROUP: Final = API_VERSION.partition("/")[0]
PLURAL: Final = "redises"
NAME: Final = f"{PLURAL}.{GROUP}"

_COLUMNS: Final = (
    ("Mode", "string", ".status.mode", 0),
    ("Replicas", "integer", ".spec.replicas", 0),
    ("Ready", "integer", ".status.readyReplicas", 0),
    ("Primary", "string", ".status.masterPodName", 0),
    ("Version", "string", ".spec.version", 0),
    ("Phase", "string", ".status.phase", 0),
    ("Age", "date", ".metadata.creationTimestamp", 0),
    ("Image", "string", ".status.image", 1),
    ("Memory", "string", ".spec.memory", 1),
    ("Storage", "string", ".spec.storage", 1),
    ("Message", "string", ".status.message", 1),
)


class _V1(Part):
    spec: RedisSpec = Field(default_factory=RedisSpec)
    status: RedisStatus | None = None


def crd(conversion: Manifest | None = None) -> Manifest:
    """Return the definition.

    `conversion` says how to reach a conversion webhook (the API server's `webhook.clientConfig`); only with one can
    `v1alpha1` be served, so without it `v1` stands alone.
    """
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": KIND,
                "listKind": f"{KIND}List",
                "plural": PLURAL,
                "singular": "redis",
                "shortNames": ["rd"],
            },
            "versions": [_v1()],
        },
    }


def _v1() -> Manifest:
    return {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": _document()},
        "subresources": {
            "status": {},
            "scale": {
                "specReplicasPath": ".spec.replicas",
                "statusReplicasPath": ".status.replicas",
                "labelSelectorPath": ".status.selector",
            },
        },
        "additionalPrinterColumns": [_column(*column) for column in _COLUMNS],
    }


def _column(name: str, kind: str, path: str, priority: int) -> Manifest:
    column = {"name": name, "type": kind, "jsonPath": path}
    return column | {"priority": priority} if priority else column


def _document() -> Schema:
    document: Schema = {
        "type": "object",
        "description": "A Redis with its replicas.",
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object", "properties": {"name": {"type": "string"}}},
            **deepcopy({name: structural(_V1)["properties"][name] for name in ("spec", "status")}),
        },
    }
    for path, validation in _validations():
        _at(document, path).setdefault("x-kubernetes-validations", []).append(validation)
    return document


def _validations() -> Iterator[tuple[str, Schema]]:
    """Yield each rule that CEL can say, and where."""
    for scope in SCOPES:
        for rule in scope.rules:
            if rule.cel and scope.over_keys:
                yield scope.path, _over_keys(rule.cel, rule.message)
            elif rule.cel:
                yield scope.path, _validation(rule.cel, rule.message, rule.field)
    for transition in TRANSITIONS:
        yield transition.path, _validation(transition.cel, transition.message, transition.field)


def _validation(cel: str, message: str, field: str) -> Schema:
    validation = {"rule": cel, "message": message}
    return validation | {"fieldPath": f".{field}"} if field else validation


def _over_keys(cel: str, message: str) -> Schema:
    """Return the rule for all keys of a map; its message begins with the first key that breaks it."""
    said = quoted(f" {message}")
    return {"rule": f"self.all(key, {cel})", "messageExpression": f"self.filter(key, !({cel}))[0] + {said}"}


def _at(document: Schema, path: str) -> Any:
    """Return the schema of the place that the path of a `Scope` means."""
    schema = document
    for step in Scope.steps(path):
        match step:
            case "[*]":
                schema = schema["items"]
            case "{}":
                pass  # the rule stands at the map
            case _:
                schema = schema["properties"][step]
    return schema
