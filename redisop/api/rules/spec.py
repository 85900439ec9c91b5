"""Rules about versions, images, modes, settings and the Secret."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from redisop.api import config_keys
from redisop.api.defaults import NEWEST, TABLES
from redisop.api.derived import image_version, resolved_version
from redisop.api.rules import syntax
from redisop.api.rules.rule import Rule, Scope, Transition
from redisop.api.v1 import Persistence, Redis, RedisSpec
from redisop.api.violation import Violation

# What the tag of an image says of the version, as `image_version` has it; empty when it says nothing.
_TAG_VERSION: Final = (
    "self.image.split('@')[0].find(':v?[0-9]+([.][0-9]+){0,2}([^0-9./:][^/:]*)?$').find('[0-9]+([.][0-9]+)*')"
)
_OLD: Final = "^0*([0-5]|6[.]0*[01])([.].*)?$"
_is_old = syntax.matcher(_OLD)
_is_image = syntax.matcher(syntax.IMAGE)
_is_config_key = syntax.matcher(syntax.CONFIG_KEY)
_is_version = syntax.matcher(syntax.VERSION)


def _agrees(spec: RedisSpec) -> bool:
    said = image_version(spec.image)
    if spec.version is None or said is None or not _is_version(spec.version):
        return True
    return f"{said}.".startswith(f"{spec.version}.") or f"{spec.version}.".startswith(f"{said}.")


def _image_is_new_enough(spec: RedisSpec) -> bool:
    return spec.version is not None or not _is_old(image_version(spec.image) or "7")


def _version_is_known(spec: RedisSpec) -> bool:
    if spec.version is not None or spec.image is None or not _is_image(spec.image):
        return True
    return image_version(spec.image) is not None


_SPEC: Final = (
    Rule(
        field="mode",
        wrong="is Standalone, which is one pod, and replicas says more",
        right="set replicas to 1, or mode to Replication or Auto",
        holds=lambda spec: spec.mode != "Standalone" or spec.replicas <= 1,
        cel="self.mode != 'Standalone' || self.replicas <= 1",
    ),
    Rule(
        field="version",
        wrong="is not a version of Redis",
        right='write for example "7.0" or "7.2.5"',
        holds=lambda spec: spec.version is None or _is_version(spec.version),
        cel=f"!has(self.version) || self.version.matches({syntax.quoted(syntax.VERSION)})",
    ),
    Rule(
        field="version",
        wrong="is older than 6.2, the oldest version that redisop runs",
        right="use 6.2 or later",
        holds=lambda spec: spec.version is None or not _is_old(spec.version),
        cel=f"!has(self.version) || !self.version.matches({syntax.quoted(_OLD)})",
    ),
    syntax.image(),
    Rule(
        field="version",
        wrong="is not the version that the tag of the image says",
        right="let them agree, or leave version out",
        holds=_agrees,
        cel=f"!has(self.version) || !has(self.image) || {_TAG_VERSION} == '' "
        f"|| ({_TAG_VERSION} + '.').startsWith(self.version + '.') "
        f"|| (self.version + '.').startsWith({_TAG_VERSION} + '.')",
    ),
    Rule(
        field="image",
        wrong="is older than Redis 6.2, the oldest version that redisop runs",
        right="use 6.2 or later, or say the version of Redis in version if the tag means something else",
        holds=_image_is_new_enough,
        cel=f"has(self.version) || !has(self.image) || !{_TAG_VERSION}.matches({syntax.quoted(_OLD)})",
    ),
    Rule(
        level="warning",
        field="version",
        wrong="is not set and image neither, so this is Redis 6.2, a default kept for compatibility and not maintained",
        right='set version, for example version: "8.2"',
        holds=lambda spec: spec.version is not None or spec.image is not None,
    ),
    Rule(
        level="warning",
        field="image",
        wrong="says no version in its tag, so only settings that Redis 6.2 knows are used",
        right="set version to that of the Redis in the image",
        holds=_version_is_known,
    ),
)

_NUL: Final = Rule(
    wrong="has a NUL character, where the value would end for Redis",
    right="remove it",
    holds=lambda entry: "\0" not in entry[1],
    cel="!self[key].contains('\\u0000')",
)
_KEY: Final = Rule(
    wrong="cannot be a key of redis.conf",
    right="write lower-case letters, digits and dashes",
    holds=lambda entry: _is_config_key(entry[0]),
    cel=f"key.matches({syntax.quoted(syntax.CONFIG_KEY)})",
)


def _not_owned(owner: config_keys.Owned) -> Rule:
    tests = [syntax.among("key", owner.keys)] if owner.keys else []
    tests += [syntax.begins("key", owner.prefixes)] if owner.prefixes else []
    return Rule(
        wrong="is not set here",
        right=owner.instead,
        holds=lambda entry: config_keys.owned(entry[0]) is not owner,
        cel=f"!({' || '.join(tests)})",
    )


_MONITORED_PORT: Final = Rule(
    level="warning",
    field="podMonitor.enabled",
    wrong="is true without an exporter, so no pod has the port that Prometheus would ask",
    right="set monitoring.exporter.enabled to true, or leave this out",
    holds=lambda monitoring: not monitoring.podMonitor.enabled or monitoring.exporter.enabled,
)

SCOPES: Final = (
    Scope("spec", _SPEC),
    Scope("spec.config{}", (_KEY, _NUL, *(_not_owned(owner) for owner in config_keys.OWNED))),
    Scope(
        "spec.auth.secretRef",
        (
            syntax.object_name("name", "Secret"),
            syntax.spelled(
                "key",
                syntax.SECRET_KEY,
                "cannot be a key of a Secret",
                "write letters, digits, dashes, dots and underscores",
            ),
        ),
    ),
    Scope("spec.persistence", (syntax.object_name("storageClassName", "StorageClass"),)),
    Scope("spec.monitoring", (_MONITORED_PORT,)),
    Scope("spec.monitoring.exporter", (syntax.image(),)),
)


def _same_class(new: Persistence, old: Persistence) -> bool:
    return new.storageClassName == old.storageClassName


TRANSITIONS: Final = (
    Transition(
        path="spec.persistence",
        field="storageClassName",
        wrong="cannot change",
        right="keep it, or make a new Redis and copy the data",
        holds=_same_class,
        cel="has(self.storageClassName) == has(oldSelf.storageClassName) "
        "&& (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName)",
    ),
)


def unknown_settings(redis: Redis) -> Iterator[Violation]:
    """Yield a warning for each key that this version of Redis does not have, as far as is known here.

    A wrong key keeps Redis from starting, but a later patch release may have keys that the tables do not.
    """
    if not redis.spec.config:
        return
    version = resolved_version(redis.spec, TABLES[redis.spec.defaultsRevision or NEWEST])
    if not _is_version(version):
        return
    for key in redis.spec.config:
        if _is_config_key(key) and not config_keys.is_known(key, version) and config_keys.owned(key) is None:
            near = config_keys.nearest(key, version)
            right = f"did you mean {near}?" if near else "Redis does not start with a key that it does not know"
            yield Violation(f"spec.config[{key}]", f"is not known for Redis {version}", right, "warning")
