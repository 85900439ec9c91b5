"""The command as a process: help, exit codes, streams, and no traceback ever."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from redisop import __version__
from redisop.cli.group import COMMANDS
from tests.cli.run import EXAMPLE, document, redisop

REDISOP = [sys.executable, "-m", "redisop"]


def run(*arguments: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*REDISOP, *arguments], input=stdin, capture_output=True, text=True, env={**os.environ, **environment}
    )


# -- help -------------------------------------------------------------------------------------------------------------


def test_help_names_every_command_and_teaches_the_first_steps():
    ended = redisop("--help")
    assert ended.code == 0
    for name, purpose in COMMANDS.items():
        assert name in ended.stdout
        assert purpose in " ".join(ended.stdout.split())
    assert all(f"\n      {code} " in ended.stdout for code in (0, 2, 3, 70, 130, 141))


@pytest.mark.parametrize(("command", "count"), [([], 1), (["render"], 2), (["crd"], 1)])
def test_all_that_help_applies_has_one_field_manager(command, count):
    applied = [line for line in redisop(*command, "--help").stdout.splitlines() if "kubectl apply" in line]
    assert len(applied) == count
    assert all("kubectl apply --server-side --field-manager=redisop -" in line for line in applied)


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_a_help_that_begins_with_what_it_is_for(command):
    ended = redisop(command, "--help")
    assert ended.code == 0
    assert COMMANDS[command] in " ".join(ended.stdout.split())


def test_the_document_that_help_shows_is_valid():
    lines = redisop("--help").stdout.splitlines()
    first = next(number for number, line in enumerate(lines) if "apiVersion" in line)
    ended = redisop("validate", "-f", "-", stdin="\n".join(line.strip() for line in lines[first : first + 4]))
    assert (ended.code, ended.stderr) == (0, "")


def test_an_unknown_command_is_exit_2():
    ended = redisop("rendr")
    assert (ended.code, ended.stdout) == (2, "")
    assert "rendr" in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "forbidden"),
    [
        (["--help"], {"pydantic", "yaml", "msgspec", "kubernetes"}),
        (["version"], {"pydantic", "yaml", "msgspec", "kubernetes"}),
        (["render", "-f", "-"], {"msgspec", "kubernetes", "deepdiff", "rich"}),
        (["validate", "-f", "-"], {"msgspec", "kubernetes", "deepdiff", "rich"}),
    ],
)
def test_a_command_imports_only_what_it_needs(arguments, forbidden):
    program = (
        "import sys, atexit; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); "
        f"sys.argv = ['redisop', *{arguments!r}]; from redisop.cli import main; main()"
    )
    ended = subprocess.run([sys.executable, "-c", program], input=EXAMPLE, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert not forbidden & set(ended.stderr.splitlines()[-1].split())


# -- other commands ---------------------------------------------------------------------------------------------------


def test_version_says_which_redisop_this_is():
    assert redisop("version").stdout.startswith(f"redisop {__version__} (defaults revision 1, Python 3.")
    facts = json.loads(redisop("version", "-o", "json").stdout)
    assert (facts["version"], facts["defaultsRevision"]) == (__version__, 1)


def test_crd_prints_the_definition_as_yaml_and_json():
    yaml_text, json_text = redisop("crd").stdout, redisop("crd", "-o", "json").stdout
    assert yaml_text.startswith("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n")
    assert json.loads(json_text)["metadata"]["name"] == "redises.example.com"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_the_shell(shell):
    ended = redisop("completion", shell)
    assert ended.code == 0
    assert "_REDISOP_COMPLETE" in ended.stdout


def test_completion_completes_commands():
    assert completed("va") == ["plain,validate"]
    assert [line.removeprefix("plain,") for line in completed("")] == list(COMMANDS)


def test_completion_completes_options_and_their_values():
    assert {"plain,--primary", "plain,--epoch"} <= set(completed("render", "--"))
    assert completed("render", "-o", "j") == ["plain,json"]


def completed(*words: str) -> list[str]:
    line = " ".join(["redisop", *words])
    ended = run(COMP_WORDS=line, COMP_CWORD=str(len(words)), _REDISOP_COMPLETE="bash_complete")
    return ended.stdout.splitlines()


# -- streams and ends -------------------------------------------------------------------------------------------------


def test_a_reader_that_leaves_is_no_error():
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run(
        [*REDISOP, "render", "-f", "-"], input=document(), stdout=writing, stderr=subprocess.PIPE, text=True
    )
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (141, "")


def test_a_full_disk_is_said_in_one_line():
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [*REDISOP, "render", "-f", "-"], input=document(), stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert (ended.returncode, ended.stderr) == (2, "error: cannot write to stdout: No space left on device\n")


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("render -f - <&-", 2, "error: stdin is closed\n"),
        ("validate -f - <&- 2>&-", 2, ""),
        ("version >&-", 2, "error: stdout is closed\n"),
        ("version >&- 2>&-", 2, ""),
        ("render -f /no/such 2>&-", 3, ""),
        ("rendr 2>&-", 2, ""),
        ("render -f - <&- >&- 2>&-", 2, ""),
    ],
)
def test_a_closed_stream_is_one_line_where_there_is_a_stderr(command, code, said):
    ended = subprocess.run(["bash", "-c", f"{sys.executable} -m redisop {command}"], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (code, "", said)


def test_an_interruption_is_exit_130_without_a_word_too_many():
    process = subprocess.Popen(
        [*REDISOP, "render", "-f", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdin.write(b"a: 1\n")
    process.stdin.flush()
    _wait_until_it_reads(process.pid)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out, err.strip()) == (130, b"", b"")


def _wait_until_it_reads(pid: int) -> None:
    while "pipe" not in Path(f"/proc/{pid}/wchan").read_text():
        time.sleep(0.01)


def _on_a_terminal(**environment: str) -> str:
    terminal, far_end = pty.openpty()
    env = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    process = subprocess.Popen(
        [*REDISOP, "render", "-f", "/no/such"],
        stderr=far_end,
        stdout=far_end,
        env=env | {"TERM": "xterm"} | environment,
    )
    process.wait()
    os.close(far_end)
    text = os.read(terminal, 4096).decode()
    os.close(terminal)
    return text


def test_colour_is_for_terminals_alone():
    assert "\x1b[" in _on_a_terminal()
    assert "\x1b[" not in _on_a_terminal(NO_COLOR="1")
    assert "\x1b[" not in _on_a_terminal(TERM="dumb")
    assert "\x1b[" not in run("render", "-f", "/no/such").stderr


@pytest.fixture
def broken(monkeypatch):
    def fail(*arguments, **keywords):
        raise RuntimeError("first line\nsecond line")

    monkeypatch.setattr("redisop.cli.load.read", fail)


def test_a_fault_of_redisop_is_one_line_that_asks_for_a_report(broken):
    ended = redisop("validate", "-f", "-", stdin=EXAMPLE)
    assert (ended.code, ended.stdout) == (70, "")
    assert ended.lines == [
        "error: a fault of redisop, not of your document: RuntimeError: first line: "
        "please report it with what the same command prints under REDISOP_TRACEBACK=1"
    ]


def test_a_fault_of_redisop_can_be_looked_at(broken, monkeypatch):
    monkeypatch.setenv("REDISOP_TRACEBACK", "1")
    with pytest.raises(RuntimeError):
        redisop("validate", "-f", "-", stdin=EXAMPLE)
