"""The CustomResourceDefinition of `Redis`, made from the models and the rules.

The API server then holds what the models hold: shapes and bounds as a schema, rules as CEL, with the words that
`validate` uses. It must say nothing of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from typing import Any, Final

from pydantic import Field

from redisop import names
from redisop.api import v1, v1alpha1
from redisop.api.rules import SCOPES, TRANSITIONS, Rule, Scope, Transition
from redisop.api.rules.syntax import quoted
from redisop.api.schema import Schema, structural
from redisop.api.status import RedisStatus
from redisop.api.v1 import Part
from redisop.manifest import Manifest

NAME: Final = f"{names.REDIS.plural}.{names.REDIS.group}"

Column = tuple[str, str, str, int]

_COLUMNS: Final[tuple[Column, ...]] = (
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
_COLUMNS_OF_V1ALPHA1: Final[tuple[Column, ...]] = (
    ("Size", "integer", ".spec.size", 0),
    ("Master", "string", ".status.master", 0),
    ("Phase", "string", ".status.phase", 0),
    ("Age", "date", ".metadata.creationTimestamp", 0),
)
_SCALE: Final = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}


class _V1(Part):
    spec: v1.RedisSpec = Field(default_factory=v1.RedisSpec)
    status: RedisStatus | None = None


class _V1Alpha1(Part):
    spec: v1alpha1.RedisSpec = Field(default_factory=v1alpha1.RedisSpec)
    status: v1alpha1.RedisStatus | None = None


def crd(conversion: Manifest | None = None) -> Manifest:
    """Return the definition.

    `conversion` says how to reach a conversion webhook (the API server's `webhook.clientConfig`). Only with one can
    `v1alpha1` be served, so without it `v1` stands alone.
    """
    webhook = {"clientConfig": conversion, "conversionReviewVersions": ["v1"]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME},
        "spec": {
            "group": names.REDIS.group,
            "scope": "Namespaced",
            "names": {
                "kind": names.REDIS.kind,
                "listKind": f"{names.REDIS.kind}List",
                "plural": names.REDIS.plural,
                "singular": "redis",
                "shortNames": ["rd"],
            },
            "conversion": {"strategy": "None"} if conversion is None else {"strategy": "Webhook", "webhook": webhook},
            "versions": [_v1()] if conversion is None else [_v1(), _v1alpha1()],
        },
    }


def _v1() -> Manifest:
    return {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": _document(_V1, _validations())},
        "subresources": {"status": {}, "scale": dict(_SCALE)},
        "additionalPrinterColumns": [_column(*column) for column in _COLUMNS],
    }


def _v1alpha1() -> Manifest:
    return {
        "name": "v1alpha1",
        "served": True,
        "storage": False,
        "schema": {"openAPIV3Schema": _document(_V1Alpha1, _validations_of_v1alpha1())},
        "subresources": {"status": {}},
        "additionalPrinterColumns": [_column(*column) for column in _COLUMNS_OF_V1ALPHA1],
    }


def _column(name: str, kind: str, path: str, priority: int) -> Manifest:
    column = {"name": name, "type": kind, "jsonPath": path}
    return column | {"priority": priority} if priority else column


def _document(model: type[Part], validations: Iterable[tuple[str, Schema]]) -> Schema:
    document: Schema = {
        "type": "object",
        "description": "A Redis with its replicas.",
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object", "properties": {"name": {"type": "string"}}},
            **deepcopy(structural(model)["properties"]),
        },
    }
    for path, validation in validations:
        _at(document, path).setdefault("x-kubernetes-validations", []).append(validation)
    return document


def _validations() -> Iterator[tuple[str, Schema]]:
    """Yield each rule that CEL can say, and where."""
    for scope in SCOPES:
        for rule in scope.rules:
            if rule.cel and scope.over_keys:
                yield scope.path, _over_keys(rule)
            elif rule.cel:
                yield scope.path, _validation(rule)
    for transition in TRANSITIONS:
        yield transition.path, _validation(transition)


def _validations_of_v1alpha1() -> Iterator[tuple[str, Schema]]:
    """Yield the rules about fields that both versions have; the rest is judged once it is v1."""
    for scope in SCOPES:
        for rule in scope.rules:
            if rule.cel and (scope.path, rule.field) in _ALSO_IN_V1ALPHA1:
                yield scope.path, _validation(rule)
    for transition in TRANSITIONS:
        if (transition.path, transition.field) in _ALSO_IN_V1ALPHA1:
            yield transition.path, _validation(transition)


_ALSO_IN_V1ALPHA1: Final = frozenset(
    {
        ("", "metadata.name"),
        ("spec", "image"),
        ("spec", "memory"),
        ("spec", "storage"),
        ("spec", "version"),
    }
)


def _validation(rule: Rule | Transition) -> Schema:
    validation = {"rule": rule.cel, "message": rule.message}
    return validation | {"fieldPath": f".{rule.field}"} if rule.field else validation


def _over_keys(rule: Rule) -> Schema:
    """Return the rule for all keys of a map; its message begins with the first key that breaks it."""
    said = quoted(f" {rule.message}")
    return {
        "rule": f"self.all(key, {rule.cel})",
        "messageExpression": f"self.filter(key, !({rule.cel}))[0] + {said}",
    }


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
