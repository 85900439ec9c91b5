"""kubectl as a function, bound to one cluster and one namespace."""

import json
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

POLL_SECONDS = 0.25
PATIENCE_SECONDS = 60


class Kubectl:
    """``kubectl("get", "pods")`` returns what it printed; ``apply``, ``get`` and ``wait_for`` save the usual words."""

    def __init__(
        self, program: Path, kubeconfig: Path, cache: Path, namespace: str = "", prefix: Sequence[str] = ()
    ) -> None:
        self.program = program
        self.kubeconfig = kubeconfig
        self.namespace = namespace
        self._cache = cache
        self._prefix = prefix

    def in_namespace(self, namespace: str) -> "Kubectl":
        """Return the same for another namespace."""
        return Kubectl(self.program, self.kubeconfig, self._cache, namespace, self._prefix)

    def as_user(self, kubeconfig: Path) -> "Kubectl":
        """Return the same with another identity."""
        return Kubectl(self.program, kubeconfig, self._cache, self.namespace, self._prefix)

    def __call__(self, *arguments: str, stdin: str | None = None, check: bool = True) -> str:
        """Run kubectl and return its standard output.

        With ``check`` a failure raises AssertionError with what kubectl said; without, both streams are returned.
        """
        done = self.run(*arguments, stdin=stdin)
        if not check:
            return done.stdout + done.stderr
        assert done.returncode == 0, f"kubectl {' '.join(arguments)} failed:\n{done.stdout}{done.stderr}"
        return done.stdout

    def run(
        self, *arguments: str, stdin: str | None = None, seconds: float = PATIENCE_SECONDS
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl and return how it ended, for tests of its exit code and messages; 124 is for no end in time."""
        command = self.command(*arguments)
        try:
            return subprocess.run(command, input=stdin or "", capture_output=True, text=True, timeout=seconds)
        except subprocess.TimeoutExpired:  # as `exec` and `logs` do on a node that is frozen
            return subprocess.CompletedProcess(command, 124, "", f"no answer within {seconds:g} s\n")

    def command(self, *arguments: str) -> list[str]:
        """Return the whole command, for a process of one's own."""
        own = [f"--kubeconfig={self.kubeconfig}", f"--cache-dir={self._cache}"]
        if self.namespace:  # and else that of each manifest
            own.append(f"--namespace={self.namespace}")
        return [*self._prefix, str(self.program), *own, *arguments]

    def apply(self, manifests: "str | dict[str, Any] | Sequence[dict[str, Any]]", *arguments: str) -> str:
        """Apply YAML text, one manifest or several, server-side with strict validation."""
        server_side = ("apply", "--server-side", "--validate=strict", "--filename=-")
        return self(*server_side, *arguments, stdin=as_text(manifests))

    def get(self, kind: str, name: str) -> dict[str, Any]:
        """Return one object; raise AssertionError when there is none."""
        found: dict[str, Any] = json.loads(self("get", kind, name, "--output=json"))
        return found

    def list(self, kind: str, selector: str = "") -> "list[dict[str, Any]]":
        """Return all objects of ``kind`` in the namespace that the label ``selector`` matches."""
        found: list[dict[str, Any]] = json.loads(self("get", kind, f"--selector={selector}", "--output=json"))["items"]
        return found

    def wait_for(self, description: str, predicate: Callable[[], object], seconds: float = 60) -> Any:
        """Ask ``predicate`` again and again; return its first true answer.

        While it raises AssertionError, LookupError or OSError, as for an object that does not exist yet, the answer is
        no. Raises AssertionError with the last such error when it stays no for ``seconds``.
        """
        end = time.monotonic() + seconds
        while True:
            problem: Exception | None = None
            try:
                if answer := predicate():
                    return answer
            except (AssertionError, LookupError, OSError) as error:
                problem = error
            if time.monotonic() > end:
                raise AssertionError(f"{description}: not so after {seconds:g} s") from problem
            time.sleep(POLL_SECONDS)

    def dump(self) -> str:
        """Return what helps to understand the namespace: pods, events and the last lines of every container's log."""
        parts = [
            self("get", "pods,persistentvolumeclaims,services", "--output=wide", check=False),
            self("get", "events", "--sort-by=.lastTimestamp", check=False),
        ]
        for pod in self("get", "pods", "--output=name", check=False).split():
            for lines in (("--tail=25",), ("--tail=25", "--previous")):
                said = self.run("logs", pod, "--all-containers", "--prefix", *lines, seconds=10)
                parts.append(f"--- {pod} {' '.join(lines)}\n{said.stdout or said.stderr}")
        return "\n".join(parts)


def as_text(manifests: "str | dict[str, Any] | Sequence[dict[str, Any]]") -> str:
    """Return manifests in a form that kubectl reads."""
    if isinstance(manifests, str):
        return manifests
    if isinstance(manifests, dict):
        return json.dumps(manifests)
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(manifests)})
