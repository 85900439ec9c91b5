"""`/healthz`, `/readyz` and `/metrics` over HTTP, for the kubelet and for Prometheus.

One thread with an event loop serves everybody, so that a client that is slow or silent keeps nobody waiting; of too
many connections the oldest is closed. Each gets one answer. What is answered is computed by the functions that are
passed in, in that thread: none may wait for anything.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import re
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Final, NamedTuple

from redisop.failures import Failure

# In seconds, from the connection to the last byte of the answer.
PATIENCE: Final = 5.0
MOST_CONNECTIONS: Final = 64
LONGEST_HEAD: Final = 8192
_REQUEST: Final = re.compile(rb"(?P<method>[A-Z]+) (?P<path>/[^ ?]*)(\?[^ ]*)? HTTP/1\.[01]")
_ACCEPT: Final = re.compile(rb"^accept:[ \t]*(.*?)[ \t]*$", re.IGNORECASE | re.MULTILINE)
_ADDRESS: Final = re.compile(r"(?:\[(?P<v6>[0-9a-fA-F:.%]+)\]|(?P<host>[^:\[\]]*)):(?P<port>[0-9]{1,5})")
_TEXT: Final = "text/plain; charset=utf-8"

_log: Final = logging.getLogger("redisop.endpoints")

# Returns why it is not so, in sentences; nothing when all is well.
Check = Callable[[], Sequence[str]]
# Takes what the client accepts; returns the body and its type.
Exposition = Callable[[str], tuple[bytes, str]]


class _Answer(NamedTuple):
    status: HTTPStatus
    body: bytes
    content_type: str = _TEXT
    headers: tuple[str, ...] = ()


class Endpoints:
    """Serves from `start` to `close`, on an address such as `:8080`, `127.0.0.1:8080` or `[::1]:8080`.

    `checks` are answered by 200, or by 503 and the reasons: `{"/readyz": lambda: ["not synced"]}`. Raises Failure when
    the address cannot be listened on. Port 0 stands for any that is free.
    """

    def __init__(self, address: str, checks: Mapping[str, Check], exposition: Exposition) -> None:
        self._checks, self._exposition = checks, exposition
        self._socket = listen(address)
        self.port: int = self._socket.getsockname()[1]
        self._connections: dict[asyncio.Task[None], None] = {}
        self._stopping = asyncio.Event()
        self._loop: queue.SimpleQueue[asyncio.AbstractEventLoop] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="endpoints", daemon=True)

    def start(self) -> None:
        """Serve, in a thread of its own."""
        self._thread.start()

    def close(self) -> None:
        """End, whatever is under way."""
        self._loop.get().call_soon_threadsafe(self._stopping.set)
        self._thread.join(PATIENCE)

    def _run(self) -> None:
        with asyncio.Runner() as runner:
            self._loop.put(runner.get_loop())
            runner.run(self._serve())

    async def _serve(self) -> None:
        server = await asyncio.start_server(
            self._accept, sock=self._socket, limit=LONGEST_HEAD, backlog=MOST_CONNECTIONS
        )
        await self._stopping.wait()
        server.close()
        for task in list(self._connections):
            task.cancel()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None, "start_server makes a task of each connection"  # noqa: S101
        if len(self._connections) >= MOST_CONNECTIONS:
            next(iter(self._connections)).cancel()
        self._connections[task] = None
        try:
            async with asyncio.timeout(PATIENCE):
                writer.write(await self._answered(reader))
                await writer.drain()
                writer.write_eof()
                while await reader.read(LONGEST_HEAD):  # closed while the client still sends, it would lose the answer
                    pass
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            writer.transport.abort()
        finally:
            self._connections.pop(task, None)
            writer.close()

    async def _answered(self, reader: asyncio.StreamReader) -> bytes:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            return _as_bytes(_plain(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE), with_body=True)
        request, _, headers = head.partition(b"\r\n")
        found = _REQUEST.fullmatch(request)
        if found is None:
            return _as_bytes(_plain(HTTPStatus.BAD_REQUEST), with_body=True)
        if found["method"] not in {b"GET", b"HEAD"}:
            return _as_bytes(_plain(HTTPStatus.METHOD_NOT_ALLOWED)._replace(headers=("Allow: GET, HEAD",)), True)
        try:
            answer = self._answer(found["path"].decode("latin-1"), _accepted(headers))
        except Exception:
            _log.exception("a request could not be answered")
            answer = _plain(HTTPStatus.INTERNAL_SERVER_ERROR)
        return _as_bytes(answer, with_body=found["method"] == b"GET")

    def _answer(self, path: str, accept: str) -> _Answer:
        if path == "/metrics":
            body, content_type = self._exposition(accept)
            return _Answer(HTTPStatus.OK, body, content_type)
        if path not in self._checks:
            return _plain(HTTPStatus.NOT_FOUND)
        reasons = self._checks[path]()
        if not reasons:
            return _Answer(HTTPStatus.OK, b"ok\n")
        return _Answer(HTTPStatus.SERVICE_UNAVAILABLE, "".join(f"{reason}\n" for reason in reasons).encode())


def listen(address: str) -> socket.socket:
    """Return a socket that listens on `address`; without a host on all of this machine. Raises Failure."""
    found = _ADDRESS.fullmatch(address)
    if found is None or int(found["port"]) > 65535:
        raise Failure(None, f"{address} is no address to serve on: write it as :8080, 127.0.0.1:8080 or [::1]:8080")
    host, port = found["v6"] or found["host"] or "", int(found["port"])
    try:
        if not host and socket.has_dualstack_ipv6():
            return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
        family, _, _, _, where = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return socket.create_server(where[:2], family=family)
    except OSError as error:
        why = str(error.strerror).partition(" (while")[0]  # the address again, as Python has it
        raise Failure(
            None,
            f"{address} cannot be served on: {why}; stop what listens there, or give another address with "
            "--metrics-address",
        ) from None


def _accepted(headers: bytes) -> str:
    return ",".join(value.decode("latin-1") for value in _ACCEPT.findall(headers.replace(b"\r\n", b"\n")))


def _plain(status: HTTPStatus) -> _Answer:
    return _Answer(status, f"{status.phrase}\n".encode())


def _as_bytes(answer: _Answer, with_body: bool) -> bytes:
    lines = (
        f"HTTP/1.1 {answer.status.value} {answer.status.phrase}",
        f"Content-Type: {answer.content_type}",
        f"Content-Length: {len(answer.body)}",
        "Connection: close",
        "X-Content-Type-Options: nosniff",
        *answer.headers,
    )
    head = "".join(f"{line}\r\n" for line in lines) + "\r\n"
    return head.encode("latin-1") + (answer.body if with_body else b"")
