"""Changes as people and programs read them: what, how, what it does to the running Redis, and from what to what."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import click

from redisop import names
from redisop.diff import MISSING, Change, Consequence, Difference
from redisop.manifest import to_yaml

MOST_IN_BRIEF: Final = 2
MEANINGS: Final = {
    Consequence.NONE: "no Redis process notices",
    Consequence.LIVE: "set on the running Redis",
    Consequence.ROLLING: "takes effect when the pods restart",
    Consequence.SWITCHOVER: "clients are led to another primary",
    Consequence.VOLUME: "volumes grow in place",
    Consequence.REPLACE: "the object is made anew, its pods stay",
    Consequence.REFUSED: "cannot be done, and is not",
}
_COLOURS: Final = {
    Consequence.NONE: "green",
    Consequence.LIVE: "green",
    Consequence.ROLLING: "yellow",
    Consequence.SWITCHOVER: "yellow",
    Consequence.VOLUME: "yellow",
    Consequence.REPLACE: "yellow",
    Consequence.REFUSED: "red",
}


def as_text(changes: Iterable[Change], coloured: bool) -> Iterator[str]:
    """Yield the lines that say what changes."""
    for change in changes:
        if change.verb == "create":
            yield f"  create {change.key}"
            continue
        word = str(change.consequence)
        shown = click.style(word, fg=_COLOURS[change.consequence]) if coloured else word
        yield f"  {change.verb} {change.key} ({shown}: {MEANINGS[change.consequence]})"
        if not change.differences:
            yield f"      {change.reason}"
        for difference in change.differences:
            yield from _lines(difference)


def rendered_again(status: Mapping[str, Any] | None, changes: Iterable[Change]) -> bool:
    """Tell whether somebody applied rendered manifests over a `Redis` that is managed, as its `status` shows.

    The first time that is adoption. Later it is a mistake: only a rendered StatefulSet restarts pods by itself.
    """
    undone = {
        (difference.live, difference.desired)
        for change in changes
        for difference in change.differences
        if (change.key.kind, difference.field) == ("StatefulSet", "spec.updateStrategy.type")
    }
    return bool(status) and ("RollingUpdate", "OnDelete") in undone


RENDERED_AGAIN: Final = (
    "rendered manifests were applied over it, while redisop manages it; apply the Redis alone, and let whoever applies "
    "the manifests stop"
)


def in_brief(change: Change) -> str:
    """Return what to say behind the name of an object that was changed: the consequence, and the first fields."""
    if change.verb == "create":
        return ""
    fields = [difference.field for difference in change.differences]
    more = f" and {len(fields) - MOST_IN_BRIEF} more" if len(fields) > MOST_IN_BRIEF else ""
    what = ", ".join(fields[:MOST_IN_BRIEF]) + more
    return f" ({change.consequence}: {what or change.reason})"


def as_data(change: Change) -> dict[str, Any]:
    """Return the change as JSON can hold it; a value that is not there is left out."""
    return {
        "object": change.key._asdict(),
        "verb": change.verb,
        "consequence": str(change.consequence),
        "reason": change.reason,
        "differences": [_difference(difference) for difference in change.differences],
    }


def _difference(difference: Difference) -> dict[str, Any]:
    values = {"live": difference.live, "desired": difference.desired}
    return {
        "field": difference.field,
        **{side: value for side, value in values.items() if value is not MISSING},
        "manager": difference.manager,
        "consequence": str(difference.consequence),
    }


def _lines(difference: Difference) -> Iterator[str]:
    """Yield one line for plain values, and for text of several lines, lists and maps only what differs inside."""
    manager = difference.manager
    owner = "" if manager in {None, names.FIELD_MANAGER} else f"  (set by {manager})"
    live, desired = difference.live, difference.desired
    if _is_plain(live) and _is_plain(desired):
        yield f"      {difference.field}: {_spelled(live)} -> {_spelled(desired)}{owner}"
        return
    yield f"      {difference.field}:{owner}"
    old, new = _text(live), _text(desired)
    for kind, start, end, new_start, new_end in difflib.SequenceMatcher(None, old, new, False).get_opcodes():
        if kind != "equal":
            yield from (f"        - {line}" for line in old[start:end])
            yield from (f"        + {line}" for line in new[new_start:new_end])


def _is_plain(value: Any) -> bool:
    return not isinstance(value, list | dict) and not (isinstance(value, str) and "\n" in value)


def _spelled(value: Any) -> str:
    if value is MISSING:
        return "(none)"
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)


def _text(value: Any) -> list[str]:
    match value:
        case str():
            return value.splitlines()
        case list():
            return [line for item in value for line in _of_item(item)]
        case dict():
            return to_yaml([value]).splitlines()
    return [] if value is MISSING else [_spelled(value)]


def _of_item(item: Any) -> list[str]:
    """Return the lines of an entry of a list: as YAML has them, the first after a dash."""
    first, *rest = _text(item) or [json.dumps(item)]
    return [f"- {first}", *(f"  {line}" for line in rest)]
