"""Redis in pods, asked by redis-cli or by redis-py, with the password from the Secret that the pod mounts."""

import base64
import os
import subprocess
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests import redis_servers
from tests.cluster.cluster import Cluster
from tests.cluster.kubectl import Kubectl

SECONDS = 5


class RedisCli:
    """``redis_cli("my-redis-0", "INFO", "replication")``; ``svc/my-redis-master`` instead asks through a Service."""

    def __init__(self, cluster: Cluster, kubectl: Kubectl) -> None:
        self._cluster = cluster
        self._kubectl = kubectl
        self._clients: list[redis.Redis] = []

    def __call__(self, target: str, *arguments: str, check: bool = True) -> str:
        """Return what redis-cli printed, without the last newline.

        An error reply, and no answer within five seconds, raise AssertionError; without ``check`` they are returned.
        """
        program = [str(redis_servers.cli()), "-e", "-h", self.address(target), *arguments]
        done = subprocess.run(
            self._cluster.command_in(["timeout", str(SECONDS), *program]),
            env={**os.environb, b"REDISCLI_AUTH": self.password(target)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
        said = (done.stdout + done.stderr).decode(errors="replace").rstrip("\n")
        assert not check or done.returncode == 0, f"{target} to {' '.join(arguments)}: {said or 'no answer'}"
        return said

    def info(self, target: str, section: str = "replication") -> dict[str, str]:
        """Return a section of INFO."""
        lines = self(target, "INFO", section).splitlines()
        return dict(line.rstrip("\r").split(":", 1) for line in lines if ":" in line)

    def client(self, target: str, seconds: float = SECONDS) -> redis.Redis:
        """Return a redis-py client that waits ``seconds`` for an answer; it is closed after the test."""
        client = redis.Redis(
            host=self.address(target),
            password=self.password(target),
            socket_timeout=seconds,
            socket_connect_timeout=seconds,
            retry=Retry(NoBackoff(), 0),
            decode_responses=True,
        )
        self._clients.append(client)
        return client

    def close(self) -> None:
        """Close every client."""
        for client in self._clients:
            client.close()

    def address(self, target: str) -> str:
        """Return the IP address of a pod, or of a Service (``svc/NAME``); raise LookupError while it has none."""
        if target.startswith("svc/"):
            address: str = self._service(target)["spec"]["clusterIP"]
            assert address != "None", f"{target} is headless: ask a pod"
        else:
            address = self._kubectl.get("pod", target)["status"]["podIP"]
        return address

    def password(self, target: str) -> bytes:
        """Return the password in the Secret that the pod, or a pod behind the Service, mounts; empty if there is none.

        One trailing newline is dropped, as the pods do.
        """
        for volume in self._pod(target)["spec"]["volumes"]:
            if "secret" in volume:
                secret = self._kubectl.get("secret", volume["secret"]["secretName"])
                key = volume["secret"].get("items", [{"key": "password"}])[0]["key"]
                return base64.b64decode(secret["data"][key]).removesuffix(b"\n")
        return b""

    def _service(self, target: str) -> dict[str, Any]:
        return self._kubectl.get("service", target.removeprefix("svc/"))

    def _pod(self, target: str) -> dict[str, Any]:
        if not target.startswith("svc/"):
            return self._kubectl.get("pod", target)
        selector = ",".join(f"{label}={value}" for label, value in self._service(target)["spec"]["selector"].items())
        return self._kubectl.list("pods", selector)[0]
