"""Rules about sizes, shares and times."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

from redisop.api.rules import syntax
from redisop.api.rules.rule import Rule, Scope, Transition
from redisop.api.scalars import Percent
from redisop.api.v1 import RedisSpec

_KI, _MI, _TI, _PI = 1024, 1024**2, 1024**4, 1024**5
_LARGEST_SHARE: Final = 95
_RISKY_SHARE: Final = 90


def size(field: str) -> str:
    """Return the CEL for the size that `field` holds, be it a number or text."""
    return f"quantity(string({field}))"


def _amount(field: str) -> str:
    return f"{size(field)}.asApproximateFloat()"


def _at_least(field: str, least: str) -> str:
    return f"{size(field)}.compareTo(quantity({syntax.quoted(least)})) >= 0"


def _at_most(field: str, most: str) -> str:
    return f"{size(field)}.compareTo(quantity({syntax.quoted(most)})) <= 0"


def _is_nothing(field: str) -> str:
    return f"({size(field)}.compareTo(quantity('0')) == 0)"


def _storage_fits(spec: RedisSpec) -> bool:
    return spec.storage.value == 0 or 64 * _MI <= spec.storage.value <= _PI


def _beyond(spec: RedisSpec, percent: int) -> Fraction | int:
    """Return how far `maxmemory` is beyond so much of the memory: positive, zero or negative, in no unit."""
    choice = spec.tuning.maxmemory.choice
    if isinstance(choice, Percent):
        return choice.value - percent
    return choice.value * 100 - spec.memory.value * percent


def _share_is_not_nothing(spec: RedisSpec) -> bool:
    choice = spec.tuning.maxmemory.choice
    return choice.value >= (1 if isinstance(choice, Percent) else _MI)


def _backlog_fits(spec: RedisSpec) -> bool:
    backlog = spec.tuning.replicationBacklog
    return backlog is None or 16 * _KI <= backlog.value <= spec.memory.value


_CHOICE = "self.tuning.maxmemory"
_IS_SHARE = f"string({_CHOICE}).endsWith('%')"
_SHARE = f"int(string({_CHOICE}).replace('%', ''))"
_BACKLOG = "self.tuning.replicationBacklog"

_SPEC: Final = (
    Rule(
        field="memory",
        wrong="is less than 32Mi or more than 1Ti",
        right="write for example 512Mi",
        holds=lambda spec: 32 * _MI <= spec.memory.value <= _TI,
        cel=f"{_at_least('self.memory', '32Mi')} && {_at_most('self.memory', '1Ti')}",
    ),
    Rule(
        field="storage",
        wrong="is neither 0 nor from 64Mi to 1Pi",
        right="write 0 for no volume, or for example 1Gi",
        holds=_storage_fits,
        cel=f"{_is_nothing('self.storage')} "
        f"|| {_at_least('self.storage', '64Mi')} && {_at_most('self.storage', '1Pi')}",
    ),
    Rule(
        field="tuning.maxmemory",
        wrong=f"is more than {_LARGEST_SHARE}% of memory",
        right="leave Redis room for connections and copies: write for example 75%",
        holds=lambda spec: _beyond(spec, _LARGEST_SHARE) <= 0,
        cel=f"{_IS_SHARE} ? {_SHARE} <= {_LARGEST_SHARE} "
        f": {_amount(_CHOICE)} * 100.0 <= {_amount('self.memory')} * {_LARGEST_SHARE}.0",
    ),
    Rule(
        field="tuning.maxmemory",
        wrong="is less than 1% or 1Mi, and Redis takes 0 for no limit at all",
        right="write for example 75%",
        holds=_share_is_not_nothing,
        cel=f"{_IS_SHARE} ? {_SHARE} >= 1 : {_at_least(_CHOICE, '1Mi')}",
    ),
    Rule(
        level="warning",
        field="tuning.maxmemory",
        wrong=f"is {_RISKY_SHARE}% of memory or more, which leaves little for connections, backlog and copies",
        right="write for example 75%, or raise memory",
        holds=lambda spec: _beyond(spec, _RISKY_SHARE) < 0 or _beyond(spec, _LARGEST_SHARE) > 0,
    ),
    Rule(
        field="tuning.replicationBacklog",
        wrong="is less than 16Ki or more than memory",
        right="write for example 64Mi, or leave it out",
        holds=_backlog_fits,
        cel=f"!has({_BACKLOG}) || {_at_least(_BACKLOG, '16Ki')} "
        f"&& {size(_BACKLOG)}.compareTo({size('self.memory')}) <= 0",
    ),
    Rule(
        level="warning",
        field="persistence.mode",
        wrong="is None, so the volumes hold no data",
        right="set storage to 0, or mode to AOF, RDB or Both",
        holds=lambda spec: spec.persistence.mode != "None" or spec.storage.value == 0,
    ),
    Rule(
        level="warning",
        field="storage",
        wrong="is 0, so what persistence.mode writes goes with the pod",
        right="set a size, for example 1Gi, or leave persistence.mode out",
        holds=lambda spec: spec.storage.value != 0 or spec.persistence.mode in (None, "None"),
    ),
)


# -- times ------------------------------------------------------------------------------------------------------------


def _at_least_a_second(field: str) -> Rule:
    return Rule(
        field=field,
        wrong="is less than a second",
        right="write for example 5s",
        holds=lambda part: getattr(part, field).value >= 1,
        cel=f"duration(self.{field}) >= duration('1s')",
    )


_ROUTE_LEAD: Final = Rule(
    field="routeLead",
    wrong="is more than 10s",
    right="write for example 1200ms, or 0 to route last",
    holds=lambda update: update.routeLead.value <= 10,
    cel="duration(self.routeLead) <= duration('10s')",
)

# -- resources --------------------------------------------------------------------------------------------------------

_RESOURCES: Final = ("cpu", "ephemeral-storage", "memory")


def _within_limits(resources: Any) -> bool:
    return all(
        amount.value <= resources.limits[name].value
        for name, amount in resources.requests.items()
        if name in resources.limits
    )


def _amounts_are_known() -> Rule:
    return Rule(
        wrong="is not a resource that can be set here",
        right="use cpu or ephemeral-storage",
        holds=lambda entry: entry[0] in _RESOURCES,
        cel=syntax.among("key", _RESOURCES),
    )


_AMOUNTS: Final = (
    _amounts_are_known(),
    Rule(
        wrong="is less than nothing",
        right="write for example 100m",
        holds=lambda entry: entry[1].value >= 0,
        cel=_at_least("self[key]", "0"),
    ),
)
_NO_MEMORY: Final = Rule(
    wrong="is not set here",
    right="use spec.memory, which is both request and limit",
    holds=lambda entry: entry[0] != "memory",
    cel="key != 'memory'",
)
_REQUESTS_FIT: Final = Rule(
    field="requests",
    wrong="asks for more than limits allow",
    right="lower the request or raise the limit",
    holds=_within_limits,
    cel="!has(self.requests) || !has(self.limits) || self.requests.all(key, !(key in self.limits) "
    f"|| {size('self.requests[key]')}.compareTo({size('self.limits[key]')}) <= 0)",
)


SCOPES: Final = (
    Scope("spec", _SPEC),
    Scope("spec.probes.liveness", (_at_least_a_second("period"), _at_least_a_second("timeout"))),
    Scope("spec.update", (_at_least_a_second("syncTimeout"), _ROUTE_LEAD)),
    Scope("spec.monitoring.podMonitor", (_at_least_a_second("interval"),)),
    Scope("spec.pod.resources.requests{}", (_NO_MEMORY, *_AMOUNTS)),
    Scope("spec.pod.resources.limits{}", (_NO_MEMORY, *_AMOUNTS)),
    Scope("spec.pod.resources", (_REQUESTS_FIT,)),
    Scope("spec.monitoring.exporter.resources.requests{}", _AMOUNTS),
    Scope("spec.monitoring.exporter.resources.limits{}", _AMOUNTS),
    Scope("spec.monitoring.exporter.resources", (_REQUESTS_FIT,)),
)


# -- transitions ------------------------------------------------------------------------------------------------------


def _has_volumes_still(new: RedisSpec, old: RedisSpec) -> bool:
    return (new.storage.value == 0) == (old.storage.value == 0)


def _does_not_shrink(new: RedisSpec, old: RedisSpec) -> bool:
    return new.storage.value == 0 or new.storage.value >= old.storage.value


TRANSITIONS: Final = (
    Transition(
        path="spec",
        field="storage",
        wrong="cannot go from 0 to a size or back",
        right="make a new Redis and copy the data",
        holds=_has_volumes_still,
        cel=f"{_is_nothing('self.storage')} == {_is_nothing('oldSelf.storage')}",
    ),
    Transition(
        path="spec",
        field="storage",
        wrong="is less than before, and volumes do not shrink",
        right="keep the size, or make a new Redis and copy the data",
        holds=_does_not_shrink,
        cel=f"{_is_nothing('self.storage')} || {size('self.storage')}.compareTo({size('oldSelf.storage')}) >= 0",
    ),
)
