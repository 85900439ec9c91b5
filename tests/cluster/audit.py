"""The API server's audit log: who asked for what, and who wrote what."""

import json
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.kubectl import Kubectl

WRITING_VERBS = frozenset({"create", "update", "patch", "delete", "deletecollection"})


@dataclass(frozen=True)
class Request:
    """One request that the API server has answered; ``resource`` includes the subresource, as in ``pods/status``."""

    user: str
    user_agent: str
    verb: str
    resource: str
    namespace: str
    name: str
    code: int

    def __str__(self) -> str:
        return f"{self.user} ({self.user_agent}) {self.verb} {self.resource} {self.namespace}/{self.name}: {self.code}"


class AuditLog:
    """``since = audit.bookmark(); …; assert audit.writes(since, namespace=n) == []``."""

    def __init__(self, path: Path, kubectl: Kubectl) -> None:
        self._path = path
        self._kubectl = kubectl

    def bookmark(self) -> int:
        """Return a place in the log that lies after every request which was answered before this call."""
        # A line is written shortly after its answer was sent. One more request whose line is then waited for makes sure
        # that the lines of all earlier ones are there.
        mark = uuid.uuid4().hex
        start = self._path.stat().st_size
        self._kubectl("get", "--raw", f"/version?mark={mark}")
        end = time.monotonic() + 10
        while mark not in (text := self._read(start)):
            assert time.monotonic() < end, f"{self._path}: a request was not logged within 10 s"
            time.sleep(0.01)
        return start + len(text[: text.index("\n", text.index(mark)) + 1].encode())

    def requests(self, since: int = 0, user: str | None = None, namespace: str | None = None) -> list[Request]:
        """Return the requests answered between the bookmark ``since`` and now, but not this class's own."""
        until = self.bookmark()
        return [
            request
            for request in self._parsed(since, until)
            if user in (None, request.user) and namespace in (None, request.namespace)
        ]

    def writes(self, since: int = 0, user: str | None = None, namespace: str | None = None) -> list[Request]:
        """Return the requests that write, refused ones included."""
        return [request for request in self.requests(since, user, namespace) if request.verb in WRITING_VERBS]

    def _read(self, start: int, end: int | None = None) -> str:
        with self._path.open("rb") as log:
            log.seek(start)
            return log.read(-1 if end is None else end - start).decode()

    def _parsed(self, start: int, end: int) -> Iterator[Request]:
        for line in self._read(start, end).splitlines():
            event = json.loads(line)
            if "?mark=" in event["requestURI"]:
                continue
            target = event.get("objectRef", {})
            yield Request(
                user=event.get("impersonatedUser", event["user"]).get("username", ""),
                user_agent=event.get("userAgent", ""),
                verb=event["verb"],
                resource="/".join(filter(None, (target.get("resource"), target.get("subresource")))),
                namespace=target.get("namespace", ""),
                name=target.get("name", ""),
                code=event.get("responseStatus", {}).get("code", 0),
            )
