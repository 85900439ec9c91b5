"""The commands that work on a cluster, as far as they come without one: how they are called, and what they print."""

import os
import pty
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from redisop.cli import changes
from redisop.cli.errors import attempt_each, code_of
from redisop.cli.exit_codes import gravest
from redisop.cli.pool import MOST_THREADS, each
from redisop.diff import MISSING, Change, Consequence, Difference
from redisop.failures import Conflict, Forbidden, Invalid, OutOfTime, Unreachable
from redisop.manifest import Key
from tests.cli.run import document, redisop

KEY = Key("StatefulSet", "shop", "one")


# -- how they are called ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["reconcile", "-f", "x.yaml"], "add --once; what stays"),
        (["reconcile", "--once"], "say which Redis are meant: -f PATH, a NAME, -n NAMESPACE, -l QUERY or -A"),
        (["reconcile", "--once", "-f", "x.yaml", "one"], "-f says which Redis are meant: leave out the names"),
        (["diff", "-f", "x.yaml", "-A"], "-f says which Redis are meant: leave out -A"),
        (["diff", "-f", "x.yaml", "-l", "a=b"], "-f says which Redis are meant: leave out -l"),
        (["status", "one", "-A"], "a name is that of one Redis in one namespace: leave out -A"),
        (["status", "one", "-l", "a=b"], "a name is that of one Redis: leave out -l"),
        (["status", "-n", "shop", "-A"], "-A is all namespaces: leave out -n"),
        (["status", "-n", "no/name"], "'no/name' is no name of a namespace"),
        (["reconcile", "--once", "-A", "--timeout", "5"], "'5' is not a duration; write for example 30s or 1m30s"),
        (["reconcile", "--once", "-A", "--timeout", "0s"], "'0s' leaves no time for anything"),
        (["diff", "--request-timeout", "-1s"], "'-1s' is not a duration"),
        (["run", "-n", "no/name"], "'no/name' is no name of a namespace"),
        (["run", "--lease-namespace", "no/name"], "'no/name' is no name of a namespace"),
        (["run", "--lease-namespace", "shop", "--no-leader-elect"], "--lease-namespace says where the Lease is"),
    ],
)
def test_a_wrong_call_is_exit_2_and_says_what_to_write(arguments: list[str], said: str) -> None:
    ended = redisop(*arguments)
    assert (ended.code, ended.stdout) == (2, "")
    assert said in ended.stderr


def test_options_of_run_have_environment_variables_of_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDISOP_NAMESPACE", "shop no/name")
    assert "'no/name' is no name of a namespace" in redisop("run").stderr
    monkeypatch.setenv("REDISOP_NAMESPACE", "shop web")
    monkeypatch.setenv("REDISOP_LEADER_ELECT", "false")
    assert "--no-leader-elect that there is none" in redisop("run", "--lease-namespace", "shop").stderr
    assert "no kubeconfig" in redisop("run", "--leader-elect", "--kubeconfig", "/no/such").stderr


@pytest.mark.parametrize("command", [("reconcile", "--once"), ("diff",)])
def test_documents_that_are_all_invalid_need_no_cluster(command: tuple[str, ...]) -> None:
    ended = redisop(*command, "-f", "-", "--kubeconfig", "/no/such", stdin=document(memory="lots"))
    assert (ended.code, ended.stdout) == (3, "")
    assert ended.lines == ['stdin:6: error: spec.memory: "lots" is not a quantity: write for example 512Mi or 2Gi']


@pytest.mark.parametrize("command", [("reconcile", "--once", "-f", "-"), ("diff", "-f", "-"), ("status",)])
def test_no_kubeconfig_is_exit_4_in_one_line(command: tuple[str, ...]) -> None:
    ended = redisop(*command, "--kubeconfig", "/no/such", stdin=document())
    assert (ended.code, ended.stdout) == (4, "")
    assert ended.lines == ["error: no kubeconfig at /no/such: name one with --kubeconfig or $KUBECONFIG"]


def test_help_of_a_cluster_command_imports_no_client_of_one() -> None:
    program = "import sys; sys.argv = ['redisop', sys.argv[1], '--help']\nfrom redisop.cli import main\n"
    program += "try: main()\nfinally: print(*sys.modules, file=sys.stderr)"
    for command in ("reconcile", "diff", "status"):
        ended = subprocess.run([sys.executable, "-c", program, command], capture_output=True, text=True)
        assert ended.returncode == 0
        assert not {"kubernetes", "rich", "deepdiff"} & set(ended.stderr.split())


# -- exit codes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("codes", "expected"), [([], 0), ([0, 1], 1), ([1, 5, 0], 5), ([5, 3, 1], 3), ([3, 4, 5], 4), ([4, 70], 70)]
)
def test_the_gravest_exit_code_wins(codes: list[int], expected: int) -> None:
    assert gravest(codes) == expected


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (Conflict(KEY, ()), 5),
        (Invalid(KEY, ()), 3),
        (OutOfTime(KEY, ""), 1),
        (Forbidden(KEY, "ci", "patch", "statefulsets", "shop"), 4),
        (Unreachable(None, ""), 4),
        (RuntimeError(), 70),
    ],
)
def test_each_failure_has_its_exit_code(failure: Exception, expected: int) -> None:
    assert code_of(failure) == expected


# -- several at once --------------------------------------------------------------------------------------------------


def test_results_come_in_the_order_of_the_things_and_few_are_worked_on_at_once() -> None:
    working, most = 0, 0
    lock, gate = threading.Lock(), threading.Barrier(MOST_THREADS)

    def work(number: int) -> int:
        nonlocal working, most
        with lock:
            working += 1
            most = max(most, working)
        if number < MOST_THREADS:
            gate.wait(timeout=10)  # as many as may be are at work at the same time
        with lock:
            working -= 1
        return number * 2

    assert each(range(3 * MOST_THREADS), work) == [number * 2 for number in range(3 * MOST_THREADS)]
    assert most == MOST_THREADS


@pytest.mark.parametrize("error", [SystemExit(3), MemoryError()])
def test_what_nobody_expected_is_raised_when_the_others_are_done(error: BaseException) -> None:
    done = []

    def work(number: int) -> None:
        if number == 1:
            raise error
        done.append(number)

    with pytest.raises(type(error)):
        each(range(3), work)
    assert sorted(done) == [0, 2]


def test_what_goes_wrong_with_one_is_told_apart() -> None:
    attempts = attempt_each(["1", "x", "3"], int)
    assert [attempt.result for attempt in attempts] == [1, None, 3]
    assert [type(attempt.error) for attempt in attempts] == [type(None), ValueError, type(None)]


# -- changes in words -------------------------------------------------------------------------------------------------


def lines(*differences: Difference, coloured: bool = False) -> list[str]:
    change = Change(KEY, "update", {}, differences, Consequence.ROLLING, "differs")
    return list(changes.as_text([change], coloured))


def difference(live: object, desired: object, manager: str | None = None) -> Difference:
    return Difference(("spec", "field"), live, desired, manager, Consequence.ROLLING)


@pytest.mark.parametrize(
    ("live", "desired", "shown"),
    [
        (1, 2, ["spec.field: 1 -> 2"]),
        ("a", MISSING, ["spec.field: a -> (none)"]),
        (MISSING, "", ['spec.field: (none) -> ""']),
        (None, True, ["spec.field: null -> true"]),
        ("a\nb\nc\n", "a\nx\nc\n", ["spec.field:", "  - b", "  + x"]),
        ([{"a": 1, "b": 2}], [{"a": 1, "b": 3}], ["spec.field:", "  -   b: 2", "  +   b: 3"]),
        ({"a": {"b": "y"}}, {"a": {"b": "n"}}, ["spec.field:", '  -   b: "y"', '  +   b: "n"']),
        ([], ["x"], ["spec.field:", "  + - x"]),
        ({"a": 1}, MISSING, ["spec.field:", "  - a: 1"]),
        ("--- a\n+++ b\n@@ c\n", "d\n", ["spec.field:", "  - --- a", "  - +++ b", "  - @@ c", "  + d"]),
    ],
)
def test_a_difference_shows_what_differs_and_nothing_else(live: object, desired: object, shown: list[str]) -> None:
    assert lines(difference(live, desired))[1:] == [f"      {line}" for line in shown]


def test_whoever_else_set_a_field_is_named_and_redisop_is_not() -> None:
    assert lines(difference(1, 2, "kubectl"))[1].endswith("1 -> 2  (set by kubectl)")
    assert lines(difference(1, 2, "redisop"))[1].endswith("1 -> 2")


def test_every_consequence_has_a_meaning_and_a_colour() -> None:
    assert set(changes.MEANINGS) == set(Consequence)
    assert "\x1b[33mrolling\x1b[0m" in lines(difference(1, 2), coloured=True)[0]
    assert "\x1b[" not in "".join(lines(difference(1, 2)))


def test_the_page_for_users_explains_every_consequence() -> None:
    page = (Path(__file__).parents[2] / "docs/reconcile.md").read_text()
    for consequence, meaning in changes.MEANINGS.items():
        assert f"| `{consequence}` | {meaning}" in page


# -- progress ---------------------------------------------------------------------------------------------------------

PROGRESS = """
import sys, time
from redisop.cli.progress import progress
from redisop.manifest import Key
one = Key("Redis", "shop", "one")
with progress() as shown:
    shown.happened(one, "created [StatefulSet]")
    shown.waits(one, "0 of 2 pods exist")
    shown.waits(one, "0 of 2 pods exist")
    if "rich" in sys.modules:
        time.sleep(0.5)
    shown.ended(one)
print("rich" in sys.modules)
"""


def test_without_a_terminal_there_are_plain_lines_and_each_is_said_once() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRESS], capture_output=True, text=True)
    assert done.stdout == "False\n"
    assert done.stderr == "Redis/shop/one: created [StatefulSet]\nRedis/shop/one: 0 of 2 pods exist\n"


def on_a_terminal(**environment: str) -> str:
    terminal, far_end = pty.openpty()
    env = {key: value for key, value in os.environ.items() if key not in {"NO_COLOR", "CI"}}
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRESS], stderr=far_end, stdout=far_end, env=env | {"TERM": "xterm"} | environment
    )
    process.wait()
    os.close(far_end)
    text = os.read(terminal, 1 << 16).decode()
    os.close(terminal)
    return text


def test_on_a_terminal_a_line_moves_and_what_happened_stays() -> None:
    text = on_a_terminal()
    assert "Redis/shop/one: created [StatefulSet]" in text
    assert "Redis/shop/one: 0 of 2 pods exist" in text
    assert "\x1b[2K" in text  # the line is wiped out again
    assert text.endswith("True\r\n")


def test_colours_are_left_out_on_request_and_nothing_moves_on_a_dumb_terminal() -> None:
    colour = re.compile(r"\x1b\[[0-9;]*[1-9][0-9;]*m")
    assert not colour.search(on_a_terminal(NO_COLOR="1"))
    assert "\x1b" not in on_a_terminal(TERM="dumb")
