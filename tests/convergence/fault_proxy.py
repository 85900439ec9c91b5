"""A proxy before an API server that records every request and does to chosen ones what networks and servers do.

A fault is a function of the `Exchange`, so that a test can also do something of its own, such as kill a process, before
or after a request has reached the API server::

    with FaultProxy(server.url, server.credentials.authority) as proxy:
        proxy.inject(drop_reply, when=is_write, at=3)
        proxy.inject(answer(429, retry_after=1), when=lambda seen: seen.path.endswith("/status"), times=2)
        ... proxy.kubeconfig(folder, "admin-token") ...
        assert [seen.method for seen in proxy.seen] == ["GET", "PATCH"]
"""

import base64
import contextlib
import json
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import trustme
import urllib3

PIECE = 1 << 16
HOP_BY_HOP = {"connection", "content-length", "host", "keep-alive", "transfer-encoding"}

Pieces = Iterator[bytes]
Fault = Callable[["Exchange"], None]
Predicate = Callable[["Seen"], bool]


@dataclass(frozen=True)
class Seen:
    """One request as the client sent it."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def path(self) -> str:
        """The path without the query."""
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        """The query's parameters."""
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))

    def __str__(self) -> str:
        return f"{self.method} {self.target}"


def anything(_: Seen) -> bool:
    """Match every request."""
    return True


def is_write(seen: Seen) -> bool:
    """Match what changes something in the cluster."""
    return seen.method != "GET" and "dryRun" not in seen.query


def reset(exchange: "Exchange") -> None:
    """Break the connection before the API server has seen the request."""
    exchange.reset()


def drop_reply(exchange: "Exchange") -> None:
    """Let the API server do what was asked, and break the connection instead of telling."""
    exchange.commit().close()
    exchange.reset()


def hold(exchange: "Exchange") -> None:
    """Let the API server do what was asked, and stay silent until the proxy is closed."""
    exchange.commit().close()
    exchange.proxy.closed.wait()
    exchange.reset()


def delay(seconds: float) -> Fault:
    """Return the fault of a slow API server."""

    def fault(exchange: Exchange) -> None:
        time.sleep(seconds)
        exchange.pass_on()

    return fault


def answer(status: int, body: object = "", retry_after: int | None = None) -> Fault:
    """Return the fault of a server that answers for the API server: with JSON, or with text if `body` is a string."""

    def fault(exchange: Exchange) -> None:
        text = body if isinstance(body, str) else json.dumps(body)
        headers = {"Content-Type": "text/plain" if isinstance(body, str) else "application/json"}
        if retry_after is not None:
            headers["Retry-After"] = str(retry_after)
        exchange.answer(status, headers, text.encode())

    return fault


def cut(after: int, cleanly: bool = False) -> Fault:
    """Return the fault that ends a reply's body after so many bytes: by a reset, or as if that were the whole."""

    def pieces_until(pieces: Pieces) -> Pieces:
        left = after
        for piece in pieces:
            yield piece[:left]
            left -= len(piece)
            if left <= 0:
                break
        if not cleanly:
            raise ConnectionResetError

    return lambda exchange: exchange.pass_on(pieces_until)


def stall(after: int) -> Fault:
    """Return the fault that sends so many bytes of a reply's body, and then nothing until the proxy is closed."""

    def fault(exchange: Exchange) -> None:
        def pieces_until(pieces: Pieces) -> Pieces:
            left = after
            while left > 0 and (piece := next(pieces, b"")):
                yield piece[:left]
                left -= len(piece)
            exchange.proxy.closed.wait()

        exchange.pass_on(pieces_until)

    return fault


def in_pieces_of(size: int) -> Fault:
    """Return the fault that sends a reply's body in pieces of so many bytes."""

    def smaller(pieces: Pieces) -> Pieces:
        for piece in pieces:
            yield from (piece[start : start + size] for start in range(0, len(piece), size))

    return lambda exchange: exchange.pass_on(smaller)


@dataclass
class _Rule:
    fault: Fault
    when: Predicate
    skip: int
    times: int


class FaultProxy:
    """Listens on loopback at `url`, forwards to `upstream` trusting `authority`; `seen` are the requests so far.

    With `tls_for` it speaks TLS, with a certificate of `tls` for that host name.
    """

    def __init__(
        self, upstream: str, authority: Path, tls: trustme.CA | None = None, tls_for: str = "127.0.0.1"
    ) -> None:
        parts = urlsplit(upstream)
        self.upstream = urllib3.HTTPSConnectionPool(
            str(parts.hostname), parts.port, ca_certs=str(authority), maxsize=16, retries=False
        )
        self.seen: list[Seen] = []
        self.closed = threading.Event()
        self._tls = tls
        self._context: ssl.SSLContext | None = None
        if tls:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.issue_cert(tls_for).configure_cert(self._context)
        self._rules: list[_Rule] = []
        self._lock = threading.Lock()
        self._server = _Server(0, self, self._context)
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "FaultProxy":
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closed.set()
        self._server.stop()
        self.upstream.close()

    def inject(self, fault: Fault, when: Predicate = anything, at: int = 1, times: int = 1) -> None:
        """Do `fault` to the `at`-th request from now on that matches `when`, and to `times` of them in all."""
        with self._lock:
            self._rules.append(_Rule(fault, when, at - 1, times))

    def heal(self) -> None:
        """Forget all faults."""
        with self._lock:
            self._rules.clear()

    @contextlib.contextmanager
    def down(self) -> Iterator[None]:
        """Break all connections and refuse new ones meanwhile."""
        port = self._server.server_port
        self._server.stop()
        yield
        self._server = _Server(port, self, self._context)
        self._server.start()

    def kubeconfig(self, folder: Path, token: str = "", **user: str) -> Path:
        """Write a kubeconfig that leads here, with a bearer token or other fields of a user; return its path."""
        cluster = {"server": self.url}
        if self._tls:
            cluster["certificate-authority-data"] = base64.b64encode(self._tls.cert_pem.bytes()).decode()
        path = folder / "proxy.kubeconfig"
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "proxy",
            "clusters": [{"name": "proxy", "cluster": cluster}],
            "users": [{"name": "proxy", "user": ({"token": token} if token else {}) | user}],
            "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "proxy", "namespace": "default"}}],
        }
        path.write_text(json.dumps(content))
        return path

    def fault_for(self, seen: Seen) -> Fault:
        """Record a request and return what is to be done with it; each request counts for all rules that match."""
        with self._lock:
            self.seen.append(seen)
            fault: Fault = Exchange.pass_on
            for rule in [rule for rule in self._rules if rule.when(seen)]:
                if rule.skip > 0:
                    rule.skip -= 1
                elif rule.times > 0:
                    rule.times -= 1
                    fault = rule.fault
            return fault


class Exchange(BaseHTTPRequestHandler):
    """One request and what is done about it. A fault calls one of `pass_on`, `answer` and `reset` last."""

    protocol_version = "HTTP/1.1"
    server: "_Server"
    seen: Seen

    @property
    def proxy(self) -> FaultProxy:
        """The proxy that took the request."""
        return self.server.proxy

    def commit(self) -> urllib3.BaseHTTPResponse:
        """Have the API server do what was asked; return its answer, whose body is there to be read."""
        headers = {name: value for name, value in self.seen.headers.items() if name.lower() not in HOP_BY_HOP}
        return self.proxy.upstream.urlopen(
            self.seen.method, self.seen.target, self.seen.body or None, headers, preload_content=False
        )

    def pass_on(self, change: Callable[[Pieces], Pieces] = iter) -> None:
        """Have the API server do what was asked and send its answer, the body as `change` makes it, as it comes."""
        reply = self.commit()
        try:
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                if name.lower() not in HOP_BY_HOP:
                    self.send_header(name, value)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for piece in change(iter(lambda: reply.read1(PIECE), b"")):
                if piece:
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\n\r\n")
        except (OSError, urllib3.exceptions.HTTPError):  # the client left, the server did, or a fault cuts
            self.reset()
        finally:
            reply.close()

    def answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        """Answer without the API server."""
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def reset(self) -> None:
        """Break the connection."""
        with contextlib.suppress(OSError):
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True

    def handle_one_request(self) -> None:
        """Read one request and do with it what the proxy says."""
        try:
            super().handle_one_request()
        except OSError:
            self.reset()

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.seen = Seen(self.command, self.path, dict(self.headers.items()), body)
        self.proxy.fault_for(self.seen)(self)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve

    def log_message(self, *_: object) -> None:
        """Say nothing: `seen` has it all."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, port: int, proxy: FaultProxy, tls: ssl.SSLContext | None) -> None:
        super().__init__(("127.0.0.1", port), Exchange)
        if tls:  # the handshake happens in the thread of the connection: a client that fails it holds up nobody
            self.socket = tls.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.proxy = proxy
        self._open: set[socket.socket] = set()

    def start(self) -> None:
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def stop(self) -> None:
        self.shutdown()
        self.server_close()
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def process_request(self, request: socket.socket, client_address: object) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: socket.socket) -> None:
        self._open.discard(request)
        request.close()  # without the usual shutdown, which would say goodbye properly before a reset

    def handle_error(self, *_: object) -> None:
        """Say nothing of clients that leave in the middle."""
