"""Compare what should exist with what does, and say what each change does to the running Redis.

`desired` is a subset of `live`: the API server adds defaults and others add fields of their own, and neither is a
difference. What is one: a value that we want otherwise, and a field that we own and no longer want. This module only
compares; it must not know how a change is made. Values of Secrets never leave it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import zip_longest
from typing import Any, Final, Literal

from pydantic_core import PydanticCustomError

from redisop import names
from redisop.api.scalars import Quantity
from redisop.manifest import Key, Manifest, key
from redisop.snapshot.pods import controller_uid

Path = tuple[str, ...]
# `leave`: others own the fields, and drift is to be reported only; `refuse`: it cannot be done at all.
Verb = Literal["create", "update", "replace", "delete", "refuse", "leave"]


class Consequence(StrEnum):
    """What a change does to the running Redis, from nothing to what is not done at all; in order of gravity."""

    NONE = "none"
    LIVE = "live"
    ROLLING = "rolling"
    SWITCHOVER = "switchover"
    VOLUME = "volume"
    REPLACE = "replace"
    REFUSED = "refused"


_GRAVITY: Final = list(Consequence)


class _Missing:
    """The value of a field that is not there; `None` is the value of one that is."""

    def __repr__(self) -> str:
        return "(none)"


MISSING: Final = _Missing()


@dataclass(frozen=True, slots=True)
class Difference:
    """One field that differs. `manager` owns it on the cluster; None when nobody does."""

    path: Path
    live: Any
    desired: Any
    manager: str | None
    consequence: Consequence

    @property
    def field(self) -> str:
        """The path as people read it, e.g. `spec.template.spec.containers[redis].image`."""
        return field_of(self.path)


@dataclass(frozen=True, slots=True)
class Change:
    """One manifest to create, update, replace or delete, with its differences, its consequence and the reason.

    `manifest` is what to send: the desired one, with what is refused as it is on the cluster, and without what is left
    to others. None for a deletion, and for what is refused or left.
    """

    key: Key
    verb: Verb
    manifest: Manifest | None = field(repr=False)  # it may be a Secret
    differences: tuple[Difference, ...]
    consequence: Consequence
    reason: str


# Lists whose elements Kubernetes tells apart by these fields (patchMergeKey, x-kubernetes-list-map-keys); every other
# list is one value. The first entry whose fields an element has is taken: Services and containers both have `ports`.
MERGE_KEYS: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "containers": (("name",),),
    "env": (("name",),),
    "imagePullSecrets": (("name",),),
    "initContainers": (("name",),),
    "ownerReferences": (("uid",),),
    "ports": (("containerPort", "protocol"), ("port", "protocol")),
    "topologySpreadConstraints": (("topologyKey", "whenUnsatisfiable"),),
    "volumeDevices": (("devicePath",),),
    "volumeMounts": (("mountPath",),),
    "volumes": (("name",),),
}
# Maps that the server takes as one value and to which it adds nothing.
ATOMIC_MAPS: Final = {"labelSelector", "namespaceSelector", "nodeSelector", "podSelector", "selector"}
# Fields, and maps of fields, whose values are quantities.
AMOUNTS: Final = {"limits", "requests", "sizeLimit"}
# What makes an object give way to a new one of the same name; its pods stay.
_RECREATED: Final = {"StatefulSet": {Consequence.REPLACE, Consequence.VOLUME}}
# What the server keeps as it is when it is asked for no longer, and what it chooses for a new object by itself.
_KEPT_BY_THE_SERVER: Final[Mapping[tuple[str, Path], str]] = {("Service", ("spec", "ipFamilyPolicy")): "SingleStack"}
# Never deleted because they are no longer wanted: they hold data.
KEPT: Final = {"PersistentVolumeClaim", "Secret"}


def diff(
    desired: Sequence[Manifest], live: Mapping[Key, Manifest], uid: str | None, correct: bool = True
) -> tuple[Change, ...]:
    """Return what must change for `live` to agree with `desired`, in the order of `desired`, deletions last.

    `uid` is that of the `Redis` that owns the children, None when it is not in the cluster. `live` may hold objects of
    others: only what carries our controller reference is ever deleted. Without `correct`, fields that others own are
    left to them, but for those that lead clients to the primary.
    """
    changes: list[Change] = []
    for manifest in desired:
        changes += _compare(manifest, live.get(key(manifest)), uid, correct)
    wanted = {key(manifest) for manifest in desired}
    changes += [
        Change(which, "delete", None, (), Consequence.NONE, "is no longer wanted")
        for which, manifest in live.items()
        if which not in wanted and which.kind not in KEPT and controller_uid(manifest) == uid is not None
    ]
    return tuple(changes)


def differences(desired: Manifest, live: Manifest) -> tuple[Difference, ...]:
    """Return the fields in which `live` is not what `desired` says, those that we own and no longer want included."""
    owned = _owned_by_us(live)
    managers = _managers(live)
    mask = desired["kind"] == "Secret"
    unlike = [(*found, _manager(found[0], live, managers)) for found in _unlike(desired, live, ())]
    unwanted = [
        (*found, names.FIELD_MANAGER)
        for found in _unwanted(owned, desired, live, ())
        if _KEPT_BY_THE_SERVER.get((desired["kind"], found[0]), MISSING) != found[1]
    ]
    return tuple(
        Difference(
            path,
            _MASKED if mask and there is not MISSING else there,
            _MASKED if mask and wanted is not MISSING else wanted,
            manager,
            _consequence(path, there, wanted, live, desired),
        )
        for path, there, wanted, manager in [*unlike, *unwanted]
    )


def foreign(live: Manifest, desired: Manifest, uid: str | None) -> str | None:
    """Return whose `live` is when it is not ours, None when it is ours.

    Ours is what has our uid as its controller or, without a controller, as before adoption, the two labels that select
    the children of this `Redis`. Claims are found by these labels, and belong to the StatefulSet.
    """
    if live["kind"] == names.CLAIM.kind:
        return None
    owner = next((owner for owner in live["metadata"].get("ownerReferences", []) if owner.get("controller")), None)
    if owner:
        return None if owner["uid"] == uid else f"{owner['kind']}/{owner['name']}"
    labels, wanted = live["metadata"].get("labels", {}), desired["metadata"]["labels"]
    if all(labels.get(label) == wanted[label] for label in (names.APP_LABEL, names.INSTANCE_LABEL)):
        return None
    return "somebody else: it has neither an owner nor redisop's labels"


def without(change: Change, consequence: Consequence) -> Change | None:
    """Return `change` with what has this consequence left as it is on the cluster; None when nothing else changes."""
    postponed = [one for one in change.differences if one.consequence is consequence]
    others = tuple(one for one in change.differences if one.consequence is not consequence)
    if not postponed or change.manifest is None:
        return change
    if not others:
        return None
    return _change(change.key, _with_live_values(change.manifest, postponed), others)


def field_of(path: Path) -> str:
    """Return `path` as people read it, e.g. `spec.ports[6379,TCP].nodePort`."""
    return "".join(part if part.startswith("[") else f".{part}" for part in path).removeprefix(".")


def gravest(consequences: Iterable[Consequence]) -> Consequence:
    """Return the gravest of `consequences`, `none` when there are none."""
    return max(consequences, key=_GRAVITY.index, default=Consequence.NONE)


# -- one manifest ----------------


def _compare(desired: Manifest, live: Manifest | None, uid: str | None, correct: bool) -> list[Change]:
    which = key(desired)
    if live is None:
        return [Change(which, "create", desired, (), Consequence.NONE, "does not exist")]
    if (whose := foreign(live, desired, uid)) is not None:
        return [Change(which, "refuse", None, (), Consequence.REFUSED, f"belongs to {whose}")]
    if which.kind in _RECREATED and "deletionTimestamp" in live["metadata"]:
        return [Change(which, "replace", desired, (), Consequence.REPLACE, "is being deleted")]
    found = differences(desired, live)
    refused = [one for one in found if one.consequence is Consequence.REFUSED]
    left = [] if correct else [one for one in found if one not in refused and _is_left(one, which.kind)]
    possible = tuple(one for one in found if one not in refused and one not in left)
    changes = []
    if possible:
        sent = _without_fields(_with_live_values(desired, refused), left)
        changes.append(_change(which, sent, possible))
    if left:
        changes.append(Change(which, "leave", None, tuple(left), Consequence.NONE, _because(left)))
    if refused:
        changes.append(Change(which, "refuse", None, tuple(refused), Consequence.REFUSED, _because(refused)))
    return changes


def _change(which: Key, manifest: Manifest, found: tuple[Difference, ...]) -> Change:
    worst = gravest(one.consequence for one in found)
    verb: Verb = "replace" if worst in _RECREATED.get(which.kind, ()) else "update"
    return Change(which, verb, _as_of_a_new_object(which.kind, manifest, found), found, worst, _because(found))


def _as_of_a_new_object(kind: str, manifest: Manifest, found: tuple[Difference, ...]) -> Manifest:
    """Return `manifest` with the server's own choice where it would keep what is asked for no longer."""
    chosen = [(one, _KEPT_BY_THE_SERVER.get((kind, one.path))) for one in found if one.desired is MISSING]
    return _with_live_values(manifest, [replace(one, live=value) for one, value in chosen if value is not None])


def _is_left(one: Difference, kind: str) -> bool:
    """Tell whether a field is somebody else's, and not one of those that must never be another's."""
    if one.manager in {None, names.FIELD_MANAGER} or kind == names.CLAIM.kind:
        return False
    leads_to_the_primary = (kind, one.path) in {("ConfigMap", ("data", "home")), ("Service", ("spec", "selector"))}
    return not leads_to_the_primary


def _because(found: Sequence[Difference]) -> str:
    first = found[0]
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    where, live, desired = _innermost(first.field, first.live, first.desired)
    return f"{where} is {_brief(live)}, should be {_brief(desired)}{more}"


def _innermost(where: str, live: Any, desired: Any) -> tuple[str, Any, Any]:
    """Return the first place inside where two values part: long ones mostly begin alike."""
    match live, desired:
        case dict(), dict():
            parts = [(f".{name}", live.get(name, MISSING), value) for name, value in desired.items()]
        case list(), list() if len(live) == len(desired):
            parts = [(f"[{number}]", *pair) for number, pair in enumerate(zip(live, desired, strict=True))]
        case str(), str() if "\n" in live + desired:
            lines = zip_longest(live.splitlines(), desired.splitlines(), fillvalue=MISSING)
            parts = [(f" line {number}", *pair) for number, pair in enumerate(lines, 1)]
        case _:
            return where, live, desired
    part, one, other = next((part for part in parts if not _same(part[2], part[1], "")), ("", live, desired))
    return _innermost(f"{where}{part}", one, other) if part else (where, live, desired)


def _brief(value: Any) -> str:
    """Return `value` in at most 60 characters of one line."""
    text = repr(value) if value is MISSING else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _with_live_values(desired: Manifest, fields: Sequence[Difference]) -> Manifest:
    """Return `desired` with each of `fields` as it is on the cluster, so that the rest can be applied."""
    if not fields:
        return desired
    kept: Manifest = deepcopy(desired)
    for one in fields:
        _put(kept, one.path, one.live)
    return kept


def _without_fields(desired: Manifest, fields: Sequence[Difference]) -> Manifest:
    """Return `desired` without `fields`: applied with the value that another gave them they would be ours as well."""
    if not fields:
        return desired
    kept: Manifest = deepcopy(desired)
    for one in fields:
        _put(kept, one.path, MISSING)
    return kept


def _put(value: Any, path: Path, new: Any) -> None:
    head, *rest = path
    if isinstance(value, list):
        element = next((one for one in value if _label(path[0], one) == head), None)
        if element is not None and rest:
            _put(element, tuple(rest), new)
    elif rest and head in value:
        _put(value[head], tuple(rest), new)
    elif rest:
        value[head] = {}
        _put(value[head], tuple(rest), new)
    elif new is MISSING:
        value.pop(head, None)
    else:
        value[head] = new


# -- comparing ----------------

_Found = tuple[Path, Any, Any]
_MASKED: Final = "(hidden)"


def _unlike(desired: Any, live: Any, path: Path) -> Iterator[_Found]:
    """Yield every value that `desired` has otherwise than `live`."""
    field = path[-1] if path else ""
    if isinstance(desired, dict) and isinstance(live, dict) and field not in ATOMIC_MAPS:
        for name, value in desired.items():
            if name not in live:
                yield (*path, name), MISSING, value
            else:
                yield from _unlike(value, live[name], (*path, name))
    elif isinstance(desired, list) and isinstance(live, list) and _keyed(field, desired):
        there = {_label(field, element): element for element in live}
        for element in desired:
            label = _label(field, element)
            if label not in there:
                yield (*path, label), MISSING, element
            else:
                yield from _unlike(element, there[label], (*path, label))
    elif not _same(desired, live, _field(path)):
        yield path, live, desired


def _same(desired: Any, live: Any, field: str) -> bool:
    """Tell whether a value, or a list that is one value, is as desired; the server may add defaults inside."""
    if isinstance(desired, list) and isinstance(live, list):
        return len(desired) == len(live) and all(
            _same(one, other, field) for one, other in zip(desired, live, strict=True)
        )
    if isinstance(desired, dict) and isinstance(live, dict):
        if field in ATOMIC_MAPS and desired.keys() != live.keys():
            return False
        amounts = field in AMOUNTS
        return all(
            name in live and _same(value, live[name], field if amounts else name) for name, value in desired.items()
        )
    return bool(desired == live) or (field in AMOUNTS and _same_amount(desired, live))


def _same_amount(desired: Any, live: Any) -> bool:
    """The server spells quantities its own way; in what users pass through they stand as written."""
    try:
        return Quantity.parse(str(desired)).value == Quantity.parse(str(live)).value
    except PydanticCustomError:
        return False


def _keyed(field: str, elements: list[Any]) -> bool:
    return field in MERGE_KEYS and all(isinstance(element, dict) for element in elements)


def _label(field: str, element: Any) -> str:
    """Return how an element of a keyed list is told apart, e.g. `[redis]` or `[6379,TCP]`."""
    choices = MERGE_KEYS.get(field, ())
    fields = next((choice for choice in choices if choice[0] in element), choices[0] if choices else ())
    return "[" + ",".join(str(element.get(name, "TCP" if name == "protocol" else "")) for name in fields) + "]"


def _field(path: Path) -> str:
    """Return the name that says what kind of value stands at `path`: amounts are known by the map they stand in."""
    last = path[-1] if path else ""
    return path[-2] if len(path) > 1 and path[-2] in AMOUNTS else last


# -- what we own and no longer want ----------------


def _owned_by_us(live: Manifest) -> Mapping[str, Any]:
    """Return our own `fieldsV1` of server-side apply, status left out."""
    for entry in live["metadata"].get("managedFields", []):
        if entry["manager"] == names.FIELD_MANAGER and entry["operation"] == "Apply" and not entry.get("subresource"):
            fields: Mapping[str, Any] = entry["fieldsV1"]
            return fields
    return {}


def _unwanted(owned: Mapping[str, Any], desired: Any, live: Any, path: Path) -> Iterator[_Found]:
    """Yield what stands in `live` because we once applied it, and is not in `desired`."""
    for token, inner in owned.items():
        name, wanted, there = _step(token, desired, live, path[-1] if path else "")
        if name is None or there is MISSING:
            continue
        if wanted is MISSING:
            yield (*path, name), there, MISSING
        else:
            yield from _unwanted(inner, wanted, there, (*path, name))


def _step(token: str, desired: Any, live: Any, field: str) -> tuple[str | None, Any, Any]:
    """Follow one token of `fieldsV1`: `f:name` into a map, `k:{...}` to an element of a keyed list."""
    kind, _, rest = token.partition(":")
    if kind == "f" and isinstance(desired, dict) and isinstance(live, dict):
        return rest, desired.get(rest, MISSING), live.get(rest, MISSING)
    if kind == "k" and isinstance(desired, list) and isinstance(live, list):
        keys = json.loads(rest)
        return _label(field, keys), _element(desired, keys), _element(live, keys)
    return None, MISSING, MISSING


def _element(elements: list[Any], keys: Mapping[str, Any]) -> Any:
    defaults = {"protocol": "TCP"}
    matching = (
        one for one in elements if all(one.get(name, defaults.get(name)) == value for name, value in keys.items())
    )
    return next(matching, MISSING)


# -- who owns what is there ----------------


def _managers(live: Manifest) -> list[tuple[str, Mapping[str, Any]]]:
    """Return who owns what. A subresource is another way to the same fields, but for the status, which is not ours."""
    entries = live["metadata"].get("managedFields", [])
    return [(entry["manager"], entry["fieldsV1"]) for entry in entries if entry.get("subresource") != "status"]


def _manager(path: Path, live: Any, managers: list[tuple[str, Mapping[str, Any]]]) -> str | None:
    """Return who owns the field at `path`; when we and another do, the other."""
    owners = [name for name, fields in managers if _owns(fields, path, live, "")]
    return next((name for name in owners if name != names.FIELD_MANAGER), owners[0] if owners else None)


def _owns(fields: Mapping[str, Any], path: Path, live: Any, field: str) -> bool:
    if not path:
        return True
    for token, inner in fields.items():
        name, _, there = _step(token, live, live, field)
        if name == path[0]:
            # What is one value is owned whole; of a field that is not there, nobody owns anything.
            return not inner or _owns(inner, path[1:], there, path[0])
    return False


# -- consequences ----------------


def _consequence(path: Path, there: Any, wanted: Any, live: Manifest, desired: Manifest) -> Consequence:
    if desired["kind"] == "Service" and path == ("spec", "loadBalancerClass"):
        return _of_balancer_class(live, desired)
    judge = _CONSEQUENCES.get(desired["kind"], _no_consequence)
    return judge(path, there, wanted)


def _of_balancer_class(live: Manifest, desired: Manifest) -> Consequence:
    """The class of a load balancer is fixed for as long as the Service is one."""
    stays = live["spec"].get("type") == desired["spec"].get("type") == "LoadBalancer"
    return Consequence.REFUSED if stays else Consequence.NONE


def _no_consequence(path: Path, live: Any, desired: Any) -> Consequence:
    return Consequence.NONE


def _of_stateful_set(path: Path, live: Any, desired: Any) -> Consequence:
    match path:
        case ("spec", "template", *_):
            return Consequence.ROLLING
        case ("spec", "volumeClaimTemplates", *_):
            return Consequence.VOLUME if _only_grown(live, desired) else Consequence.REFUSED
        case ("spec", "selector" | "serviceName" | "podManagementPolicy", *_):
            return Consequence.REPLACE
        case _:
            return Consequence.NONE


def _only_grown(live: Any, desired: Any) -> bool:
    """Tell whether the claim templates differ in a larger size and in nothing else: all that a claim can follow."""
    if live is MISSING or desired is MISSING or len(live) != len(desired):
        return False
    for one, other in zip(live, desired, strict=True):
        resized = deepcopy(one)
        resized["spec"]["resources"]["requests"] = other["spec"]["resources"]["requests"]
        if not _same(other, resized, "") or _size(other) < _size(one):
            return False
    return True


def _size(claim: Manifest) -> int:
    return Quantity.parse(claim["spec"]["resources"]["requests"]["storage"]).bytes


def _of_config_map(path: Path, live: Any, desired: Any) -> Consequence:
    return Consequence.LIVE if path == ("data", "redis.conf") else Consequence.NONE


def _of_service(path: Path, live: Any, desired: Any) -> Consequence:
    match path:
        case ("spec", "selector", *_):
            return Consequence.SWITCHOVER
        case ("spec", "ipFamilies"):
            # The first family is fixed for ever, the second may come and go.
            first_stays = live is MISSING or desired is MISSING or live[0] == desired[0]
            return Consequence.NONE if first_stays else Consequence.REFUSED
        case ("spec", "clusterIP") if live is not MISSING:
            return Consequence.REFUSED
        case _:
            return Consequence.NONE


def _of_claim(path: Path, live: Any, desired: Any) -> Consequence:
    return Consequence.VOLUME


_CONSEQUENCES: Final[Mapping[str, Callable[[Path, Any, Any], Consequence]]] = {
    "PersistentVolumeClaim": _of_claim,
    "ConfigMap": _of_config_map,
    "Service": _of_service,
    "StatefulSet": _of_stateful_set,
}
