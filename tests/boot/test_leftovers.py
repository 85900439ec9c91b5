"""What a killed run leaves behind: nothing that runs, and no address that the next run would take."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from tests.boot.instance import until
from tests.boot.loopback import PORT, Block

ROOT = Path(__file__).parents[2]
RUN = """
import sys, time
from pathlib import Path
from tests.boot.instance import Instance, until
from tests.boot.loopback import Block
from tests.boot.setups import Setup
instance = Instance(Setup("none", 2, "7.0", "dash"), Path(sys.argv[1]), Block.take())
instance.start()
until(lambda: instance.answers(1), "it answers")
print(*(pod.process.pid for pod in instance.pods.values()), flush=True)
time.sleep(60)
"""


def test_the_processes_of_a_killed_run_end_with_it(tmp_path: Path) -> None:
    command = [sys.executable, "-c", RUN, tmp_path / "instance"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout
        groups = [int(group) for group in run.stdout.readline().split()]
        assert len(groups) == 2
        run.kill()
    until(lambda: not any(alive(group) for group in groups), "all of it has ended")


def test_a_block_in_which_anybody_listens_is_not_given_out() -> None:
    first = Block.take()
    first.release()
    with socket.create_server((first.address(0, 0), PORT)):
        second = Block.take()
    second.release()
    assert second.prefix != first.prefix


def test_a_block_is_given_out_once() -> None:
    blocks = [Block.take() for _ in range(3)]
    for block in blocks:
        block.release()
    assert len({block.prefix for block in blocks}) == 3


def alive(group: int) -> bool:
    """Whether a process of `group` runs; one that is dead and not yet waited for does not."""
    try:
        os.killpg(group, signal.SIG_DFL)
    except ProcessLookupError:
        return False
    return any(
        fields[2] == str(group) and fields[0] != "Z" for fields in (stat.rsplit(")", 1)[1].split() for stat in _stats())
    )


def _stats() -> list[str]:
    found = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            found.append(file.read_text())
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found
