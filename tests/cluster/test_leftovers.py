"""Whatever a killed run left behind never stands in the way of the next one."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cluster.api_server import ApiServer
from tests.cluster.cluster import Cluster

CHECKOUT = Path(__file__).parents[2]


def python(*lines: str) -> subprocess.Popen[str]:
    """Start a Python that runs ``lines``."""
    command = [sys.executable, "-c", "\n".join(lines)]
    return subprocess.Popen(command, cwd=CHECKOUT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def processes_with(text: str) -> set[str]:
    """Return the ids of the living processes that have ``text`` in their arguments or their control groups' names."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            shown = (process / "cmdline").read_text(errors="replace") + (process / "cgroup").read_text()
            is_zombie = "\nState:\tZ" in (process / "status").read_text()
        except OSError:
            continue
        if text in shown and not is_zombie:
            found.add(process.name)
    return found


def test_an_api_server_ends_with_its_owner_and_its_folder_goes_at_the_next_start():
    owner = python(
        "from tests.cluster.api_server import ApiServer",
        "server = ApiServer()",
        "server.start()",
        "print(server.folder, flush=True)",
        "input()",
    )
    folder = Path(owner.stdout.readline().strip())
    assert len(processes_with(f"{folder}/")) == 2
    owner.kill()
    owner.communicate()
    end = time.monotonic() + 5
    while processes_with(f"{folder}/"):
        assert time.monotonic() < end
        time.sleep(0.05)
    assert folder.exists()
    with ApiServer():
        assert not folder.exists()


def test_a_second_run_of_the_same_name_is_told_who_has_the_cluster(cluster):
    with pytest.raises(RuntimeError, match=r"in use by process \d+: end that, or set REDISOP_TEST_CLUSTER_NAME"):
        Cluster(cluster.name).up()


@pytest.mark.alone
@pytest.mark.full
@pytest.mark.parametrize("seconds", [0.5, 2, 4, 9])
def test_a_cluster_starts_over_what_killed_runs_left(seconds):
    up = (
        "from tests.cluster.cluster import Cluster",
        "cluster = Cluster('leftover', nodes=2)",
        "cluster.up()",
        "cluster.freeze('n1')",
        "print('up', flush=True)",
        "input()",
    )
    for _ in range(2):
        owner = python(*up)
        time.sleep(seconds)
        owner.kill()
        owner.communicate()
    owner = python(*up)
    assert owner.stdout.readline() == "up\n"
    assert processes_with("redisop-leftover")
    owner.kill()
    owner.communicate()
    Cluster("leftover").down()
    assert not processes_with("redisop-leftover")
    assert not list(Path("/run/netns").glob("redisop-leftover*"))
    assert not list(Path("/sys/fs/cgroup").glob("*/redisop-leftover"))
    assert not Path("/var/tmp/redisop-leftover").exists()
    assert "redisop-leftover" not in Path("/proc/self/mountinfo").read_text()
