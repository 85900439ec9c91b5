"""HTTP to the API server with the credentials of the moment: one exchange at a time, counted, never without a timeout.

The pool, its TLS and its proxies are those that the `kubernetes` package builds from a configuration. The package
notices by itself only those credentials that say when they expire; for all others (a token file that was rewritten, a
certificate or an authority that was replaced) a session is renewed when the server or TLS refuses them.
"""

from __future__ import annotations

import ssl
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import msgspec
import urllib3
from urllib3.exceptions import (
    HTTPError,
    InsecureRequestWarning,
    NameResolutionError,
    NewConnectionError,
    ProxyError,
    SSLError,
    TimeoutError,  # noqa: A004
)

from redisop import __version__
from redisop.failures import Failure, NotConfigured, Unreachable, Untrusted
from redisop.live.answers import failure
from redisop.live.kubeconfig import Access
from redisop.live.request import Request

if TYPE_CHECKING:
    from urllib3.response import BaseHTTPResponse

CONNECT_TIMEOUT: Final = 10.0
# Kept open at most: a watch for each kind, and some for those who write. More are made, and closed after one request.
CONNECTIONS: Final = 32
# client-go's word for a request to which nothing came back.
NO_ANSWER: Final = "<error>"
USER_AGENT: Final = f"redisop/{__version__}"


@dataclass(frozen=True, slots=True)
class Answer:
    """The HTTP status code of a success, and the object that came with it."""

    code: int
    content: Any = field(repr=False)  # it may be a Secret


class Login:
    """One set of credentials, and the connections that were made with it."""

    def __init__(self, access: Access) -> None:
        from kubernetes.client.rest import RESTClientObject

        self.access = access
        self._configuration = access.configuration
        self._configuration.keep_alive = True
        self._configuration.connection_pool_maxsize = CONNECTIONS
        if not self._configuration.verify_ssl:  # which the kubeconfig says in so many words
            urllib3.disable_warnings(InsecureRequestWarning)
        self.pool: urllib3.PoolManager = RESTClientObject(self._configuration).pool_manager

    def url(self, target: str) -> str:
        """Return the address of `target`; the API may lie below a path of the server."""
        return self._configuration.host + target

    @property
    def host(self) -> str:
        """Where the API server is, as host and port."""
        return str(urllib3.util.parse_url(self._configuration.host).netloc)

    def __str__(self) -> str:
        server = urllib3.util.parse_url(self._configuration.host)._replace(auth=None).url
        return f"the API server {server} of the context {self.access.context}"

    def authorization(self) -> dict[str, str]:
        """Return the header that says who asks, empty for client certificates; raise NotConfigured."""
        from kubernetes.config import ConfigException

        try:
            token = self._configuration.get_api_key_with_prefix("BearerToken")
        except (ConfigException, OSError) as error:
            text = f"the credentials of the context {self.access.context} cannot be renewed: {error}"
            raise NotConfigured(None, text) from None
        return {"Authorization": token.strip()} if token else {}


class Session:
    """Exchanges of any number of threads with one API server.

    `request_timeout` is in seconds, for each wait; `requests` counts what was sent, every try of it, and `answers` what
    came back, by verb and status code, or NO_ANSWER.
    """

    def __init__(self, log_in: Callable[[], Access], request_timeout: float) -> None:
        self._log_in = log_in
        self._request_timeout = request_timeout
        self._lock = threading.Lock()
        self.requests = 0
        self.answers: Counter[tuple[str, str]] = Counter()
        self.login = Login(log_in())

    def renew(self, refused: Login) -> None:
        """Read the credentials anew, unless another thread has done so since `refused` was used."""
        with self._lock:
            if self.login is refused:
                self.login = Login(self._log_in())

    def exchange(self, login: Login, request: Request, left: float) -> Answer:
        """Send `request`, with no wait longer than `left` seconds; raise what the answer, or its absence, means."""
        try:
            response = self._send(login, request, left)
            return Answer(response.status, msgspec.json.decode(response.data))
        except (HTTPError, msgspec.DecodeError) as error:
            raise unanswered(login, request, error) from error

    def stream(self, login: Login, request: Request, left: float, seconds: float) -> BaseHTTPResponse:
        """Do the same, but leave the body, which the server ends after `seconds`, to the caller to read and close."""
        try:
            return self._send(login, request, left, seconds)
        except (HTTPError, msgspec.DecodeError) as error:
            raise unanswered(login, request, error) from error

    def _send(self, login: Login, request: Request, left: float, seconds: float | None = None) -> BaseHTTPResponse:
        with self._lock:
            self.requests += 1
        wait = min(self._request_timeout, left)
        headers = {"Accept": "application/json", "User-Agent": USER_AGENT, **login.authorization()}
        try:
            response = login.pool.urlopen(
                request.method,
                login.url(request.target),
                body=msgspec.json.encode(request.manifest) if request.manifest else None,
                headers=headers | ({"Content-Type": request.content_type} if request.manifest else {}),
                timeout=urllib3.Timeout(connect=min(CONNECT_TIMEOUT, wait), read=wait + (seconds or 0.0)),
                preload_content=seconds is None,
                retries=False,  # nor redirects
            )
        except HTTPError:
            self._count(request.verb, NO_ANSWER)
            raise
        self._count(request.verb, str(response.status))
        if response.status >= 300:
            raise failure(request, response.status, response.headers, response.data)
        return response

    def _count(self, verb: str, code: str) -> None:
        with self._lock:
            self.answers[verb, code] += 1


def unanswered(login: Login, request: Request, error: Exception) -> Failure:
    """Return what it means that no whole answer came because of `error`."""
    said = next((text for kind, text in _SILENCES if isinstance(error, kind)), "broke the connection")
    reason: BaseException | None = error
    while reason and not (isinstance(reason, OSError) and reason.strerror):
        reason = reason.__cause__ or reason.__context__
    why = f" ({reason.strerror})" if isinstance(reason, OSError) else ""
    if isinstance(error, SSLError) and not isinstance(reason, ssl.SSLEOFError):
        return Untrusted(request.key, f"{login} {said}{why}; check the certificates in the kubeconfig")
    return Unreachable(request.key, f"{login} {said}{why}; check that it runs and that this context means it")


_SILENCES: Final = (
    (SSLError, "cannot be trusted or does not trust this client"),
    (NameResolutionError, "has a name that cannot be resolved"),
    (NewConnectionError, "takes no connection"),
    (ProxyError, "cannot be reached through the proxy"),
    (TimeoutError, "does not answer in time"),
    (msgspec.DecodeError, "gives an answer that is not whole JSON"),
)
