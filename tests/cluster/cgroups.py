"""One tree of control groups a cluster, on cgroup v1 and v2: what finds, freezes and ends every process of it.

v1 is what these tests run on; v2 follows the kernel's documentation and has not been tried.
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

MOUNT = Path("/sys/fs/cgroup")


class Cgroups:
    """The control groups ``/NAME/PART`` in every hierarchy of this machine."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._unified = (MOUNT / "cgroup.controllers").exists()
        hierarchies = [MOUNT] if self._unified else [each for each in MOUNT.iterdir() if each.is_dir()]
        self._hierarchies = [each for each in hierarchies if (each / "cgroup.procs").exists()]

    def command_in(self, part: str, command: list[str]) -> list[str]:
        """Create the group ``part``; return ``command`` such that it moves into the group before it runs."""
        groups = " ".join(str(self._create(hierarchy, part)) for hierarchy in self._hierarchies)
        join = f'for group in {groups}; do echo 0 >"$group/cgroup.procs"; done; exec "$0" "$@"'
        return ["sh", "-c", join, *command]

    def start(self, part: str, command: list[str], log: Path) -> None:
        """Start a daemon in the group ``part``; it outlives this process, and ``log`` gets what it says."""
        with log.open("ab") as output:
            daemon = self.command_in(part, ["setsid", "--fork", *command])
            subprocess.run(daemon, stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=True)

    def freeze(self, part: str, frozen: bool) -> None:
        """Stop every process in and below ``part``, or let all of them go on; return when that is done."""
        if self._unified:
            group, knob, state = MOUNT / self.name / part, "cgroup.freeze", "1" if frozen else "0"
            done = ("cgroup.events", f"frozen {state}")
        else:
            group, knob, state = MOUNT / "freezer" / self.name / part, "freezer.state", "FROZEN" if frozen else "THAWED"
            done = ("freezer.state", state)
        if not group.exists():
            return
        (group / knob).write_text(state)
        _until(lambda: done[1] in (group / done[0]).read_text(), f"{group} does not become {state}")

    def processes(self, part: str = "") -> Iterator[int]:
        """Yield the ids of all processes in and below ``part``."""
        for folder in self._folders(part):
            with contextlib.suppress(OSError):
                yield from map(int, (folder / "cgroup.procs").read_text().split())

    def remove(self, part: str = "") -> None:
        """End every process in and below ``part`` and remove the groups."""
        knob, thawed = ("cgroup.freeze", "0") if self._unified else ("freezer.state", "THAWED")
        for folder in self._folders(part):  # a frozen process does not die
            if (folder / knob).exists():
                (folder / knob).write_text(thawed)
        _until(lambda: not self._kill(part), f"processes in the control group {self.name}/{part} do not end")
        _until(lambda: not self._remove_folders(part), f"the control group {self.name}/{part} cannot be removed")

    def _kill(self, part: str) -> int:
        alive = set(self.processes(part))
        for process in alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        return len(alive)

    def _remove_folders(self, part: str) -> int:
        for folder in self._folders(part):
            with contextlib.suppress(OSError):
                folder.rmdir()
        return len(list(self._folders(part)))

    def _folders(self, part: str) -> Iterator[Path]:
        """Yield the groups at and below ``part``, the deepest first."""
        for hierarchy in self._hierarchies:
            for folder, _, _ in os.walk(hierarchy / self.name / part, topdown=False):
                yield Path(folder)

    def _create(self, hierarchy: Path, part: str) -> Path:
        group = hierarchy
        for step in (self.name, *Path(part).parts):
            if self._unified:
                controllers = (group / "cgroup.controllers").read_text().split()
                (group / "cgroup.subtree_control").write_text(" ".join(f"+{each}" for each in controllers))
            parent, group = group, group / step
            group.mkdir(exist_ok=True)
            if (group / "cpuset.cpus").exists() and not self._unified:  # a v1 group without them takes no process
                for knob in ("cpuset.cpus", "cpuset.mems"):
                    (group / knob).write_text((parent / knob).read_text())
        return group


def _until(done: Callable[[], bool], problem: str, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end:
            raise RuntimeError(problem)
        time.sleep(0.02)
