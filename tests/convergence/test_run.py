"""`redisop run` as a process beside a real API server: it starts, works, says so, and ends."""

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import urllib3

from redisop.live.kube import EVENT
from tests.cluster.kubectl import Kubectl
from tests.convergence.conftest import ADMIN_TOKEN
from tests.convergence.fault_proxy import FaultProxy, is_write
from tests.convergence.site import Site, until

SMALL: dict[str, Any] = {"replicas": 1, "memory": "64Mi", "storage": "0", "auth": {"enabled": False}}


class Process:
    """One `redisop run`; what it logs is kept."""

    def __init__(self, kubeconfig: Path, namespace: str, *options: str) -> None:
        self.port = free_port()
        address = f"127.0.0.1:{self.port}"
        command = ["run", "--kubeconfig", str(kubeconfig), "-n", namespace, "--lease-namespace", namespace]
        command += ["--metrics-address", address, "--log-format", "json", *options]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "redisop", *command], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def get(self, path: str) -> tuple[int, str]:
        try:
            answer = urllib3.request("GET", f"http://127.0.0.1:{self.port}{path}", retries=False, timeout=5.0)
        except urllib3.exceptions.HTTPError:
            return 0, ""
        return answer.status, answer.data.decode()

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def end(self, number: signal.Signals | None = None) -> tuple[int, list[dict[str, Any]]]:
        """Wait until it has ended; return its exit code and its log."""
        if number:
            self.send(number)
        out, log = self._process.communicate(timeout=20)
        assert out == ""
        return self._process.returncode, [json.loads(line) for line in log.splitlines()]


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture
def processes() -> Iterator[list[Process]]:
    started: list[Process] = []
    yield started
    for process in started:
        if process._process.poll() is None:
            process._process.kill()
            process._process.communicate()


@pytest.fixture
def process(site: Site, proxy: FaultProxy, tmp_path: Path, processes: list[Process]) -> Process:
    found = Process(proxy.kubeconfig(tmp_path, ADMIN_TOKEN), site.namespace)
    processes.append(found)
    return found


def is_ready(process: Process) -> bool:
    return process.get("/readyz")[0] == 200


def test_it_starts_works_tells_and_ends(site: Site, process: Process) -> None:
    until(lambda: is_ready(process), 30)
    assert process.get("/healthz") == (200, "ok\n")
    until(lambda: 'leader_election_master_status{name="redisop"} 1.0' in process.get("/metrics")[1])
    site.put(**SMALL)
    until(lambda: site.find("StatefulSet", "r"))
    until(lambda: 'redisop_redis_members{namespace="' in process.get("/metrics")[1])
    until(
        lambda: [
            each["reason"] for each in site.behind.list(EVENT, site.namespace) if each["regarding"]["kind"] == "Redis"
        ]
    )
    before = time.monotonic()
    code, log = process.end(signal.SIGTERM)
    assert code == 0
    assert time.monotonic() - before < 10
    assert [line["msg"] for line in log][1] == "leads from now on"
    assert [line for line in log if line.get("redis") == "r" and "created" in str(line.get("changes"))]
    assert site.get("Lease", "redisop")["spec"].get("holderIdentity", "") == ""


def test_the_next_one_works_at_once_after_a_good_end(
    site: Site, process: Process, proxy: FaultProxy, tmp_path: Path, processes: list[Process]
) -> None:
    until(lambda: is_ready(process), 30)
    second = Process(proxy.kubeconfig(tmp_path, ADMIN_TOKEN), site.namespace)
    processes.append(second)
    until(lambda: is_ready(second), 30)
    assert 'leader_election_master_status{name="redisop"} 0.0' in second.get("/metrics")[1]
    leader = site.get("Lease", "redisop")["spec"]["holderIdentity"]
    assert process.end(signal.SIGINT)[0] == 0
    site.put(**SMALL)
    until(lambda: site.find("StatefulSet", "r"), 10)
    assert [line["msg"] for line in second.end(signal.SIGINT)[1]][1:3] == [
        f"stands by: {leader} leads",
        "leads from now on",
    ]


def test_a_stopped_leader_that_goes_on_writes_nothing_more_and_ends(
    site: Site, process: Process, proxy: FaultProxy, tmp_path: Path, processes: list[Process]
) -> None:
    until(lambda: is_ready(process) and 'master_status{name="redisop"} 1.0' in process.get("/metrics")[1], 30)
    second = Process(proxy.kubeconfig(tmp_path, ADMIN_TOKEN), site.namespace, "--log-level", "debug")
    processes.append(second)
    until(lambda: is_ready(second), 30)
    process.send(signal.SIGSTOP)  # at rest: what is on its way at this moment would still arrive
    site.put(**SMALL)
    until(lambda: (site.find("Redis", "r") or {}).get("status"), 40)
    second.send(signal.SIGSTOP)
    time.sleep(0.5)
    proxy.seen.clear()
    code, log = process.end(signal.SIGCONT)
    assert code == 4
    assert log[-1]["msg"] == "ends: another one may lead by now"
    assert [str(seen) for seen in proxy.seen if is_write(seen)] == []


def test_a_taken_port_is_said(site: Site, proxy: FaultProxy, tmp_path: Path, processes: list[Process]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        kubeconfig = proxy.kubeconfig(tmp_path, ADMIN_TOKEN)
        done = subprocess.run(
            [sys.executable, "-m", "redisop", "run", "--kubeconfig", str(kubeconfig), "--metrics-address", address],
            capture_output=True,
            text=True,
        )
    assert done.returncode == 4
    assert f"{address} cannot be served on: Address already in use" in done.stderr
    assert "Traceback" not in done.stderr


def test_missing_rights_are_named_and_it_keeps_trying(
    site: Site, kubectl: Kubectl, proxy: FaultProxy, tmp_path: Path, processes: list[Process]
) -> None:
    kubectl("create", "serviceaccount", "nobody")
    token = kubectl("create", "token", "nobody").strip()
    process = Process(proxy.kubeconfig(tmp_path, token), site.namespace)
    processes.append(process)
    for resource in ("redises", "secrets", "leases"):
        until(lambda resource=resource: f'on "{resource}" there' in process.get("/readyz")[1], 30)
    assert process.get("/healthz")[0] == 200
    code, log = process.end(signal.SIGTERM)
    assert code == 0
    assert any('grant the verb "list" on "secrets"' in line["msg"] for line in log)
