"""Redis instances made of real processes: each member runs the boot script, as its pod would, on an address of its own.

What a kubelet does, the test does (restart, delete, mount); what an operator does, `Operator` does. A watcher looks at
all members every 40 ms for what must never be: two writable primaries, or a living member whose data went back.
"""

import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from redisop.render.scripts import ENTRY, HANDOVER, READY
from tests.boot.loopback import PORT, Block
from tests.boot.setups import Setup
from tests.redis_servers import cli, server

PERSISTENCE = {
    "none": 'save ""\nappendonly no\nrdb-del-sync-files yes',
    "rdb": "save 3600 1\nappendonly no",
    "aof": 'save ""\nappendonly yes\nappendfsync always',
}
# As rendered where it matters to the boot rule; shorter where a test would only wait.
CONFIGURATION = """\
port 6379
protected-mode no
tcp-keepalive 15
repl-ping-replica-period 1
repl-diskless-sync yes
repl-diskless-sync-delay 0
repl-timeout 5
"""
APPLETS = ("cat", "grep", "hostname", "mv", "od", "sed", "sleep", "timeout", "tr")
PATIENCE = 30.0  # seconds; what a test waits for at most, on a machine that does much else
TICK = 0.4  # seconds; the scripts' tick in tests
QUIET = 2  # ticks without a role or an operator before a script acts

NOT_THERE = (redis.ConnectionError, redis.TimeoutError, OSError)
NO_ANSWER = (*NOT_THERE, redis.ResponseError)


@dataclass
class Pod:
    """The processes of one member, in one process group, and the guard that ends them when the tests are killed."""

    process: subprocess.Popen[bytes]
    guard: subprocess.Popen[bytes]


@dataclass
class Ledger:
    """What clients sent and were told is stored, by number.

    Where persistence promises less than everything (`may_forget`), what the primary lacks is no longer owed as soon as
    clients write again; a loss that no restart explains is for the watcher.
    """

    last: int = 0
    acknowledged: set[int] = field(default_factory=set)
    may_forget: bool = False


class Instance:
    """A Redis of `setup`, with nothing started yet. Member k is at `address[k]`, its files are in `folder/k`."""

    def __init__(
        self,
        setup: Setup,
        folder: Path,
        block: Block,
        *,
        conf: str = "",
        policy: str = "Bounded",
        password: bytes | None = b"s3cret",
        may_lose: bool = False,
    ) -> None:
        self.setup, self.folder, self.block = setup, folder, block
        self.conf, self.policy, self.password, self.may_lose = conf, policy, password, may_lose
        self.members, self.home, self.epoch = setup.members, 0, 0
        self.pods: dict[int, Pod] = {}
        self.address: dict[int, str] = {}
        self.generation: dict[int, int] = {}
        self.ledger = Ledger()
        self.faults: list[str] = []
        self.events: list[str] = []
        self.began = time.monotonic()
        (folder / "addresses").mkdir(parents=True)
        for name, script in (("entry.sh", ENTRY), ("ready.sh", READY), ("handover.sh", HANDOVER)):
            (folder / name).write_text(script)
        self.shell = ["dash"] if setup.shell == "dash" else [_busybox(), "ash"]
        self.path = _tools(folder / "bin", setup)
        for member in range(self.members):
            self.add(member)
        self._over = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    # -- what a StatefulSet and its kubelets do ------------------------------------------------------------------------

    def add(self, member: int) -> None:
        """Make the files and the address of a member, without starting it."""
        for name in ("etc", "secret", "run", "data"):
            (self.folder / str(member) / name).mkdir(parents=True)
        if self.password is not None:
            (self.folder / str(member) / "secret/password").write_bytes(self.password)
        self._place(member, 0)
        self.mount(member)

    def mount(self, *members: int, home: int | None = None, count: int | None = None) -> None:
        """Show `members` (all, when none are named) the ConfigMap as it is now, or as it was with `home`, `count`."""
        for member in members or list(self.address):
            files = {
                "members": self.members if count is None else count,
                "home": self.home if home is None else home,
                "epoch": self.epoch,
                "policy": self.policy,
                "max-lag": 4,
            }
            for name, value in files.items():
                _replace(self.file(member, "etc", name), f"{value}")

    def scale(self, count: int) -> None:
        """Let the instance have `count` members; those that are new are started, those that are left over deleted."""
        self.say(f"scaled to {count}")
        old, self.members = self.members, count
        for member in range(old, count):
            self.add(member)
        self.mount()
        for member in range(count, old):
            self.delete(member)
        self.start()

    def start(self, *members: int) -> None:
        """Start `members`, or all of them, as a kubelet starts or restarts a container in its pod."""
        for member in members or range(self.members):
            if member not in self.pods:
                self.pods[member] = self._pod(member)

    def kill(self, *members: int) -> None:
        """End the processes of `members` at once, as a crash does."""
        self.say(f"kill -9 {members}")
        for member in members:
            self._end(member)

    def terminate(self, *members: int) -> dict[int, int]:
        """Stop `members` in order, as a kubelet does, and return their exit codes; -9 for what took too long."""
        self.say(f"stopped in order {members}")
        for member in members:
            self.pods[member].process.terminate()
        codes = {}
        for member in members:
            with suppress(subprocess.TimeoutExpired):
                self.pods[member].process.wait(12)
            codes[member] = self._end(member)
        return codes

    def delete(self, *members: int, orderly: bool = True) -> None:
        """Delete the pods of `members`: they end, and what is started next has a new address and fresh mounts."""
        self.say(f"deleted {members}")
        running = [member for member in members if member in self.pods]
        if orderly:
            self.terminate(*running)
        else:
            self.kill(*running)
        for member in members:
            self._place(member, self.generation[member] + 1)
            self.mount(member)

    def lose_volume(self, *members: int) -> None:
        """Empty the volumes of `members`, which must not run."""
        self.say(f"lost volumes {members}")
        for member in members:
            assert member not in self.pods
            shutil.rmtree(self.folder / str(member) / "data")
            (self.folder / str(member) / "data").mkdir()

    def freeze(self, member: int, *, whole_pod: bool = True) -> None:
        self.say(f"frozen {member} {'pod' if whole_pod else 'redis-server'}")
        self._signal(member, signal.SIGSTOP, whole_pod)

    def thaw(self, member: int) -> None:
        self.say(f"thawed {member}")
        self._signal(member, signal.SIGCONT, True)

    def move_home(self, to: int, *, lagging: tuple[int, ...] = ()) -> None:
        """Change home and epoch, as an operator does; the mounted files of `lagging` members stay as they are."""
        self.home, self.epoch = to, self.epoch + 1
        self.say(f"home is {to}, epoch {self.epoch}, not yet seen by {lagging}")
        self.mount(*(member for member in range(self.members) if member not in lagging))

    def stop(self) -> None:
        """End everything."""
        self._over.set()
        self._watcher.join()
        for member in list(self.pods):
            self._end(member)
        self.block.release()

    # -- what a client, and an operator, do ----------------------------------------------------------------------------

    def client(self, member: int, *, name: str | None = None, timeout: float = 1.0) -> redis.Redis:
        """Return a client of `member`, to be closed by the caller. It never tries anything twice."""
        return redis.Redis(
            host=self.address[member],
            port=PORT,
            password=self.secret(),
            client_name=name,
            socket_timeout=timeout,
            socket_connect_timeout=timeout,
            retry=Retry(NoBackoff(), 0),
            protocol=2,
            encoding_errors="surrogateescape",
            decode_responses=True,
        )

    def secret(self) -> str | None:
        """Return the password that clients use: what the file holds, without one trailing newline."""
        return None if self.password is None else self.password.removesuffix(b"\n").decode(errors="surrogateescape")

    def call(self, member: int, *command: Any, timeout: float = 1.0) -> Any:
        """Send one command to `member` on a connection of its own. Raises what redis-py raises."""
        with self.client(member, timeout=timeout) as client:
            return client.execute_command(*command)

    def info(self, member: int) -> dict[str, Any]:
        with self.client(member) as client:
            return client.info()

    def write(self, count: int = 20, *, to: int | None = None, confirmed: bool = True) -> int:
        """Write `count` new entries through home (or member `to`), and return how many were acknowledged.

        `confirmed` waits until every replica that runs has them, so that no crash may lose them. That takes up to a
        second after a sync: Redis sends a new replica nothing before its first acknowledgement.
        """
        done = 0
        member = self.home if to is None else to
        with suppress(*NO_ANSWER), self.client(member, timeout=5 if confirmed else 0.5) as client:
            for _ in range(count):
                self.ledger.last += 1  # used up also if no answer comes: what was written is then unknown
                number = self.ledger.last
                found, *_ = client.pipeline().get("seq").set(f"w:{number}", "x" * 50).set("seq", number).execute()
                if self.ledger.may_forget:
                    self.ledger.acknowledged = {owed for owed in self.ledger.acknowledged if owed <= int(found or 0)}
                self.ledger.acknowledged.add(number)
                done += 1
            if confirmed:
                client.execute_command("WAIT", len(self.pods) - 1, 3000)
        self.say(f"{done} of {count} writes")
        return done

    def flush(self) -> None:
        """Remove all data through home. When it worked or may have, nothing acknowledged before is owed any more."""
        self.ledger.last += 1
        with suppress(*NO_ANSWER), self.client(self.home, timeout=0.5) as client:
            client.ping()
            try:
                client.pipeline().flushall().set("seq", self.ledger.last).execute()
            except redis.ResponseError:
                return
            except NOT_THERE:
                self.say("flushed, perhaps")
            else:
                self.say("flushed")
            self.ledger.acknowledged.clear()

    def await_level(self, member: int, with_: int) -> None:
        """Wait until `member` has received all that `with_` has sent until now."""
        target = self.info(with_)["master_repl_offset"]
        until(lambda: self.info(member)["master_repl_offset"] >= target, f"member {member} is level", self)

    def assign_roles(self) -> None:
        """Give home the primary role and let the others follow, as an operator does at once; wait until they do."""
        until(lambda: all(self.answers(member) for member in range(self.members)), "all members answer", self)
        self.call(self.home, "REPLICAOF", "NO", "ONE")
        for member in range(self.members):
            if member != self.home:
                self.call(member, "REPLICAOF", self.address[self.home], PORT)
        self.await_primary()
        until(lambda: self.fact(self.home) == f"primary {self.epoch}", "home wrote down what it is", self)
        until(lambda: all(self.lets_replicas_in(member) for member in range(self.members)), "none is parked", self)

    # -- looking -------------------------------------------------------------------------------------------------------

    def file(self, member: int, *parts: str) -> Path:
        return Path(self.folder, str(member), *parts)

    def fact(self, member: int) -> str | None:
        """Return what the boot script wrote down beside the data, without its newline; None for nothing."""
        file = self.file(member, "data", "redisop.role")
        return file.read_text().removesuffix("\n") if file.exists() else None

    def log(self, member: int) -> list[str]:
        """Return what the boot script said, without its prefix, oldest first, of all its lives."""
        file = self.file(member, "log")
        lines = file.read_text(errors="replace").splitlines() if file.exists() else []
        return [line.removeprefix("redisop: ") for line in lines if line.startswith("redisop: ")]

    def hold(self, member: int) -> str | None:
        """Return why `member` holds, if that is the last it said."""
        said = self.log(member)
        return said[-1].removeprefix("hold: ") if said and said[-1].startswith("hold: ") else None

    def answers(self, member: int) -> bool:
        return self.loading(member) is False

    def lets_replicas_in(self, member: int) -> bool:
        """Whether the boot script of `member` has seen that it is parked no longer."""
        users = self.call(member, "ACL", "LIST")
        return any(user.startswith("user redisop-replica on ") for user in users)

    def loading(self, member: int) -> bool | None:
        """Whether `member` is loading; None when it does not answer."""
        with suppress(*NO_ANSWER):
            return bool(self.info(member)["loading"])
        return None

    def primaries(self) -> list[int]:
        """Return the members that say they are primary now."""
        found = []
        for member in list(self.pods):
            with suppress(*NO_ANSWER):
                if self.call(member, "ROLE")[0] == "master":
                    found.append(member)
        return found

    def keys(self, member: int) -> dict[str, int]:
        """Return the number of keys in each database of `member` that has any."""
        return {name: entry["keys"] for name, entry in self.info(member).items() if re.fullmatch(r"db\d+", name)}

    def converged(self) -> bool:
        """Whether home leads, all others follow it or one that does, with their links up and the same data."""
        with suppress(*NO_ANSWER):
            told = {member: self.info(member) for member in range(self.members)}
            if len(self.pods) < self.members or told[self.home]["role"] != "master":
                return False
            at = {address: member for member, address in self.address.items() if member < self.members}
            links = {
                member: at.get(info["master_host"])
                for member, info in told.items()
                if info["role"] == "slave" and info["master_link_status"] == "up"
            }
            entries = {tuple(self.call(member, "MGET", "seq", f"w:{self.ledger.last}")) for member in told}
            reached = {self.home}
            for _ in told:
                reached |= {member for member, leader in links.items() if leader in reached}
            return reached == set(told) and len(entries) == 1 and len({str(self.keys(m)) for m in told}) == 1
        return False

    def await_primary(self) -> None:
        """Wait until `converged`."""
        until(self.converged, f"member {self.home} leads and all follow", self)

    def await_hold(self, reason: str, *, member: int | None = None) -> None:
        """Wait until home (or `member`) holds for a reason that matches, and see that nobody leads then or later."""
        who = self.home if member is None else member
        until(lambda: re.search(reason, self.hold(who) or ""), f"member {who} holds: {reason}", self)
        time.sleep(4 * TICK)
        assert self.primaries() == [], self.story()

    def script(self, name: str, member: int) -> subprocess.CompletedProcess[str]:
        """Run another script (`ready.sh`, `handover.sh`) inside the pod of `member`, as a kubelet does."""
        return subprocess.run(
            [*self.shell, self.folder / name],
            env=self.environment(member),
            capture_output=True,
            text=True,
            check=False,
        )

    def interpose(self, program: str, script: str, **values: object) -> None:
        """Put a shell script in front of a program that the pods call; in it `{real}` and `values` are filled in."""
        file = self.folder / "bin" / program
        found = shutil.which(program, path=self.path)
        assert found
        real = os.readlink(found) if Path(found).parent == file.parent else found
        call = f"{real} {program}" if os.path.basename(real) == "busybox" else real
        file.unlink(missing_ok=True)
        file.write_text(script.format(real=call, **values))
        file.chmod(0o755)

    def server_pid(self, member: int) -> int:
        """Return the process id of the redis-server of `member`. Raises LookupError when there is none."""
        server = self._server(self.pods[member])
        if server is None:
            raise LookupError(f"member {member} has no redis-server")
        return server

    def say(self, event: str) -> None:
        self.events.append(f"{time.monotonic() - self.began:6.2f} {event}")

    def story(self) -> str:
        """Return what was done and what the scripts said, for a person who reads a failed test."""
        said = [f"member {member}: {line}" for member in self.address for line in self.log(member)[-12:]]
        return "\n".join([f"{self.setup}", *self.events, *said])

    # -- inside --------------------------------------------------------------------------------------------------------

    def _place(self, member: int, generation: int) -> None:
        """Give `member` the address of its next pod; Redis' configuration names it, since all share one machine."""
        self.generation[member] = generation
        self.address[member] = self.block.address(member, generation)
        _replace(self.folder / "addresses" / str(member), self.address[member])
        lines = [
            CONFIGURATION + PERSISTENCE[self.setup.persistence],
            self.conf,
            f"bind {self.address[member]}",
            f"dir {self.file(member, 'data')}",
        ]
        self.file(member, "etc", "redis.conf").write_text("\n".join(lines))

    def environment(self, member: int) -> dict[str, str]:
        return {
            "PATH": self.path,
            "NAME": "cache",
            "POD_IP": self.address[member],
            "REDISOP_ADDRESS": self.address[member],
            "REDISOP_MAP": str(self.folder / "addresses"),
            "REDISOP_SELF": f"cache-{member}",
            "REDISOP_ETC": str(self.file(member, "etc")),
            "REDISOP_SECRET": str(self.file(member, "secret")),
            "REDISOP_RUN": str(self.file(member, "run")),
            "REDISOP_DATA": str(self.file(member, "data")),
            "REDISOP_DELAY": str(QUIET),
            "REDISOP_TICK": str(TICK),
            "REDISOP_SETTLED_TICK": str(TICK),
        }

    def _pod(self, member: int) -> Pod:
        self.say(f"started {member} at {self.address[member]}")
        with self.file(member, "log").open("ab") as log:
            process = subprocess.Popen(
                [*self.shell, self.folder / "entry.sh"],
                env=self.environment(member),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                start_new_session=True,
            )
        # Its standard input ends when this process does, however that dies.
        guard = subprocess.Popen(
            ["sh", "-c", 'read -r _; kill -KILL "-$1"', "guard", str(process.pid)],
            stdin=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        return Pod(process, guard)

    def _end(self, member: int) -> int:
        pod = self.pods.pop(member)
        pod.guard.kill()
        pod.guard.communicate()
        server = self._server(pod)
        with suppress(ProcessLookupError):
            os.killpg(pod.process.pid, signal.SIGKILL)
        while server and runs(server):  # the next Redis of this member needs its address
            time.sleep(0.005)
        return pod.process.wait()

    def _server(self, pod: Pod) -> int | None:
        shell = pod.process.pid
        with suppress(FileNotFoundError, ProcessLookupError):
            for child in Path(f"/proc/{shell}/task/{shell}/children").read_text().split():
                if Path(f"/proc/{child}/comm").read_text().startswith("redis-server"):
                    return int(child)
        return None

    def _signal(self, member: int, number: signal.Signals, whole_pod: bool) -> None:
        with suppress(ProcessLookupError, LookupError):
            if whole_pod:
                os.killpg(self.pods[member].process.pid, number)
            else:
                os.kill(self.server_pid(member), number)

    def _watch(self) -> None:
        glances: dict[int, Glance] = {}
        together = 0
        while not self._over.wait(0.04):
            leading = []
            for member in list(self.address):
                glance = glances.get(member)
                if glance is None or glance.address != self.address[member]:
                    glance = glances[member] = Glance(self.address[member], self.secret())
                role, entry, before = glance.take()
                if role == "master":
                    leading.append(member)
                if entry < before and not self.may_lose:
                    self.faults.append(f"{time.monotonic() - self.began:.2f}: member {member} went {before} -> {entry}")
            together = together + 1 if len(leading) > 1 else 0
            if together == 2:  # one look is not at one moment: only what two looks see has been
                self.faults.append(f"{time.monotonic() - self.began:.2f}: writable primaries {leading}")
        for glance in glances.values():
            glance.close()


class Glance:
    """The watcher's connection to one process; a new connection may meet a new process, which may hold other data."""

    def __init__(self, address: str, password: str | None) -> None:
        self.address, self.password = address, password
        self.connection: redis.Connection | None = None
        self.entry = 0

    def take(self) -> tuple[str | None, int, int]:
        """Return the role, the last entry, and the last entry before, as this same process showed it."""
        role, before = None, self.entry
        try:
            if self.connection is None:
                self.entry = before = 0
                self.connection = self._connect()
            self.connection.send_packed_command(self.connection.pack_commands([("ROLE",), ("GET", "seq")]))
            replies = [self._reply(), self._reply()]
            role = replies[0][0].decode() if isinstance(replies[0], list) else None
            self.entry = int(replies[1] or 0) if not isinstance(replies[1], Exception) else before
        except NO_ANSWER:
            self.close()
            return role, before, before
        return role, self.entry, before

    def close(self) -> None:
        if self.connection is not None:
            self.connection.disconnect()
        self.connection = None

    def _connect(self) -> redis.Connection:
        connection = redis.Connection(
            host=self.address,
            port=PORT,
            password=self.password,
            socket_timeout=0.15,
            socket_connect_timeout=0.15,
            encoding_errors="surrogateescape",
            protocol=2,
            retry=Retry(NoBackoff(), 0),
        )
        connection.connect()
        return connection

    def _reply(self) -> Any:
        assert self.connection is not None
        try:
            return self.connection.read_response()
        except redis.ResponseError as error:
            return error


class Operator:
    """Connections of an operator to some members: named, and used every half second until they freeze or end."""

    def __init__(self, instance: Instance, *members: int) -> None:
        self.instance = instance
        self.clients = {member: instance.client(member, name="redisop") for member in members}
        self._frozen = threading.Event()
        self._use()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def send(self, member: int, *command: Any) -> Any:
        return self.clients[member].execute_command(*command)

    def freeze(self) -> None:
        """Keep the connections open and use them no more."""
        self._frozen.set()
        self._thread.join()

    def end(self) -> None:
        self.freeze()
        for client in self.clients.values():
            client.close()

    def __enter__(self) -> "Operator":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def _work(self) -> None:
        while not self._frozen.wait(0.5):
            self._use()

    def _use(self) -> None:
        for client in self.clients.values():
            with suppress(*NO_ANSWER):
                client.execute_command("PING")


def until(true: Callable[[], object], what: str, instance: Instance | None = None, timeout: float = PATIENCE) -> None:
    """Wait until `true()`; a Redis that does not answer is not true yet.

    Raises AssertionError that says `what` did not come, with the story of `instance`.
    """
    end = time.monotonic() + timeout
    while not _yet(true):
        if time.monotonic() > end:
            raise AssertionError(f"not within {timeout:.0f} s: {what}\n{instance.story() if instance else ''}")
        time.sleep(0.1)


def runs(process: int) -> bool:
    """Whether a process runs; one that is dead and not yet waited for does not."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    return False


def _yet(true: Callable[[], object]) -> bool:
    with suppress(*NO_ANSWER):
        return bool(true())
    return False


@contextmanager
def operator(instance: Instance, *members: int) -> Iterator[Operator]:
    """An operator at work on `members`, or on all."""
    with Operator(instance, *(members or range(instance.members))) as at_work:
        yield at_work


def _replace(file: Path, text: str) -> None:
    """Change a file as a kubelet does: at one moment, never half written."""
    new = file.with_suffix(".new")
    new.write_text(text)
    new.rename(file)


def _busybox() -> str:
    found = shutil.which("busybox")
    if not found:
        raise RuntimeError("busybox is missing, the shell of the alpine images: apt-get install busybox-static")
    return found


def _tools(folder: Path, setup: Setup) -> str:
    """Return the PATH inside the pods: Redis' programs of this version, and the tools that the image's system has."""
    folder.mkdir()
    (folder / "redis-server").symlink_to(server(setup.version))
    (folder / "redis-cli").symlink_to(cli(setup.version))
    if setup.shell == "dash":
        return f"{folder}:/usr/bin:/bin"
    for applet in APPLETS:
        (folder / applet).symlink_to(_busybox())
    return str(folder)
