"""The CRD on a real API server: it refuses what `validate` refuses, with the same words, and fills in its defaults."""

import http.client
import json
import ssl
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redisop.api.crd import NAME, crd
from redisop.api.read import read
from redisop.api.scalars import Quantity
from tests.api.bad_documents import ALL, Bad, document
from tests.api.documents import specs
from tests.cluster.api_server import ApiServer
from tests.cluster.kubectl import Kubectl

REDISES = "/apis/example.com/v1/namespaces/default/redises"
DRY_RUN = "?dryRun=All"
STRICT = "?dryRun=All&fieldValidation=Strict"


class Redises:
    """Objects of the namespace `default`, over one connection: kubectl would need a process for each."""

    def __init__(self, server: ApiServer) -> None:
        address = urlsplit(server.url)
        context = ssl.create_default_context(cafile=server.credentials.authority)
        self._connection = http.client.HTTPSConnection(address.hostname or "", address.port, context=context)

    def create(self, content: Any, query: str = DRY_RUN) -> tuple[int, dict[str, Any]]:
        return self._ask("POST", query, content)

    def replace(self, content: Any, query: str = DRY_RUN) -> tuple[int, dict[str, Any]]:
        return self._ask("PUT", f"/{content['metadata']['name']}{query}", content)

    def close(self) -> None:
        self._connection.close()

    def delete(self, name: str) -> None:
        self._ask("DELETE", f"/{name}", None)

    def stored_size(self, quantity: str) -> str | None:
        """Return how the API server spells `quantity` when it is the size of a claim, or None when it refuses it."""
        claim = {
            "metadata": {"name": "claim"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": quantity}}},
        }
        status, said = self._ask("POST", DRY_RUN, claim, "/api/v1/namespaces/default/persistentvolumeclaims")
        return said["spec"]["resources"]["requests"]["storage"] if status == 201 else None

    def _ask(self, method: str, tail: str, content: Any, base: str = REDISES) -> tuple[int, dict[str, Any]]:
        headers = {"Authorization": "Bearer admin-token", "Content-Type": "application/json"}
        self._connection.request(method, f"{base}{tail}", json.dumps(content), headers)
        answer = self._connection.getresponse()
        body = answer.read()
        is_json = answer.headers.get_content_type() == "application/json"
        return answer.status, json.loads(body) if is_json else {"message": body.decode()}


@pytest.fixture(scope="module")
def redises(api_server: ApiServer) -> Iterator[Redises]:
    api_server.kubectl.apply(crd())
    redises = Redises(api_server)
    api_server.kubectl.wait_for("the kind to be served", lambda: redises.create(document())[0] == 201)
    yield redises
    redises.close()
    api_server.kubectl("delete", "crd", NAME)


@pytest.fixture
def my_redis(redises: Redises, api_server: ApiServer) -> Iterator[Kubectl]:
    """A `Redis` called my-redis, and kubectl to look at it."""
    status, said = redises.create(document({"replicas": 2, "memory": 536870912, "version": "7.0"}), query="")
    assert status == 201, said
    yield api_server.kubectl
    redises.delete("my-redis")


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


# Bounded, and the same documents each time; with other seeds 20,000 documents were judged alike.
SAMPLE = settings(
    max_examples=400,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@SAMPLE
@given(spec=specs())
def test_python_and_the_api_server_accept_the_same_documents_and_understand_the_same(redises: Redises, spec: Any):
    sent = document(spec)
    here = read(sent)
    status, answer = redises.create(sent, query=STRICT)
    assert (here.redis is None) == (status >= 300), answer.get("message", here.violations)
    if here.redis is not None:
        stored = read(answer).redis
        assert stored is not None
        assert stored.spec == here.redis.spec


def test_the_api_server_fills_in_every_constant_default_of_the_models(redises: Redises):
    status, answer = redises.create({**document(), "spec": {}})
    assert status == 201
    defaults = read(document()).redis.spec.model_dump(exclude={"image"})
    assert lean(answer["spec"]) == json.loads(json.dumps(lean(defaults)))


def lean(value: Any) -> Any:
    """Return `value` without what is empty or unset, which no default can be."""
    if isinstance(value, dict):
        fields = {name: lean(inner) for name, inner in value.items()}
        return {name: inner for name, inner in fields.items() if inner not in (None, {}, [])}
    return [lean(item) for item in value] if isinstance(value, list | tuple) else value


@SAMPLE
@given(
    number=st.from_regex(r"[0-9]{1,12}(\.[0-9]{1,9})?", fullmatch=True),
    unit=st.sampled_from(["", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti", "m", "u", "n", "e3", "E2", "e-2", "e6"]),
)
def test_the_api_server_stores_a_canonical_quantity_as_it_is(redises: Redises, number: str, unit: str):
    quantity = Quantity.parse(number + unit)
    if 0 < quantity.value < 2**63:
        canonical = quantity.canonical()
        assert redises.stored_size(canonical) == canonical
        assert 0 <= Quantity.parse(canonical).value - quantity.value < 1


def test_kubectl_refuses_a_field_that_nobody_knows(redises: Redises, api_server: ApiServer):
    wrong = json.dumps(document({"flavour": "vanilla"}))
    done = api_server.kubectl.run("create", "--validate=strict", "--filename=-", stdin=wrong)
    assert done.returncode == 1
    assert 'unknown field "spec.flavour"' in done.stderr


def test_kubectl_explains_the_fields(redises: Redises, api_server: ApiServer):
    explained = api_server.kubectl("explain", "redises.spec.replicas")
    assert "<integer>" in explained
    assert "1 is one primary" in explained
    assert "storageClassName" in api_server.kubectl("explain", "rd.spec.persistence")


def test_scale_goes_through_its_own_endpoint(my_redis: Kubectl):
    patch = '{"status": {"replicas": 2, "selector": "redis-cr=my-redis"}}'
    my_redis("patch", "redis", "my-redis", "--subresource=status", "--type=merge", f"--patch={patch}")
    my_redis("scale", "redis/my-redis", "--replicas=3", "--current-replicas=2")
    scale = json.loads(my_redis("get", "--raw", f"{REDISES}/my-redis/scale"))
    assert scale["spec"] == {"replicas": 3}
    assert scale["status"] == {"replicas": 2, "selector": "redis-cr=my-redis"}


def test_status_is_written_only_through_its_own_endpoint(my_redis: Kubectl):
    said = {
        "phase": "Running",
        "message": "Redis cluster with 1 replica deployed",
        "masterPodName": "my-redis-0",
        "slavePodNames": ["my-redis-1"],
        "observedGeneration": 1,
        "replicas": 2,
        "readyReplicas": 2,
        "selector": "app=redis,redis-cr=my-redis",
        "mode": "Replication",
        "image": "redis:7.0-alpine",
        "defaultsRevision": 1,
        "endpoints": {"primary": "my-redis-master.default.svc:6379", "read": "my-redis-read.default.svc:6379"},
        "members": [
            {"name": "my-redis-0", "role": "primary", "ready": True, "node": "n1"},
            {"name": "my-redis-1", "role": "replica", "ready": True, "node": "n2", "link": "up", "sync": "in sync"},
        ],
        "lastFailover": {
            "time": "2025-01-02T03:04:05Z",
            "from": "my-redis-1",
            "to": "my-redis-0",
            "reason": "my-redis-1 was deleted",
        },
        "pendingChanges": [{"object": "StatefulSet/default/my-redis", "consequence": "rolling", "reason": "image"}],
        "drift": [{"object": "Service/default/my-redis-read", "fields": ["spec.type"], "manager": "kubectl-edit"}],
        "storage": {"requested": "1Gi", "actual": "1Gi"},
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "reason": "AllMembersReady",
                "message": "2 of 2 members are ready",
                "lastTransitionTime": "2025-01-02T03:04:05Z",
                "observedGeneration": 1,
            }
        ],
    }
    patch = json.dumps({"status": said})
    my_redis("patch", "redis", "my-redis", "--type=merge", f"--patch={patch}")
    assert "status" not in my_redis.get("redis", "my-redis")
    my_redis("patch", "redis", "my-redis", "--subresource=status", "--type=merge", f"--patch={patch}")
    assert my_redis.get("redis", "my-redis")["status"] == said
    assert "condition met" in my_redis("wait", "--for=condition=Ready", "redis/my-redis", "--timeout=5s")


def test_a_status_of_another_shape_is_refused(my_redis: Kubectl):
    patch = '--patch={"status": {"members": [{"name": "a"}, {"name": "a"}], "phase": "Sleeping"}}'
    done = my_redis.run("patch", "redis", "my-redis", "--subresource=status", "--type=merge", patch)
    assert "status.members[1]: Duplicate value" in done.stderr
    assert "status.phase: Unsupported value" in done.stderr


def test_kubectl_get_shows_what_people_look_for(my_redis: Kubectl):
    patch = '--patch={"status": {"mode": "Replication", "masterPodName": "my-redis-0", "phase": "Running"}}'
    my_redis("patch", "redis", "my-redis", "--subresource=status", "--type=merge", patch)
    header, row = my_redis("get", "rd").splitlines()
    assert header.split() == ["NAME", "MODE", "REPLICAS", "READY", "PRIMARY", "VERSION", "PHASE", "AGE"]
    assert row.split()[:6] == ["my-redis", "Replication", "2", "my-redis-0", "7.0", "Running"]
    header, row = my_redis("get", "redises", "--output=wide").splitlines()
    assert header.split()[8:] == ["IMAGE", "MEMORY", "STORAGE", "MESSAGE"]
    assert {"536870912", "1Gi"} <= set(row.split())


def test_with_a_webhook_both_versions_are_served(redises: Redises, api_server: ApiServer):
    both = crd(conversion={"url": "https://redisop.example.com/convert"})
    stored = json.loads(api_server.kubectl.apply(both, "--dry-run=server", "--output=json"))["spec"]
    assert stored["conversion"]["strategy"] == "Webhook"
    assert [(version["name"], version["served"], version["storage"]) for version in stored["versions"]] == [
        ("v1", True, True),
        ("v1alpha1", True, False),
    ]
