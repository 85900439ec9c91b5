"""etcd and kube-apiserver alone, on loopback, without root: enough for CRDs, server-side dry runs and convergence.

No controllers run: a deleted namespace stays Terminating for ever, nothing collects garbage, no pod ever starts.
"""

import contextlib
import fcntl
import json
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from tests.cluster import binaries
from tests.cluster.audit import AuditLog
from tests.cluster.credentials import ADMINISTRATORS, Credentials
from tests.cluster.kubectl import Kubectl

STATE_PREFIX = "redisop-api-server-"
START_TRIES = 3


class ApiServer:
    """``with ApiServer() as server: server.kubectl("get", "namespaces")``.

    ``kubeconfig`` is a file for the cluster administrator, ``url`` the address, ``audit`` the log of every request.
    The processes die with this one, however it ends; the next start removes the folder that they leave.
    """

    def __init__(self, extra_arguments: Sequence[str] = ()) -> None:
        self._extra_arguments = extra_arguments
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> "ApiServer":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start both programs and wait until the API server is ready; raise RuntimeError when it does not get so."""
        programs = binaries.ensure_for_api_server()
        remove_leftovers()
        for attempt in range(1, START_TRIES + 1):  # a port found free may be taken by somebody else before it is used
            try:
                self._start(programs)
                return
            except RuntimeError:
                self.stop()
                if attempt == START_TRIES:
                    raise

    def _start(self, programs: Path) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=STATE_PREFIX))
        self._lock = _hold(self.folder)
        etcd_port, peer_port, api_port = _free_ports(3)
        self.url = f"https://127.0.0.1:{api_port}"
        credentials = Credentials(
            self.folder / "credentials", self.url, ["127.0.0.1", "localhost"], {"admin": ("admin", ADMINISTRATORS)}
        )
        self.credentials = credentials
        self.kubeconfig = credentials.kubeconfig("admin")
        self.kubectl = Kubectl(programs / "kubectl", self.kubeconfig, self.folder / "kubectl-cache")
        self._run("etcd", etcd_command(programs, self.folder, etcd_port, peer_port))
        self._run(
            "kube-apiserver",
            [
                *api_server_command(programs, self.folder, credentials, "127.0.0.1", api_port, etcd_port),
                "--endpoint-reconciler-type=none",  # the address of an endpoint must not be on loopback
                "--service-cluster-ip-range=10.202.0.0/16",
                "--authorization-mode=RBAC",
                "--disable-admission-plugins=ServiceAccount",  # nobody makes the `default` account
                *self._extra_arguments,
            ],
        )
        wait_until_ready(self.url, credentials, self.folder, self._complain_about_the_dead)
        self.audit = AuditLog(audit_path(self.folder), self.kubectl)

    def stop(self) -> None:
        """End both programs and remove what they wrote."""
        for process in reversed(self._processes):
            process.kill()
            process.wait()
        self._processes.clear()
        shutil.rmtree(self.folder, ignore_errors=True)
        self._lock.close()

    def _run(self, name: str, command: list[str]) -> None:
        with (self.folder / f"{name}.log").open("wb") as log:
            mortal = ["setpriv", "--pdeathsig", "KILL", "--"]
            self._processes.append(
                subprocess.Popen([*mortal, *command], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            )

    def _complain_about_the_dead(self) -> None:
        for process in self._processes:
            if process.poll() is not None:
                logs = "".join(f"{log}:\n{log.read_text()[-2000:]}" for log in self.folder.glob("*.log"))
                raise RuntimeError(f"{process.args} ended with {process.returncode}\n{logs}")


def etcd_command(programs: Path, folder: Path, port: int, peer_port: int) -> list[str]:
    """Return the command that runs etcd on loopback with its data under ``folder``; a crash may lose data."""
    return [
        str(programs / "etcd"),
        f"--data-dir={folder}/etcd",
        f"--listen-client-urls=http://127.0.0.1:{port}",
        f"--advertise-client-urls=http://127.0.0.1:{port}",
        f"--listen-peer-urls=http://127.0.0.1:{peer_port}",
        f"--initial-advertise-peer-urls=http://127.0.0.1:{peer_port}",
        f"--initial-cluster=default=http://127.0.0.1:{peer_port}",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def api_server_command(
    programs: Path, folder: Path, credentials: Credentials, address: str, port: int, etcd_port: int
) -> list[str]:
    """Return the command that runs kube-apiserver with default admission and an audit log of every request."""
    policy = folder / "audit-policy.yaml"
    policy.write_text(
        json.dumps(
            {
                "apiVersion": "audit.k8s.io/v1",
                "kind": "Policy",
                "omitStages": ["RequestReceived"],
                "rules": [{"level": "Metadata"}],
            }
        )
    )
    return [
        str(programs / "kube-apiserver"),
        f"--etcd-servers=http://127.0.0.1:{etcd_port}",
        f"--bind-address={address}",
        f"--advertise-address={address}",
        f"--secure-port={port}",
        f"--tls-cert-file={credentials.serving_certificate}",
        f"--tls-private-key-file={credentials.serving_key}",
        f"--token-auth-file={credentials.tokens}",
        f"--service-account-key-file={credentials.account_key}",
        f"--service-account-signing-key-file={credentials.account_key}",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--allow-privileged=true",
        "--profiling=false",
        f"--audit-policy-file={policy}",
        f"--audit-log-path={audit_path(folder)}",
        "--audit-log-maxsize=100000",  # megabytes: rotation would end what a bookmark stands for
    ]


def audit_path(folder: Path) -> Path:
    """Return where the API server with its state in ``folder`` writes its audit log."""
    return folder / "audit.jsonl"


def wait_until_ready(
    url: str, credentials: Credentials, logs: Path, check: Callable[[], None] = lambda: None, seconds: float = 60
) -> None:
    """Return when the API server answers that it is ready; ``check`` may raise what makes waiting pointless."""
    context = ssl.create_default_context(cafile=credentials.authority)
    end = time.monotonic() + seconds
    while True:
        with contextlib.suppress(OSError, urllib.error.URLError):
            request = urllib.request.Request(f"{url}/readyz", headers={"Authorization": "Bearer admin-token"})
            with urllib.request.urlopen(request, context=context, timeout=2) as answer:
                if answer.status == 200:
                    return
        check()
        if time.monotonic() > end:
            raise RuntimeError(f"the API server at {url} is not ready after {seconds:g} s: see {logs}")
        time.sleep(0.1)


def remove_leftovers() -> None:
    """Remove the folders of API servers whose owner is gone; their processes died with it."""
    for folder in Path(tempfile.gettempdir()).glob(f"{STATE_PREFIX}*"):
        with contextlib.suppress(OSError):  # somebody else's, or in use
            _hold(folder).close()
            shutil.rmtree(folder, ignore_errors=True)


def _hold(folder: Path) -> IO[str]:
    """Lock ``folder`` for as long as the returned file is open; raise OSError when somebody else holds it."""
    lock = (folder / "lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise
    return lock


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
