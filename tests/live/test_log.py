"""The log: one line a pass, which programs can read and terminals survive."""

import base64
import dataclasses
import io
import json
import logging
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redisop.api.read import read
from redisop.failures import Denied
from redisop.live import log
from redisop.live.log import Entry, configure, write
from redisop.live.store import Name
from redisop.live.told import events_of, events_of_violations
from redisop.manifest import Key, Manifest
from redisop.reconcile import Outcome, reconcile
from tests.world import NOW, ScriptedMembers, World, redis

OF = Name("default", "r")
SERVICE = Key("Service", "default", "r-master")


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """What a test configures is for that test."""
    root, ours = logging.getLogger(), logging.getLogger("redisop")
    before = root.handlers[:], root.level, ours.level, logging.raiseExceptions
    yield
    root.handlers[:], logging.raiseExceptions = before[0], before[3]
    root.setLevel(before[1])
    ours.setLevel(before[2])


def as_json(line: str) -> dict[str, Any]:
    return json.loads(line)


def as_logfmt(line: str) -> dict[str, Any]:
    """Read a line as https://pkg.go.dev/github.com/kr/logfmt describes it: bare words, or JSON strings."""
    pairs = re.findall(r'([^\s="]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s="]*))(?: |$)', line)
    assert " ".join(f'{key}="{quoted}"' if not bare else f"{key}={bare}" for key, quoted, bare in pairs) == line
    return {key: bare or json.loads(f'"{quoted}"') for key, quoted, bare in pairs}


Read = Callable[[str], dict[str, Any]]
FORMS = pytest.mark.parametrize(("form", "parsed"), [("text", as_logfmt), ("json", as_json)])


def lines(form: Any, *entries: Entry, level: Any = "debug", fault: Exception | None = None) -> list[str]:
    stream = io.StringIO()
    configure(form, level, stream)
    for entry in entries:
        write(entry, fault)
    return stream.getvalue().splitlines()


def passes(count: int, world: World | None = None, **spec: object) -> list[Outcome]:
    """Passes of which each finds the status that the one before has written."""
    world, members, status, found = world or World(pods=2), ScriptedMembers(), None, []
    for _ in range(count):
        found.append(reconcile(redis(status=status, **spec), world, members, NOW))
        status = dict(found[-1].status)
    return found


def entry(outcome: Outcome, seconds: float = 0.1) -> Entry:
    return log.of_outcome(OF, outcome, events_of(outcome), seconds)


def level(outcome: Outcome) -> str:
    return logging.getLevelName(entry(outcome).level)


@FORMS
def test_a_pass_is_one_line_with_what_it_did_and_how_the_redis_is(form: str, parsed: Read) -> None:
    [first, *_] = passes(1, replicas=2)
    [line] = lines(form, entry(first, 0.12345))
    said = parsed(line)
    assert list(said)[:7] == ["ts", "level", "msg", "redis", "namespace", "phase", "reason"]
    assert (said["level"], said["redis"], said["namespace"], said["phase"]) == ("info", "r", "default", "Degraded")
    assert said["msg"] == first.status["message"]
    assert "created Secret/default/r-auth" in said["changes"]
    assert said["action"].startswith("promote r-0 (")
    assert float(said["seconds"]) == 0.123
    assert {"hold", "failure", "refusal", "traceback"}.isdisjoint(said)
    assert datetime.fromisoformat(said["ts"]).tzinfo


def test_json_has_numbers_and_lists_where_text_has_words() -> None:
    [first] = passes(1, replicas=2)
    [line] = lines("json", entry(first, 0.5))
    said = json.loads(line)
    assert said["seconds"] == 0.5
    assert len(said["changes"]) == 8


def test_a_pass_that_did_nothing_and_found_nothing_new_is_for_debugging_alone() -> None:
    *_, third, fourth = passes(4, replicas=2)
    assert (third.changes, third.action) == ((), None)
    assert level(fourth) == "DEBUG"
    assert lines("text", entry(fourth, 0.1), level="info") == []
    assert len(lines("text", entry(fourth, 0.1), level="debug")) == 1


def test_a_hold_is_a_warning_when_it_begins_and_then_no_news() -> None:
    world = World(pods=2)
    world.pod_monitors = False
    monitored = {"exporter": {"enabled": True}, "podMonitor": {"enabled": True}}
    outcomes = passes(4, world, replicas=2, monitoring=monitored)
    assert [level(outcome) for outcome in (outcomes[0], outcomes[-1])] == ["WARNING", "DEBUG"]
    [line] = lines("text", entry(outcomes[0], 0.1))
    assert as_logfmt(line)["hold"].startswith("PodMonitorUnknown: the cluster does not know the kind PodMonitor")


@FORMS
def test_a_failure_is_an_error_in_words_without_a_traceback(form: str, parsed: Read) -> None:
    world = World(pods=2)
    world.refuse[SERVICE] = Denied(SERVICE, "quota")
    [outcome] = passes(1, world, replicas=2)
    failed = log.of_failure(OF, Denied(SERVICE, "quota"), 0.1)
    said, alone = (parsed(line) for line in lines(form, entry(outcome, 0.1), failed))
    assert (said["level"], said["failure"]) == ("error", f"Denied: {Denied(SERVICE, 'quota')}")
    assert (alone["level"], alone["reason"], alone["msg"]) == ("error", "Denied", str(Denied(SERVICE, "quota")))
    assert "traceback" not in said | alone


@FORMS
def test_a_fault_is_one_line_with_the_traceback_in_one_field(form: str, parsed: Read) -> None:
    try:
        raise ValueError("two\nlines")
    except ValueError as error:
        fault = error
    [line] = lines(form, log.of_fault(OF, fault, 0.1), fault=fault)
    said = parsed(line)
    assert (said["level"], said["reason"], said["redis"]) == ("error", "ValueError", "r")
    assert said["traceback"].startswith("Traceback (most recent call last):\n")
    assert said["traceback"].endswith("ValueError: two\nlines")


def test_a_spec_that_is_not_valid_is_a_warning_with_every_error() -> None:
    metadata = {"name": "r", "namespace": "default"}
    spec = {"replicas": 99, "colour": "red"}
    document: Manifest = {"apiVersion": "example.com/v1", "kind": "Redis", "metadata": metadata, "spec": spec}
    violations = read(document).violations
    [line] = lines("text", log.of_violations(OF, violations, events_of_violations(document, violations), 0.1))
    said = as_logfmt(line)
    assert (said["level"], said["reason"]) == ("warning", "Invalid")
    assert log.of_violations(OF, violations, [], 0.1).level == logging.DEBUG  # the status says it already
    assert "spec.replicas" in said["msg"]
    assert "spec.colour" in said["msg"]


@FORMS
@given(text=st.text())
def test_any_text_comes_back_from_one_printable_line(form: str, parsed: Read, text: str) -> None:
    [line] = lines(form, Entry(logging.INFO, text, {"redis": text, "changes": [text]}))
    assert line.isprintable()
    said = parsed(line)
    assert (said["msg"], said["redis"]) == (text, text)


def test_words_that_need_no_quotes_have_none() -> None:
    [line] = lines("text", Entry(logging.INFO, "all is well", {"redis": "my-redis", "seconds": 0.25}))
    assert line.partition(" ")[2] == 'level=info msg="all is well" redis=my-redis seconds=0.25'


def test_libraries_log_in_the_same_form_and_from_warnings_upwards_alone() -> None:
    stream = io.StringIO()
    configure("json", "debug", stream)
    logging.getLogger("kubernetes.client.rest").debug("response body: %s", "secret")
    logging.getLogger("urllib3.connectionpool").warning("Connection pool is %s", "full")
    [line] = stream.getvalue().splitlines()
    said = json.loads(line)
    assert (said["level"], said["msg"], said["logger"]) == (
        "warning",
        "Connection pool is full",
        "urllib3.connectionpool",
    )


def test_a_stream_that_is_gone_ends_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    stream = io.StringIO()
    configure("text", "info", stream)
    stream.close()
    write(Entry(logging.INFO, "nobody hears it", {}))
    assert capsys.readouterr().err == ""


def test_no_password_is_logged() -> None:
    world, canary = World(pods=2), "c4n4ry-passw0rd"
    world.fresh_password = lambda: canary
    [first] = passes(1, world, replicas=2)
    encoded = base64.b64encode(canary.encode()).decode()
    assert encoded in str([change.manifest for change in first.changes]), "the manifest of the Secret has it"
    secret = Key("Secret", "default", "r-auth")
    failed = dataclasses.replace(first, failures=(Denied(secret, "quota"),))
    for form in ("text", "json"):
        said = "".join(lines(form, *(entry(outcome, 0.1) for outcome in (first, failed))))
        assert "r-auth" in said
        assert canary not in said
        assert encoded not in said
