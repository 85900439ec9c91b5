"""One question to one member over one connection, and many of them at once: no threads, one `poll`.

Whatever a member does (silence, refusal, nonsense, an endless stream) ends as a `Refusal` in time. No names are
resolved: a resolver that does not answer would stop everything. Passwords appear in no text that comes out.
"""

from __future__ import annotations

import errno
import math
import os
import select
import socket
import time
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Final, TypeAlias

from redisop import names
from redisop.live.resp import Parser, ProtocolError, encode
from redisop.snapshot.reply import ErrorReply, Refusal, Reply
from redisop.snapshot.vitals import Target, Trouble

Command: TypeAlias = Sequence[bytes | str | int]

_CHUNK: Final = 64 * 1024
_LONGEST_QUOTE: Final = 200
_TROUBLE_OF_CODE: Final = {
    "NOAUTH": Trouble.WRONG_PASSWORD,
    "WRONGPASS": Trouble.WRONG_PASSWORD,
    "LOADING": Trouble.LOADING,
    "BUSY": Trouble.BUSY,
}
_TROUBLE_OF_ERRNO: Final = {
    errno.ECONNREFUSED: Trouble.REFUSED,
    errno.ECONNRESET: Trouble.CLOSED,
    errno.EPIPE: Trouble.CLOSED,
    errno.ETIMEDOUT: Trouble.TIMEOUT,
}
_WITH_SUBCOMMANDS: Final = {"ACL", "CLIENT", "CONFIG"}
# Of what Redis says to a command with one of these words only the code is told: it may repeat the secret in its text.
_SECRET_WORDS: Final = {"ACL", "AUTH", "MASTERAUTH", "REQUIREPASS"}


class Connection:
    """A connection to the process at the address of one pod. `greeted`: it has its password and its name by now."""

    __slots__ = ("greeted", "parser", "password", "socket", "target")

    def __init__(self, target: Target, password: bytes | None) -> None:
        """Open a socket that is not connected yet; raises OSError."""
        self.target, self.password = target, password
        self.parser = Parser()
        self.greeted = False
        family = socket.AF_INET6 if ":" in str(target.address) else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def serves(self, target: Target, password: bytes | None) -> bool:
        """Tell whether it leads where `target` is now. A new password must be shown anew."""
        return self.target == target and self.password == password

    def greeting(self) -> list[Command]:
        """Return what comes before the first command: the boot script keeps still while it sees our name."""
        if self.greeted:
            return []
        name: Command = ("CLIENT", "SETNAME", names.CONNECTION_NAME)
        return [("AUTH", self.password), name] if self.password else [name]


class Exchange:
    """One command to one member, and what comes back: `answer`, unless there is a `refusal`.

    `connection` is the standing one, if there is one. When it is found closed it is opened anew, once, if `reopens`: a
    member may close what is idle, and a `CLIENT KILL` closes ours too. Afterwards it is the one to keep, or None.
    Connecting and answering may take `patience` seconds each, and nothing may go on after `end`.
    """

    def __init__(
        self,
        target: Target,
        password: bytes | None,
        connection: Connection | None,
        command: Command,
        *,
        end: float,
        patience: float,
        reopens: bool = True,
    ) -> None:
        self.target, self.command, self.end, self.patience = target, command, end, patience
        self.connection = connection
        self.refusal: Refusal | None = None
        self.began = self._since = time.monotonic()
        self._password = password
        self._reopens = reopens
        self._connecting = False
        self._outgoing = b""
        self._replies: list[Reply] = []
        self._expected = 0

    @property
    def answer(self) -> Reply:
        """The reply to the command. The replies to the greeting stand before it."""
        return self._replies[-1]

    @property
    def over(self) -> bool:
        return self.refusal is not None or (self._expected > 0 and len(self._replies) == self._expected)

    @property
    def limit(self) -> float:
        """When what it waits for must have happened, as `time.monotonic` counts."""
        return min(self.end, self._since + self.patience)

    @property
    def waits_for(self) -> int:
        return select.POLLOUT if self._connecting or self._outgoing else select.POLLIN

    def begin(self) -> None:
        if self.connection and not self.connection.serves(self.target, self._password):
            self._close()
        if self.connection:
            self._ask(self.connection)
        else:
            self._connect()

    def advance(self, connection: Connection) -> None:
        """Go on: what it waits for has happened."""
        try:
            if self._connecting:
                self._connected(connection)
            elif self._outgoing:
                self._outgoing = self._outgoing[connection.socket.send(self._outgoing) :]
            else:
                self._receive(connection)
        except BlockingIOError:
            return
        except OSError as error:
            self._ended(*_os_trouble(error.errno))
        except ProtocolError as error:
            self._fail(Trouble.PROTOCOL_ERROR, f"does not speak as Redis does: {error}")

    def give_up(self) -> None:
        what = "did not accept a connection" if self._connecting else "did not answer"
        self._fail(Trouble.TIMEOUT, f"{what} within {self.limit - self._since:.1f} s")

    # -- step by step -------------------------------------------------------------------------------------------------

    def _connect(self) -> None:
        self._since = time.monotonic()
        self._reopens = False
        if self.target.address is None:
            return self._fail(Trouble.NO_ADDRESS, "has no address yet")
        try:
            address = str(ip_address(self.target.address))
            self.connection = Connection(self.target, self._password)
            code = self.connection.socket.connect_ex((address, self.target.port))
        except ValueError:
            return self._fail(Trouble.UNREACHABLE, "has no IP address, and names are not resolved")
        except OSError as error:
            return self._fail(*_os_trouble(error.errno))
        self._connecting = True
        return None if code in {0, errno.EINPROGRESS} else self._fail(*_os_trouble(code))

    def _connected(self, connection: Connection) -> None:
        if code := connection.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            raise OSError(code, os.strerror(code))
        self._connecting = False
        self._ask(connection)

    def _ask(self, connection: Connection) -> None:
        self._since = time.monotonic()
        commands = [*connection.greeting(), self.command]
        self._expected = len(commands)
        self._outgoing = b"".join(encode(*command) for command in commands)

    def _receive(self, connection: Connection) -> None:
        data = connection.socket.recv(_CHUNK)
        if not data:
            return self._ended(Trouble.CLOSED, "closed the connection")
        self._replies += connection.parser.feed(data)
        if len(self._replies) > self._expected:
            raise ProtocolError("more replies than commands")
        if self.over and not connection.greeted:
            connection.greeted = all(reply == b"OK" for reply in self._replies[:-1])
        return None

    def _ended(self, trouble: Trouble, what: str) -> None:
        """The connection is no more. An error that came before its end says why."""
        if self._reopens and not self._replies:
            self._close()
            return self._connect()
        self._fail(trouble, what)
        if error := self._first_error():
            self.refusal = self._refused(error)
        return None

    def _fail(self, trouble: Trouble, what: str) -> None:
        self._close()
        self.refusal = self.refuse(trouble, what)

    def _close(self) -> None:
        if self.connection:
            self.connection.socket.close()
            self.connection = None

    # -- in words -----------------------------------------------------------------------------------------------------

    def verdict(self) -> Refusal | None:
        """Return why the command was not carried out; None when it was."""
        if self.refusal or not isinstance(self.answer, ErrorReply):
            return self.refusal
        if self.answer.code == "NOAUTH":  # the reply to AUTH, before it, says why
            return self._refused(self._first_error() or self.answer)
        return self._refused(self.answer)

    def _refused(self, error: ErrorReply) -> Refusal:
        """Return the refusal that `error`, a reply, is."""
        trouble = _TROUBLE_OF_CODE.get(error.code, Trouble.ERROR_REPLY)
        wrong = trouble is Trouble.WRONG_PASSWORD
        what = "does not take the password of the Secret" if wrong else f"refused {name(self.command)}"
        return self.refuse(trouble, f"{what}: {self._quote(error)}")

    def refuse(self, trouble: Trouble, what: str) -> Refusal:
        """Return a refusal with a sentence that begins with the pod and its address."""
        address = self.target.address
        host = f"[{address}]" if address and ":" in address else address
        place = f"{self.target.pod} ({host}:{self.target.port})" if address else f"{self.target.pod}"
        return Refusal(trouble, f"{place} {what}")

    def _first_error(self) -> ErrorReply | None:
        return next((reply for reply in self._replies if isinstance(reply, ErrorReply)), None)

    def _quote(self, error: ErrorReply) -> str:
        if _SECRET_WORDS & {_text(word).upper() for word in self.command}:
            return error.code
        shown = _text(error.text.replace(self._password, b"***") if self._password else error.text)
        return shown if len(shown) <= _LONGEST_QUOTE else f"{shown[:_LONGEST_QUOTE]}…"


def converse(exchanges: Sequence[Exchange]) -> None:
    """Carry on all exchanges at once, until each is over."""
    for exchange in exchanges:
        exchange.begin()
    while waiting := [(each, each.connection) for each in exchanges if each.connection and not each.over]:
        poll = select.poll()  # needs no file descriptor, and the members of one Redis are few
        for exchange, connection in waiting:
            poll.register(connection.socket, exchange.waits_for)
        soonest = min(exchange.limit for exchange, _ in waiting) - time.monotonic()
        ready = {descriptor for descriptor, _ in poll.poll(max(0, math.ceil(soonest * 1000)))}
        for exchange, connection in waiting:
            if time.monotonic() >= exchange.limit:
                exchange.give_up()
            elif connection.socket.fileno() in ready:
                exchange.advance(connection)


def name(command: Command) -> str:
    """Return what `command` is called, without what it carries."""
    words = [_text(word).upper() for word in command[:2]]
    return " ".join(words[: 2 if words[0] in _WITH_SUBCOMMANDS else 1])


def _os_trouble(code: int | None) -> tuple[Trouble, str]:
    trouble = _TROUBLE_OF_ERRNO.get(code or 0, Trouble.UNREACHABLE)
    return trouble, f"cannot be asked: {os.strerror(code or 0)}"


def _text(word: bytes | str | int) -> str:
    """Return `word` fit for a terminal and a log: one line, nothing that steers."""
    text = word.decode(errors="backslashreplace") if isinstance(word, bytes) else str(word)
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
