"""A `Redis` on the test cluster with no redisop in it: rendered, applied by kubectl, and watched all the time."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import redis
import yaml
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.cluster.kubectl import Kubectl
from tests.cluster.pods import Pods
from tests.cluster.redis_cli import RedisCli

REDISOP = str(Path(sys.executable).with_name("redisop"))
IMAGES = {"6.2": "redis:6.2-alpine", "7.0": "redis:7.0-alpine", "8.2": "redis:8.2-alpine"}
PARKED = ("127.0.0.1", "1")


class Instance:
    """The pods, Services and data of one `Redis`; `document` is what it was last rendered from."""

    def __init__(self, kubectl: Kubectl, pods: Pods, redis_cli: RedisCli, document: dict[str, Any]) -> None:
        self.kubectl, self.pods, self.redis_cli = kubectl, pods, redis_cli
        self.document = document
        self.name: str = document["metadata"]["name"]
        self.primary_service = f"svc/{self.name}-master"
        self._watcher = Watcher(self._clients)

    @property
    def members(self) -> list[str]:
        """The names of the pods that are wanted."""
        return [f"{self.name}-{ordinal}" for ordinal in range(self.document["spec"].get("replicas", 1))]

    def create_secret(self) -> None:
        """Make the Secret as `redisop render` says."""
        self.kubectl("create", "-f", "-", stdin=redisop("secret", self.name))

    def apply(self, *options: str, **spec: object) -> str:
        """Change fields of the spec, render, apply server-side; return what kubectl said."""
        self.document["spec"].update(spec)
        return self.kubectl.apply(self.rendered(*options))

    def rendered(self, *options: str) -> str:
        """Return what `redisop render` prints for the document."""
        return redisop("render", "-f", "-", *options, stdin=yaml.safe_dump(self.document))

    def wait_until_serving(self, seconds: float = 90) -> None:
        """Return when all members are Ready, home leads, and every other member is linked to it."""
        self.kubectl.wait_for(f"{self.name} serves", self._serves, seconds)

    def roles(self) -> dict[str, str]:
        """Return what each member that answers is: `primary`, `replica` (linked), `cut off` or `parked`."""
        return {member: self._role(member) for member in self.members}

    def put(self, count: int, prefix: str = "key") -> None:
        """Write `count` keys through the primary Service and wait until every replica has them."""
        client = self.redis_cli.client(self.primary_service)
        with client.pipeline(transaction=False) as pipeline:
            for number in range(count):
                pipeline.set(f"{prefix}:{number}", f"value {number}")
            pipeline.wait(len(self.members) - 1, 5000)
            assert pipeline.execute()[-1] >= len(self.members) - 1, "the replicas did not confirm"

    def count(self, member: str, prefix: str = "key") -> int:
        """Return how many of the keys that `put` wrote this member holds."""
        return len(self.redis_cli.client(member).keys(f"{prefix}:*"))

    def watch(self) -> None:
        """From now on look for a second writable primary."""
        self._watcher.start()

    def stop_watching(self) -> list[str]:
        """Stop looking, and return each moment in which two members led."""
        return self._watcher.stop()

    def _clients(self) -> dict[str, redis.Redis]:
        pods = self.kubectl.list("pods", f"redis-cr={self.name}")
        there = {pod["status"]["podIP"]: pod["metadata"]["name"] for pod in pods if "podIP" in pod["status"]}
        return {
            address: redis.Redis(
                host=address, password=self.redis_cli.password(name), socket_timeout=0.3, retry=Retry(NoBackoff(), 0)
            )
            for address, name in there.items()
        }

    def _role(self, member: str) -> str:
        try:
            info = self.redis_cli.info(member)
        except (AssertionError, LookupError):
            return "silent"
        if info["role"] == "master":
            return "primary"
        if (info["master_host"], info["master_port"]) == PARKED:
            return "parked"
        return "replica" if info["master_link_status"] == "up" else "cut off"

    def _serves(self) -> bool:
        home = int(self.kubectl.get("configmap", f"{self.name}-config")["data"]["home"])
        expected = dict.fromkeys(self.members, "replica") | {f"{self.name}-{home}": "primary"}
        return self.roles() == expected and self.pods.are_ready(*self.members)


class Watcher(threading.Thread):
    """Asks every member of an instance for its role ten times a second; `clients` finds them, by address."""

    def __init__(self, clients: Callable[[], dict[str, redis.Redis]]) -> None:
        super().__init__(daemon=True)
        self._find = clients
        self._over = threading.Event()
        self._seen: list[str] = []

    def stop(self) -> list[str]:
        """Stop asking, and return what was seen."""
        self._over.set()
        if self.is_alive():
            self.join()
        return self._seen

    def run(self) -> None:
        clients: dict[str, redis.Redis] = {}
        found_at = 0.0
        while not self._over.wait(0.1):
            if time.monotonic() - found_at > 2:
                with suppress(AssertionError):  # kubectl, while the API server has much to do
                    clients = self._find()
                found_at = time.monotonic()
            leading = [address for address, client in clients.items() if _leads(client)]
            # Asked one after the other, a role may move in between: who leads in two rounds running counts.
            if len(leading) > 1 and [address for address in leading if _leads(clients[address])] == leading:
                self._seen.append(f"{time.strftime('%H:%M:%S')} {' and '.join(leading)} lead")


def _leads(client: redis.Redis) -> bool:
    try:
        return client.info("replication")["role"] == "master"
    except redis.RedisError:
        return False


def redisop(*arguments: str, stdin: str = "") -> str:
    """Run the command, which must succeed, and return its standard output."""
    done = subprocess.run([REDISOP, *arguments], input=stdin, capture_output=True, text=True)
    assert done.returncode == 0, f"redisop {' '.join(arguments)}: exit {done.returncode}\n{done.stderr}"
    return done.stdout
