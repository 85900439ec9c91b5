"""The log: one line a pass, as `key=value` (logfmt) or as JSON, in the words that Events and conditions have.

Everything that logs in this process comes out in the same form, the libraries too, these from warnings upwards alone.
What is a `Failure` is a sentence; only a fault of redisop has a traceback, in one field. No value of a Secret is in a
line that is made here.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Literal, NamedTuple, TextIO, TypeAlias

from redisop.api.violation import Violation
from redisop.failures import Failure
from redisop.live.store import Name
from redisop.live.told import INVALID, Told, holds, made, reason_of, sentence
from redisop.reconcile import Outcome
from redisop.status.rejected import message_of_violations

Format: TypeAlias = Literal["text", "json"]
Level: TypeAlias = Literal["error", "warning", "info", "debug"]
_LEVELS: Final[Mapping[Level, int]] = {
    "error": logging.ERROR,
    "warning": logging.WARNING,
    "info": logging.INFO,
    "debug": logging.DEBUG,
}
_OURS: Final = "redisop"
_log: Final = logging.getLogger(_OURS)
# What needs no quotes in logfmt.
_PLAIN: Final = re.compile(r'[^\s"=\\]+')

Field: TypeAlias = "str | float | list[str]"


class Entry(NamedTuple):
    """One line: `fields` in their order, without those that are empty."""

    level: int
    message: str
    fields: dict[str, Field]


def configure(form: Format, level: Level, stream: TextIO) -> None:
    """Have all that is logged from now on written to `stream`; what cannot be written is lost, and nothing else."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter({"text": Logfmt, "json": Json}[form]())
    logging.raiseExceptions = False
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    _log.setLevel(_LEVELS[level])


def write(entry: Entry, fault: BaseException | None = None) -> None:
    """Write one line; with the traceback of `fault`, if there is one."""
    _log.log(entry.level, entry.message, exc_info=fault, extra={"fields": entry.fields})


# -- what is said -----------------------------------------------------------------------------------------------------


def of_outcome(of: Name, outcome: Outcome, told: Sequence[Told], seconds: float) -> Entry:
    """Return what is said of a pass that ended, of which there was `told` to tell (`events_of`).

    One that did nothing and found nothing new is for debugging alone.
    """
    status = outcome.status
    ready: Mapping[str, Any] = next((each for each in status["conditions"] if each["type"] == "Ready"), {})
    return Entry(
        _level(outcome, told),
        status["message"],
        _filled(
            redis=of.name,
            namespace=of.namespace,
            phase=status["phase"],
            reason=ready.get("reason", ""),
            changes=[sentence(change) for change in made(outcome)],
            action=f"{outcome.action} ({outcome.action.reason})" if outcome.action else "",
            refusal="; ".join(outcome.refusals),
            hold="; ".join(f"{hold.reason}: {hold.message}" for hold in holds(outcome)),
            failure="; ".join(f"{reason_of(failure)}: {failure}" for failure in outcome.failures),
            seconds=round(seconds, 3),
        ),
    )


def of_violations(of: Name, violations: Sequence[Violation], told: Sequence[Told], seconds: float) -> Entry:
    """Return what is said of a `Redis` whose spec is not valid; when nothing is told it was said before."""
    said = _filled(redis=of.name, namespace=of.namespace, reason=INVALID, seconds=round(seconds, 3))
    level = logging.WARNING if told else logging.DEBUG
    return Entry(level, message_of_violations(violations), said)


def of_failure(of: Name, failure: Failure, seconds: float) -> Entry:
    """Return what is said of a pass that could not be made."""
    said = _filled(redis=of.name, namespace=of.namespace, reason=reason_of(failure), seconds=round(seconds, 3))
    return Entry(logging.ERROR, str(failure), said)


def of_fault(of: Name, fault: Exception, seconds: float) -> Entry:
    """Return what is said of a pass that a fault of redisop ended; the traceback comes with it (`write`)."""
    said = _filled(redis=of.name, namespace=of.namespace, reason=type(fault).__name__, seconds=round(seconds, 3))
    return Entry(logging.ERROR, "a fault of redisop ended the pass; it is tried again", said)


def _level(outcome: Outcome, told: Sequence[Told]) -> int:
    if outcome.failures or outcome.refusals:
        return logging.ERROR
    if any(each.type == "Warning" for each in told):
        return logging.WARNING
    return logging.INFO if told or outcome.status != outcome.redis.status else logging.DEBUG


def _filled(**fields: Field) -> dict[str, Field]:
    return {name: value for name, value in fields.items() if value or isinstance(value, float)}


# -- how it is written ------------------------------------------------------------------------------------------------


def _fields(record: logging.LogRecord, formatter: logging.Formatter) -> dict[str, Field]:
    moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
    level = "error" if record.levelno >= logging.ERROR else record.levelname.lower()
    own: dict[str, Field] = {"ts": moment.replace("+00:00", "Z"), "level": level, "msg": record.getMessage()}
    own |= getattr(record, "fields", {})
    if record.name != _OURS:
        own["logger"] = record.name
    if record.exc_info:
        own["traceback"] = formatter.formatException(record.exc_info)
    return own


class Logfmt(logging.Formatter):
    """`key=value`, separated by spaces; values in double quotes with JSON's escapes where they need any."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        return " ".join(f"{name}={_value(value)}" for name, value in _fields(record, self).items())


class Json(logging.Formatter):
    """One object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, all in ASCII, so that no terminal acts upon it."""
        return json.dumps(_fields(record, self)).replace("\x7f", "\\u007f")


def _value(value: Field) -> str:
    text = "; ".join(value) if isinstance(value, list) else str(value)
    if text.isprintable() and _PLAIN.fullmatch(text):
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return quoted if quoted.isprintable() else "".join(map(_escaped, quoted))


def _escaped(letter: str) -> str:
    if letter.isprintable():
        return letter
    return json.dumps(letter)[1:-1] if letter != "\x7f" else "\\u007f"
