"""What tests do to pods, and ask of them."""

import os
import signal
from pathlib import Path
from typing import Any

from tests.cluster.kubectl import Kubectl


class Pods:
    """The pods of one namespace of a cluster."""

    def __init__(self, kubectl: Kubectl) -> None:
        self._kubectl = kubectl

    def are_ready(self, *names: str) -> bool:
        """Return whether all of these pods are there, not being deleted, and Ready."""
        return all(_is_ready(self._kubectl.get("pod", name)) for name in names)

    def wait_until_ready(self, *names: str, seconds: float = 90) -> None:
        """Return when ``are_ready`` is so."""
        self._kubectl.wait_for(f"{', '.join(names)} Ready", lambda: self.are_ready(*names), seconds)

    def address(self, name: str) -> str:
        """Return the pod's IP address; raise LookupError while it has none."""
        address: str = self._kubectl.get("pod", name)["status"]["podIP"]
        return address

    def node(self, name: str) -> str:
        """Return the name of the pod's node; raise LookupError while it has none."""
        node: str = self._kubectl.get("pod", name)["spec"]["nodeName"]
        return node

    def restarts(self, name: str, container: str = "redis") -> int:
        """Return how often this container of the pod was started again."""
        statuses = self._kubectl.get("pod", name)["status"]["containerStatuses"]
        count: int = next(status["restartCount"] for status in statuses if status["name"] == container)
        return count

    def delete(self, *names: str, force: bool = False) -> None:
        """Delete pods at once and return when none is in the API any more; others may have their names by then.

        ``force`` does not wait for their containers to end.
        """
        how = ["--grace-period=0", "--force"] if force else []
        uids = {self._kubectl.get("pod", name)["metadata"]["uid"] for name in names}
        self._kubectl("delete", "pods", *names, "--wait=false", *how)
        there = ("get", "pods", *names, "--ignore-not-found", "--output=jsonpath={..metadata.uid}")
        self._kubectl.wait_for(f"{', '.join(names)} gone", lambda: uids.isdisjoint(self._kubectl(*there).split()))

    def kill_container(self, name: str, process: str = "redis-server") -> None:
        """End ``process`` of the pod with SIGKILL, as the kernel does when memory runs out."""
        for number in self.processes(name, process):
            os.kill(number, signal.SIGKILL)

    def processes(self, name: str, process: str = "redis-server") -> list[int]:
        """Return the numbers that the pod's processes called ``process`` have on this machine."""
        uid = self._kubectl.get("pod", name)["metadata"]["uid"]
        found = [number for number in _processes_called(process) if uid in _control_groups(number)]
        assert found, f"no process {process} runs in pod {name}"
        return found


def _is_ready(pod: dict[str, Any]) -> bool:
    conditions = {each["type"]: each["status"] for each in pod["status"].get("conditions", [])}
    return conditions.get("Ready") == "True" and "deletionTimestamp" not in pod["metadata"]


def _processes_called(name: str) -> list[int]:
    return [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit() and _read(each / "comm") == name]


def _control_groups(process: int) -> str:
    return _read(Path(f"/proc/{process}/cgroup"))


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:  # the process ended meanwhile
        return ""
