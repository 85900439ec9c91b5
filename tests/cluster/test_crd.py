"""The CRD on a real API server: it refuses what `validate` refuses, with the same words, and fills in the same defaults."""

import http.client
import json
import ssl
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from redisop.api.crd import NAME, crd
from redisop.api.read import read
from tests.api.bad_documents import ALL, Bad, document
from tests.cluster.api_server import ApiServer

DRY = "?dryRun=All"


class Redises:
    """The `Redis` objects of the namespace `default`, over one connection: kubectl would need a process for each."""

    def __init__(self, server: ApiServer) -> None:
        address = urlsplit(server.url)
        context = ssl.create_default_context(cafile=server.credentials.authority)
        self._connection = http.client.HTTPSConnection(address.hostname or "", address.port, context=context)

    def create(self, content: Any, query: str = DRY) -> tuple[int, dict[str, Any]]:
        return self._ask("POST", query, content)

    def replace(self, content: Any, query: str = DRY) -> tuple[int, dict[str, Any]]:
        return self._ask("PUT", f"/{content['metadata']['name']}{query}", content)

    def delete(self, name: str) -> None:
        self._ask("DELETE", f"/{name}", None)

    def _ask(self, method: str, tail: str, content: Any) -> tuple[int, dict[str, Any]]:
        headers = {"Authorization": "Bearer admin-token", "Content-Type": "application/json"}
        path = f"/apis/example.com/v1/namespaces/default/redises{tail}"
        self._connection.request(method, path, json.dumps(content), headers)
        answer = self._connection.getresponse()
        return answer.status, json.loads(answer.read())


@pytest.fixture(scope="module")
def redises(api_server: ApiServer) -> Iterator[Redises]:
    api_server.kubectl.apply(crd())
    api_server.kubectl("wait", "--for=condition=Established", f"crd/{NAME}")
    redises = Redises(api_server)
    api_server.kubectl.wait_for("the kind to be served", lambda: redises.create(document())[0] == 201)
    yield redises
    api_server.kubectl("delete", "crd", NAME)


def refused(redises: Redises, bad: Bad) -> str | None:
    """Return what the API server says when it is given `bad`, or None when it takes it."""
    if bad.old is None:
        status, said = redises.create(bad.document)
    else:
        status, kept = redises.create(bad.old, query="")
        assert status == 201, kept
        version = kept["metadata"]["resourceVersion"]
        changed = {**bad.document, "metadata": {**bad.document["metadata"], "resourceVersion": version}}
        status, said = redises.replace(changed)
        redises.delete(kept["metadata"]["name"])
    return None if status < 300 else said["message"]


def only(seen_by: str) -> list[Bad]:
    return [bad for bad in ALL if bad.seen_by == seen_by]


@pytest.mark.parametrize("bad", only("cel"), ids=lambda bad: bad.id)
def test_the_api_server_refuses_with_the_words_of_validate(redises: Redises, bad: Bad):
    old = read(bad.old).redis if bad.old else None
    (violation,) = read(bad.document, old).violations
    assert violation.message in (refused(redises, bad) or "")


@pytest.mark.parametrize("bad", [*only("schema"), *only("server")], ids=lambda bad: bad.id)
def test_the_api_server_refuses_in_its_own_words(redises: Redises, bad: Bad):
    assert refused(redises, bad)


@pytest.mark.parametrize("bad", only("nobody"), ids=lambda bad: bad.id)
def test_what_only_python_sees_is_listed_as_such(redises: Redises, bad: Bad):
    assert refused(redises, bad) is None
