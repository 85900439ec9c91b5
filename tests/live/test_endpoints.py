"""The endpoints as the kubelet, Prometheus and strangers meet them."""

import contextlib
import http.client
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator

import pytest

from redisop.failures import Failure
from redisop.live.endpoints import LONGEST_HEAD, MOST_CONNECTIONS, Endpoints, listen

METRICS = b"# HELP a b\n# TYPE a gauge\na 1\n" + b"# filler\n" * 100_000


class Subject:
    """Endpoints whose readiness a test decides."""

    def __init__(self, address: str = "127.0.0.1:0") -> None:
        self.reasons: list[str] = []
        self.asked: list[str] = []
        self.endpoints = Endpoints(address, {"/healthz": list, "/readyz": lambda: self.reasons}, self._exposition)
        self.endpoints.start()

    def _exposition(self, accept: str) -> tuple[bytes, str]:
        self.asked.append(accept)
        return METRICS, "text/plain; version=0.0.4"

    def ask(
        self, path: str, method: str = "GET", host: str = "127.0.0.1", **headers: str
    ) -> tuple[int, bytes, dict[str, str]]:
        connection = http.client.HTTPConnection(host, self.endpoints.port, timeout=10)
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, body, {name.lower(): value for name, value in answer.getheaders()}

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.endpoints.port), timeout=10)

    def say(self, text: bytes) -> bytes:
        """Send `text` and return all that comes back."""
        with self.connect() as client:
            client.sendall(text)
            return b"".join(iter(lambda: client.recv(1 << 16), b""))


@pytest.fixture
def subject() -> Iterator[Subject]:
    subject = Subject()
    yield subject
    subject.endpoints.close()


def test_health_is_answered_and_readiness_with_the_reasons_against_it(subject: Subject) -> None:
    assert subject.ask("/healthz")[:2] == (200, b"ok\n")
    assert subject.ask("/readyz")[:2] == (200, b"ok\n")
    subject.reasons = ["Redis objects are not listed yet", "é: no right to list pods"]
    status, body, headers = subject.ask("/readyz")
    assert (status, body.decode()) == (503, "Redis objects are not listed yet\né: no right to list pods\n")
    assert headers["content-type"] == "text/plain; charset=utf-8"
    assert subject.ask("/healthz")[0] == 200


def test_metrics_are_given_in_the_form_that_is_asked_for(subject: Subject) -> None:
    status, body, headers = subject.ask("/metrics", Accept="application/openmetrics-text")
    assert (status, body, headers["content-type"]) == (200, METRICS, "text/plain; version=0.0.4")
    assert subject.ask("/metrics?name=a")[0] == 200
    assert subject.asked == ["application/openmetrics-text", ""]


def test_head_is_answered_without_a_body(subject: Subject) -> None:
    status, body, headers = subject.ask("/metrics", "HEAD")
    assert (status, body, headers["content-length"]) == (200, b"", str(len(METRICS)))
    assert subject.say(b"HEAD /metrics HTTP/1.1\r\n\r\n").endswith(b"\r\n\r\n")


def test_nothing_else_is_there_and_nothing_else_can_be_done(subject: Subject) -> None:
    for path in ("/", "/metrics/", "/../etc/passwd", "/healthz/..", "/%2e%2e/", "//healthz"):
        assert subject.ask(path)[:2] == (404, b"Not Found\n"), path
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE"):
        status, _, headers = subject.ask("/healthz", method)
        assert (status, headers["allow"]) == (405, "GET, HEAD"), method


def test_nobody_is_told_what_serves(subject: Subject) -> None:
    for path in ("/healthz", "/absent"):
        _, body, headers = subject.ask(path)
        assert set(headers) == {"content-type", "content-length", "connection", "x-content-type-options"}
        assert b"ython" not in body


@pytest.mark.parametrize(
    "text",
    [
        b"hello\r\n\r\n",
        b"GET /healthz\r\n\r\n",
        b"GET http://other/healthz HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /" + b"\xff" * 10 + b" HTTP/9\r\n\r\n",
    ],
)
def test_what_is_no_request_is_answered_as_such(subject: Subject, text: bytes) -> None:
    assert subject.say(text).startswith(b"HTTP/1.1 400 Bad Request\r\n")


def test_a_head_without_end_is_not_read_to_its_end(subject: Subject) -> None:
    endless = b"GET /healthz HTTP/1.1\r\nX: " + b"x" * (4 * LONGEST_HEAD)
    assert subject.say(endless).startswith(b"HTTP/1.1 431 ")


def test_clients_that_say_nothing_keep_nobody_waiting_and_are_sent_away(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("redisop.live.endpoints.PATIENCE", 0.5)
    silent = [subject.connect() for _ in range(MOST_CONNECTIONS * 2)]
    half = subject.connect()
    half.sendall(b"GET /healthz HTT")
    before = threading.active_count()
    assert subject.ask("/healthz")[0] == 200
    assert threading.active_count() == before
    for client in (*silent, half):
        with contextlib.suppress(ConnectionResetError):
            assert client.recv(1) == b"", "closed, without an answer"
        client.close()


def test_a_client_that_does_not_read_keeps_nobody_waiting(subject: Subject) -> None:
    deaf = subject.connect()
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    deaf.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
    assert subject.ask("/metrics")[1] == METRICS
    deaf.close()


def test_a_check_that_fails_by_a_fault_is_answered_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    endpoints = Endpoints("127.0.0.1:0", {"/readyz": lambda: [str(1 // 0)]}, lambda accept: (b"", ""))
    endpoints.start()
    connection = http.client.HTTPConnection("127.0.0.1", endpoints.port, timeout=10)
    connection.request("GET", "/readyz")
    assert connection.getresponse().status == 500
    connection.close()
    endpoints.close()
    assert "ZeroDivisionError" in caplog.text


def test_it_ends_at_once_though_clients_are_connected() -> None:
    subject = Subject()
    client = subject.connect()
    subject.ask("/healthz")
    begun = time.monotonic()
    subject.endpoints.close()
    assert not subject.endpoints._thread.is_alive()
    assert time.monotonic() - begun < 4, "less than it has patience with a client"
    client.close()


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6 here")
def test_an_ipv6_address_is_served_on() -> None:
    try:
        subject = Subject("[::1]:0")
    except Failure as failure:
        pytest.skip(str(failure))
    assert subject.ask("/healthz", host="::1")[0] == 200
    subject.endpoints.close()


def test_without_a_host_every_address_of_the_machine_is_served_on() -> None:
    subject = Subject(":0")
    assert subject.ask("/healthz", host="127.0.0.1")[0] == 200
    subject.endpoints.close()


def test_a_port_in_use_is_said_with_what_to_do() -> None:
    with listen("127.0.0.1:0") as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(Failure) as caught:
            listen(address)
    expected = f"{address} cannot be served on: Address already in use; stop what listens there, or give another"
    assert str(caught.value) == f"{expected} address with --metrics-address"


@pytest.mark.parametrize("address", ["8080", "localhost", "::1:8080", "[::1]", "a:b", "127.0.0.1:99999", ""])
def test_what_is_no_address_is_said_with_how_to_write_one(address: str) -> None:
    with pytest.raises(Failure, match=r"is no address to serve on: write it as :8080, 127\.0\.0\.1:8080 or"):
        listen(address)


@pytest.mark.parametrize("address", ["192.0.2.1:0", "no-such-host.invalid:0"])
def test_an_address_that_this_machine_does_not_have_is_a_failure(address: str) -> None:
    with pytest.raises(Failure, match=r"cannot be served on: "):
        listen(address)


@pytest.mark.skipif(not shutil.which("curl"), reason="no curl here")
def test_curl_understands_the_answers(subject: Subject) -> None:
    url = f"http://127.0.0.1:{subject.endpoints.port}"
    asked = ["curl", "-sS", "--noproxy", "*", "--max-time", "10", "-w", "%{http_code}"]
    assert subprocess.check_output([*asked, f"{url}/healthz"]) == b"ok\n200"
    assert subprocess.check_output([*asked, f"{url}/metrics"]) == METRICS + b"200"
    assert subprocess.check_output([*asked, "-o", "/dev/null", "-I", f"{url}/readyz"]) == b"200"
