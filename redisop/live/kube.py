"""The API server as the loop sees it: manifests in, manifests or a `Failure` out.

Raw JSON both ways: the typed models of the `kubernetes` package take 5 to 36 times as long. Each method is one request
(a list: one a page), sent again only where that cannot do anything twice. This module must not know what a `Redis` is.
"""

from __future__ import annotations

import contextlib
import copy
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeVar

import msgspec
from urllib3.exceptions import HTTPError

from redisop import names
from redisop.failures import (
    AlreadyExists,
    Expired,
    Failure,
    NotFound,
    OutOfTime,
    Unauthorized,
    Unavailable,
    Unreachable,
    Untrusted,
)
from redisop.live import answers
from redisop.live.kubeconfig import access
from redisop.live.request import APPLY, JSON, MERGE, Request, Verb
from redisop.live.retry import TRIES, Clock, Patience
from redisop.live.session import Answer, Login, Session, unanswered
from redisop.manifest import Key, Manifest, key

if TYPE_CHECKING:
    from urllib3.response import BaseHTTPResponse

PAGE: Final = 500
EVENT: Final = names.EVENT
KINDS: Final = {kind.kind: kind for kind in (*names.KINDS, names.POD, names.CLAIM, names.REDIS, names.LEASE, EVENT)}
PIECE: Final = 1 << 16
CREATED: Final = 201
_STRICT: Final = {"fieldValidation": "Strict"}
_OWN: Final = _STRICT | {"fieldManager": names.FIELD_MANAGER}
_OWN_STATUS: Final = _STRICT | {"fieldManager": names.STATUS_MANAGER, "force": "true"}

T = TypeVar("T")
# Labels, or a query as kubectl's `-l` takes it; None: everything.
Selector = Mapping[str, str] | str | None
Propagation = Literal["Orphan", "Background", "Foreground"]


@dataclass(frozen=True, slots=True)
class Applied:
    """The object as it is stored now (or would be, in a dry run), and whether it was (would be) created."""

    manifest: Manifest = field(repr=False)
    created: bool


class Listing(list[Manifest]):
    """All objects that were asked for, and the moment of which that is true: where a watch goes on from."""

    resource_version: str = ""


class WatchEvent(NamedTuple):
    """What happened to an object; a BOOKMARK's manifest has nothing but a resourceVersion to go on from."""

    type: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]
    manifest: Manifest


def connect(kubeconfig: str | None, context: str | None, request_timeout: float) -> Kube:
    """Return a client for what the arguments or the surroundings name; no request is made yet.

    `request_timeout` is in seconds, for each wait on the network. Raises NotConfigured.
    """
    return Kube(Session(partial(access, kubeconfig, context), request_timeout))


class Kube:
    """Every method may raise any `Failure` except where it says otherwise; threads may share a client."""

    def __init__(self, session: Session, page: int = PAGE, clock: Clock = time) -> None:
        self._session = session
        self._page = page
        self._clock = clock
        self._deadline = math.inf

    def until(self, deadline: float) -> Kube:
        """Return the same client, which sends nothing and waits for nothing after `deadline` (monotonic seconds)."""
        limited = copy.copy(self)
        limited._deadline = deadline
        return limited

    @property
    def namespace(self) -> str:
        """The default namespace of the context."""
        return self._session.login.access.namespace

    @property
    def context(self) -> str:
        """The name of the context in the kubeconfig."""
        return self._session.login.access.context

    @property
    def requests(self) -> int:
        """How many requests were sent so far, each try counted."""
        return self._session.requests

    @property
    def answers(self) -> dict[tuple[str, str], int]:
        """How many answers came, by verb and status code."""
        return dict(self._session.answers)

    @property
    def host(self) -> str:
        """The API server, as host and port."""
        return self._session.login.host

    def get(self, which: Key) -> Manifest | None:
        """Return the object, None when there is none."""
        try:
            return _manifest(self._ask(Request("get", KINDS[which.kind], which)))
        except NotFound:
            return None

    def list(self, kind: names.Kind, namespace: str | None, selector: Selector = None) -> Listing:
        """Return all objects of a kind in a namespace (None: in all) that `selector` matches."""
        try:
            pages = list(self.pages(kind, namespace, selector))
        except Expired:
            # In one piece: who is too slow for the server's memory once may be so for ever.
            pages = list(self.pages(kind, namespace, selector, page=0))
        found = Listing(chain.from_iterable(pages))
        found.resource_version = pages[-1].resource_version
        return found

    def pages(
        self, kind: names.Kind, namespace: str | None, selector: Selector = None, page: int | None = None
    ) -> Iterator[Listing]:
        """Yield the same in pieces of `page` objects (0: in one), which are the whole only when no error is raised.

        Raises Expired when the server no longer remembers the moment that the first piece was true of.
        """
        position = {"limit": str(self._page if page is None else page)}
        while True:
            answer = self._ask(_collection("list", kind, namespace, selector, position)).content
            found = Listing({"apiVersion": kind.api_version, "kind": kind.kind} | one for one in answer["items"] or ())
            found.resource_version = answer["metadata"]["resourceVersion"]
            yield found
            position["continue"] = answer["metadata"].get("continue", "")
            if not position["continue"]:
                return

    def create(self, manifest: Manifest) -> Manifest:
        """Create an object and return it as stored; raise AlreadyExists also when only the reply was lost."""
        return _manifest(self._ask(_single("create", manifest, _OWN)))

    def apply(self, manifest: Manifest, force: bool, dry_run: bool = False) -> Applied:
        """Apply server-side; raise Conflict when others own what is to be set and `force` is off.

        `metadata.uid` and `metadata.resourceVersion` are preconditions: raises Stale where they do not hold. Only the
        uid keeps an object that is gone from being made anew.
        """
        query = _OWN | ({"force": "true"} if force else {}) | ({"dryRun": "All"} if dry_run else {})
        answer = self._ask(_single("patch", manifest, query, APPLY))
        return Applied(_manifest(answer), answer.code == CREATED)

    def apply_status(self, manifest: Manifest) -> Manifest:
        """Apply the status (the manifest has nothing else) and return the object; raise NotFound when it is gone."""
        return _manifest(self._ask(_single("patch", manifest, _OWN_STATUS, APPLY, "status")))

    def patch(self, which: Key, changes: Manifest) -> Manifest:
        """Merge `changes` into an object that exists, and return it; raise NotFound when it is gone.

        `metadata.resourceVersion` in `changes` makes it a precondition: raises Stale when the object has another one,
        which after a lost reply may be due to this very patch.
        """
        request = Request("patch", KINDS[which.kind], which, query=_OWN, content_type=MERGE, manifest=changes)
        return _manifest(self._ask(request))

    def delete(
        self, which: Key, uid: str, resource_version: str | None = None, propagation: Propagation | None = None
    ) -> None:
        """Delete the object with this uid and, if given, still in this version; one that is gone is deleted.

        Raises Stale when the name belongs to another object, or the object has changed.
        """
        preconditions = {"uid": uid} | ({"resourceVersion": resource_version} if resource_version else {})
        options: Manifest = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions}
        if propagation:
            options["propagationPolicy"] = propagation
        try:
            self._ask(Request("delete", KINDS[which.kind], which, manifest=options))
        except NotFound:
            return

    def watch(
        self,
        kind: names.Kind,
        namespace: str | None,
        selector: Selector,
        resource_version: str,
        seconds: int,
    ) -> Watch:
        """Return what happens after `resource_version`, bookmarks included, until the server ends it after `seconds`.

        It is asked for with the first event. Go on from the last resourceVersion seen. Raises Expired when the server
        no longer remembers it (list again), and Unreachable when the connection breaks or when the server does not end
        a silent watch in time.
        """
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(seconds),
        }
        request = _collection("watch", kind, namespace, selector, query)
        return Watch(
            request,
            partial(self._insist, request, lambda login, left: self._session.stream(login, request, left, seconds)),
            lambda error: unanswered(self._session.login, request, error),
        )

    def event(self, manifest: Manifest) -> None:
        """Create an Event of events.k8s.io/v1, in one try. Raises nothing: no work depends on it."""
        try:
            self._ask(_single("create", manifest, _OWN), tries=1)
        except Failure:
            return

    def _ask(self, request: Request, tries: int = TRIES) -> Answer:
        return self._insist(request, lambda login, left: self._session.exchange(login, request, left), tries)

    def _insist(self, request: Request, send: Callable[[Login, float], T], tries: int = TRIES) -> T:
        """Return what `send` does once it succeeds; raise its last `Failure` when there is no use in trying on."""
        patience = Patience(self._clock, self._deadline, tries)
        renewed = False
        while True:
            if patience.left() <= 0:
                raise OutOfTime(request.key, "no time is left for this; give more with --timeout")
            login = self._session.login
            try:
                return send(login, patience.left())
            except (Unauthorized, Untrusted):
                if renewed:
                    raise
                self._session.renew(login)
                renewed = True
            except Unavailable as failure:
                if not patience.wait(failure.retry_after):
                    raise
            except Unreachable:
                if not patience.wait():
                    raise
            except AlreadyExists:  # to an apply: somebody created it in between, and now there is something to patch
                if request.verb != "patch" or not patience.wait():
                    raise


class Watch(Iterator[WatchEvent]):
    """The events of one watch, for the thread that iterates; any thread may end it."""

    def __init__(
        self, request: Request, begin: Callable[[], BaseHTTPResponse], failed: Callable[[Exception], Failure]
    ) -> None:
        self._progress = _Progress()
        # It knows nothing of this object: who drops a watch closes its connection at once.
        self._events = _events(self._progress, request, begin, failed)

    def __next__(self) -> WatchEvent:
        return next(self._events)

    def end(self) -> None:
        """Let no more events come, and whoever waits for one go."""
        self._progress.ended = True
        if self._progress.response:
            with contextlib.suppress(OSError, RuntimeError, ValueError):  # it ended by itself
                self._progress.response.shutdown()


@dataclass
class _Progress:
    """How far a watch is: the response once there is one, and whether it was ended by hand."""

    response: BaseHTTPResponse | None = None
    ended: bool = False


def _events(
    progress: _Progress,
    request: Request,
    begin: Callable[[], BaseHTTPResponse],
    failed: Callable[[Exception], Failure],
) -> Iterator[WatchEvent]:
    if progress.ended:
        return
    response = progress.response = begin()
    try:
        for line in lines(iter(partial(response.read1, PIECE), b"") if not progress.ended else ()):
            event = msgspec.json.decode(line)
            if event["type"] == "ERROR":
                raise answers.meaning(request, msgspec.convert(event["object"], answers.Status))
            yield WatchEvent(event["type"], event["object"])
    except (HTTPError, msgspec.DecodeError) as error:
        if not progress.ended:
            raise failed(error) from error
    finally:
        response.close()


def lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines that `pieces` make when put together; what follows the last line break is not a whole line.

    Raises msgspec.DecodeError when there is such a rest.
    """
    begun: list[bytes] = []
    for piece in pieces:
        *ends, rest = piece.split(b"\n")
        for end in ends:
            yield b"".join((*begun, end))
            begun.clear()
        begun.append(rest)
    if any(begun):
        raise msgspec.DecodeError("the last line is not whole")


def _single(
    verb: Verb, manifest: Manifest, query: Mapping[str, str], content_type: str = JSON, subresource: str = ""
) -> Request:
    """Return the request that sends `manifest`, in the version that it is written in."""
    kind = KINDS[manifest["kind"]]._replace(api_version=manifest["apiVersion"])
    return Request(verb, kind, key(manifest), subresource, query, content_type, manifest)


def _collection(
    verb: Verb,
    kind: names.Kind,
    namespace: str | None,
    selector: Selector,
    query: Mapping[str, str],
) -> Request:
    pairs = {} if selector is None or isinstance(selector, str) else selector
    labels = selector if isinstance(selector, str) else ",".join(f"{label}={value}" for label, value in pairs.items())
    return Request(verb, kind, Key(kind.kind, namespace, ""), query={**query, "labelSelector": labels})


def _manifest(answer: Answer) -> Manifest:
    manifest: Manifest = answer.content
    return manifest
