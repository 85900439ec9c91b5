"""`redisop explain`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

import click
from pydantic import BaseModel

from redisop.api.defaults import TABLES, Defaults
from redisop.api.derived import Derived, derive, image_version
from redisop.api.scalars import Percent, spell_bytes
from redisop.api.v1 import Redis
from redisop.cli.load import Loaded, load
from redisop.cli.options import format_option, source_options
from redisop.cli.output import put
from redisop.manifest import to_json
from redisop.render import revision
from redisop.render.inputs import Inputs

DEFAULT: Final = "default"


@dataclass(frozen=True, slots=True)
class Explained:
    """One value that the document does not say itself, and where it comes from."""

    name: str
    value: Any
    origin: str


@click.command()
@source_options
@format_option("text", "json")
def command(paths: tuple[str, ...], recursive: bool, namespace: str | None, output: str) -> int:
    """Show what redisop chose where a document says nothing, and why.

    First what follows from other fields and from the numbered table of defaults, then the constant defaults.
    """
    found = load(paths, recursive, namespace)
    for finding in found.findings:
        finding.say()
    explained = [(loaded, list(explain(loaded.redis))) for loaded in found.loaded]
    if output == "json":
        put(to_json({"documents": [_as_data(loaded, values) for loaded, values in explained]}))
    else:
        put("\n".join(_as_text(loaded, values) for loaded, values in explained))
    return found.exit_code


def explain(redis: Redis) -> Iterator[Explained]:
    """Yield everything that was derived or defaulted, in the order of ORIGINS and then of the API's fields."""
    defaults = TABLES[revision(redis.spec, Inputs())]
    derived = derive(redis.metadata.name, redis.spec, defaults)
    for name, origin in ORIGINS:
        explained = origin(redis, derived, defaults)
        if explained:
            yield Explained(name, *explained)
    for constant in _defaulted(redis.spec, redis.spec.model_dump(mode="json"), "spec"):
        if derived.persistence_mode in USED_WITH.get(constant.name, {derived.persistence_mode}):
            yield constant


# -- what follows from something else ---------------------------------------------------------------------------------

Origin = Callable[[Redis, Derived, Defaults], tuple[Any, str] | None]


def _mode(redis: Redis, derived: Derived, defaults: Defaults) -> tuple[Any, str] | None:
    return (derived.mode, f"Auto with replicas {redis.spec.replicas}") if redis.spec.mode == "Auto" else None


def _version(redis: Redis, derived: Derived, defaults: Defaults) -> tuple[Any, str] | None:
    if redis.spec.version:
        return None
    said = image_version(redis.spec.image)
    return derived.version, f"tag of image {redis.spec.image}" if said else _table(defaults)


def _image(redis: Redis, derived: Derived, defaults: Defaults) -> tuple[Any, str] | None:
    return None if redis.spec.image else (derived.image, f"version {derived.version}, {_table(defaults)}")


def _persistence(redis: Redis, derived: Derived, defaults: Defaults) -> tuple[Any, str] | None:
    return None if redis.spec.persistence.mode else (derived.persistence_mode, f"storage {redis.spec.storage}")


def _maxmemory(redis: Redis, derived: Derived, defaults: Defaults) -> tuple[Any, str] | None:
    choice = redis.spec.tuning.maxmemory.choice
    if not isinstance(choice, Percent):
        return None
    return spell_bytes(derived.maxmemory), f"{choice.value} % of memory {redis.spec.memory}"


def _backlog(redis: Redis, derived: Derived, defaults: Defaults) -> tuple[Any, str] | None:
    if redis.spec.tuning.replicationBacklog:
        return None
    bounds = f"within {spell_bytes(defaults.backlog_least)} and {spell_bytes(defaults.backlog_most)}"
    return spell_bytes(derived.replication_backlog), f"memory {redis.spec.memory} / {defaults.backlog_share}, {bounds}"


def _grace_period(redis: Redis, derived: Derived, defaults: Defaults) -> tuple[Any, str] | None:
    if redis.spec.pod.terminationGracePeriodSeconds is not None:
        return None
    saving = f"memory {redis.spec.memory} / {defaults.grace_bytes_a_second // 10**6} MB/s"
    return f"{derived.grace_period}s", f"{defaults.grace_base}s + {saving}, at most {defaults.grace_most}s"


def _secret(redis: Redis, derived: Derived, defaults: Defaults) -> tuple[Any, str] | None:
    if not redis.spec.auth.enabled or redis.spec.auth.secretRef:
        return None
    return derived.secret_name, f"name {redis.metadata.name}, key {derived.secret_key}"


def _service_account(redis: Redis, derived: Derived, defaults: Defaults) -> tuple[Any, str] | None:
    return None if redis.spec.pod.serviceAccountName else (redis.metadata.name, "name of the Redis")


def _exporter_image(redis: Redis, derived: Derived, defaults: Defaults) -> tuple[Any, str] | None:
    exporter = redis.spec.monitoring.exporter
    return (derived.exporter_image, _table(defaults)) if exporter.enabled and not exporter.image else None


def _defaults_revision(redis: Redis, derived: Derived, defaults: Defaults) -> tuple[Any, str] | None:
    return None if redis.spec.defaultsRevision else (defaults.revision, "newest table of defaults")


ORIGINS: Final[tuple[tuple[str, Origin], ...]] = (
    ("mode", _mode),
    ("version", _version),
    ("image", _image),
    ("persistence", _persistence),
    ("maxmemory", _maxmemory),
    ("replicationBacklog", _backlog),
    ("terminationGracePeriod", _grace_period),
    ("secret", _secret),
    ("serviceAccount", _service_account),
    ("exporterImage", _exporter_image),
    ("defaultsRevision", _defaults_revision),
)


def _table(defaults: Defaults) -> str:
    return f"table {defaults.revision} of defaults"


# -- constant defaults ------------------------------------------------------------------------------------------------

# What means something under these modes of persistence only.
USED_WITH: Final = {
    "spec.persistence.appendfsync": {"AOF", "Both"},
    "spec.persistence.save": {"RDB", "Both"},
}


def _defaulted(part: BaseModel, dumped: dict[str, Any], path: str) -> Iterator[Explained]:
    for name in type(part).model_fields:
        value = getattr(part, name)
        if isinstance(value, BaseModel):
            yield from _defaulted(value, dumped[name], f"{path}.{name}")
        elif name not in part.model_fields_set and value not in (None, (), {}):
            yield Explained(f"{path}.{name}", dumped[name], DEFAULT)


# -- text and JSON ----------------------------------------------------------------------------------------------------


def _as_data(loaded: Loaded, explained: list[Explained]) -> dict[str, Any]:
    return loaded.identity() | {"values": [asdict(one) for one in explained]}


def _as_text(loaded: Loaded, explained: list[Explained]) -> str:
    derived = [one for one in explained if one.origin != DEFAULT]
    defaulted = [one for one in explained if one.origin == DEFAULT]
    title = f"{loaded.key} at {loaded.document.source}:{loaded.document.line}\n"
    return title + "\n".join(_aligned(group) for group in (derived, defaulted) if group)


def _aligned(explained: list[Explained]) -> str:
    rows = [(one.name, _spelled(one.value), one.origin) for one in explained]
    name_width, value_width = (max(len(row[column]) for row in rows) for column in (0, 1))
    return "".join(f"  {name:{name_width}}  {value:{value_width}}  = {origin}\n" for name, value, origin in rows)


def _spelled(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        return ", ".join("/".join(str(part) for part in item.values()) for item in value)
    return value if isinstance(value, str) else json.dumps(value)
