"""How the boot script starts and ends: mounted files, exit codes, signals, children; and what a linter says of it."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from redisop.render import scripts
from tests.boot.conftest import Boot
from tests.boot.instance import TICK, runs, until
from tests.boot.setups import Setup, matrix

SCRIPTS = {"entry.sh": scripts.ENTRY, "ready.sh": scripts.READY, "handover.sh": scripts.HANDOVER}


@pytest.mark.parametrize("name", SCRIPTS)
def test_shellcheck_finds_nothing(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text(SCRIPTS[name])
    linter = Path(sys.executable).with_name("shellcheck")
    command = [linter, "--shell=dash", file]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("", 0)


@pytest.mark.parametrize("shell", [["dash", "-n"], ["busybox", "ash", "-n"]], ids=["dash", "ash"])
@pytest.mark.parametrize("name", SCRIPTS)
def test_each_shell_can_read_it(name: str, shell: list[str]) -> None:
    done = subprocess.run(shell, input=SCRIPTS[name], capture_output=True, text=True, check=False)
    assert (done.stderr, done.returncode) == ("", 0)


@pytest.mark.parametrize("name", ["members", "home", "epoch"])
@pytest.mark.parametrize("content", [None, "", "\n", " ", "one", "-1", "1.5", "1 2"])
@matrix(persistence=["none"], members=[1])
def test_without_a_number_in_a_mounted_file_it_does_not_start(
    prepare: Boot, setup: Setup, name: str, content: str | None
) -> None:
    instance = prepare(setup)
    file = instance.file(0, "etc", name)
    file.unlink()
    if content is not None:
        file.write_text(content)
    instance.start()
    assert instance.pods[0].process.wait(10) == 1
    assert re.fullmatch(rf"{re.escape(str(file))}: a number is needed, found '.*'", instance.log(0)[-1])


@matrix(persistence=["none"], members=[1])
def test_without_a_configuration_it_does_not_start(prepare: Boot, setup: Setup) -> None:
    instance = prepare(setup)
    instance.file(0, "etc", "redis.conf").unlink()
    instance.start()
    assert instance.pods[0].process.wait(10) == 1
    assert instance.log(0) == [f"{instance.file(0, 'run', 'redis.conf')} cannot be made"]


@matrix(persistence=["none"], members=[2])
def test_a_configuration_that_does_not_fit_into_memory_does_not_start(prepare: Boot, setup: Setup) -> None:
    """Half a configuration would leave out that it is parked, and where its data are."""
    instance = prepare(setup)
    instance.shell = ["/bin/sh", "-c", 'ulimit -f 1 && trap "" XFSZ && exec "$@"', "limited", *instance.shell]
    configuration = instance.file(0, "etc", "redis.conf")
    configuration.write_text(configuration.read_text() + "# " + "x" * 900 + "\n")
    instance.start(0)
    assert instance.pods[0].process.wait(10) == 1
    assert instance.log(0)[-1].endswith("redis.conf cannot be made")


@pytest.mark.parametrize("content", [b"", b"\n"])
@matrix(persistence=["none"], members=[1])
def test_an_empty_password_is_refused_since_it_would_let_everybody_in(
    prepare: Boot, setup: Setup, content: bytes
) -> None:
    instance = prepare(setup, password=content)
    instance.start()
    assert instance.pods[0].process.wait(10) == 1
    assert "a password is needed" in instance.log(0)[-1]


@pytest.mark.parametrize("content", ["3", "3\n", "3\nnoise"])
@matrix(persistence=["none"], members=[3])
def test_a_number_may_end_with_or_without_a_newline(prepare: Boot, setup: Setup, content: str) -> None:
    instance = prepare(setup)
    instance.file(0, "etc", "members").write_text(content)
    instance.start(0)
    until(lambda: instance.log(0) == ["member 0 of 3, home is member 0, epoch 0: boots parked"], "it boots", instance)


@matrix(persistence=["none"], members=[2])
def test_a_mounted_file_that_cannot_be_read_for_a_while_changes_nothing(serving: Boot, setup: Setup) -> None:
    instance = serving(setup)
    instance.move_home(1)
    until(lambda: instance.info(1)["slave_priority"] == 101, "it sees the new home", instance)
    for name in ("home", "members", "epoch"):
        instance.file(1, "etc", name).unlink()
    time.sleep(4 * TICK)
    assert instance.info(1)["slave_priority"] == 101
    assert instance.primaries() == [0]


@matrix(persistence=["none"], members=[1])
def test_sigterm_reaches_redis_and_its_exit_code_is_the_scripts(prepare: Boot, setup: Setup) -> None:
    instance = prepare(setup)
    instance.start()
    until(lambda: instance.answers(0), "it answers", instance)
    assert instance.terminate(0) == {0: 0}
    assert "User requested shutdown" in instance.file(0, "log").read_text()


@matrix(persistence=["none"], members=[1])
def test_the_exit_code_of_a_redis_that_was_killed_is_the_scripts(prepare: Boot, setup: Setup) -> None:
    instance = prepare(setup)
    instance.start()
    until(lambda: instance.answers(0), "it answers", instance)
    os.kill(instance.server_pid(0), signal.SIGKILL)
    assert instance.pods[0].process.wait(10) == 128 + signal.SIGKILL


@matrix(persistence=["none"], members=[1])
def test_the_exit_code_of_a_redis_that_refuses_its_configuration_is_the_scripts(prepare: Boot, setup: Setup) -> None:
    instance = prepare(setup, conf="no-such-setting 1")
    instance.start()
    assert instance.pods[0].process.wait(10) == 1


@matrix(persistence=["none"], members=[1])
def test_it_waits_for_a_redis_that_does_not_end_at_once(prepare: Boot, setup: Setup) -> None:
    instance = prepare(setup)
    instance.start()
    until(lambda: instance.answers(0), "it answers", instance)
    instance.freeze(0, whole_pod=False)
    for _ in range(3):
        instance.pods[0].process.terminate()
        time.sleep(0.3)
    assert instance.pods[0].process.poll() is None
    instance.thaw(0)
    assert instance.pods[0].process.wait(10) == 0


AS_PROCESS_1 = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: orphans below become its children
os.execvp(sys.argv[1], sys.argv[1:])
"""


@matrix(persistence=["none"], members=[2])
def test_as_process_1_it_leaves_no_dead_children(prepare: Boot, setup: Setup) -> None:
    instance = prepare(setup)
    instance.shell = [sys.executable, "-c", AS_PROCESS_1, *instance.shell]
    instance.start()
    until(lambda: instance.hold(0) or len(instance.log(0)) > 1, "the loop has asked often", instance)
    instance.freeze(1, whole_pod=False)
    time.sleep(10 * TICK)
    shell = instance.pods[0].process.pid
    children = Path(f"/proc/{shell}/task/{shell}/children")
    until(lambda: all(runs(int(child)) for child in children.read_text().split()), "no child is dead", instance)
