"""The cache beside a real API server: what it knows is what is there, whatever befalls its lists and watches."""

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from redisop import names
from redisop.live.cache import Cache
from redisop.live.kube import Kube
from redisop.live.store import Name, Store
from redisop.manifest import Manifest
from tests.cluster.api_server import ApiServer
from tests.cluster.kubectl import Kubectl
from tests.convergence.fault_proxy import Fault, FaultProxy, Seen, answer, cut, reset, stall
from tests.convergence.site import until
from tests.convergence.test_kube import EXPIRED, pod_monitors  # noqa: F401 - a fixture

CONFIG_MAPS = "configmaps"


class Watched:
    """A cache of one namespace, and whose objects it said had changed."""

    def __init__(self, kube: Kube, kubectl: Kubectl) -> None:
        self.store = Store()
        self.told: list[tuple[str, str]] = []
        self.namespace = kubectl.namespace
        self.kubectl = kubectl
        self.cache = Cache(kube, (kubectl.namespace,), self.store, self._changed)

    def _changed(self, whose: Any, kind: names.Kind) -> None:
        self.told += [(of.name, kind.kind) for of in whose]

    def data(self, of: str = "one") -> dict[str, Any]:
        """What the cache has of each ConfigMap."""
        objects = self.store.objects(Name(self.namespace, of))
        return {key.name: manifest.get("data") for key, manifest in objects.items() if key.kind == "ConfigMap"}

    def put(self, name: str = "one-config", of: str = "one", **data: str) -> None:
        """Write a ConfigMap past the cache."""
        metadata = {"name": name, "namespace": self.namespace, "labels": names.labels(of)}
        self.kubectl.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})


def watches(plural: str) -> Callable[[Seen], bool]:
    return lambda seen: seen.path.endswith(f"/{plural}") and "watch" in seen.query


def lists(plural: str) -> Callable[[Seen], bool]:
    return lambda seen: seen.path.endswith(f"/{plural}") and "watch" not in seen.query


@pytest.fixture
def watched(crds: None, kube: Kube, kubectl: Kubectl) -> Iterator[Watched]:
    watched = Watched(kube, kubectl)
    yield watched
    watched.cache.stop()


def test_what_is_there_and_what_comes_is_known(watched: Watched) -> None:
    watched.put(a="1")
    watched.cache.start()
    assert watched.cache.wait(20)
    assert watched.data() == {"one-config": {"a": "1"}}
    assert watched.told == [("one", "ConfigMap")]
    watched.put(a="2")
    watched.put("two-config", of="two", b="1")
    until(lambda: watched.data() == {"one-config": {"a": "2"}} and watched.data("two"))
    watched.kubectl("delete", "configmap", "one-config")
    until(lambda: watched.data() == {})
    assert (watched.cache.troubles, watched.cache.pod_monitors) == ([], False)


def test_rest_costs_one_list_and_one_watch_a_kind(watched: Watched, proxy: FaultProxy) -> None:
    watched.cache.start()
    assert watched.cache.wait(20)
    until(lambda: sum("watch" in seen.query for seen in proxy.seen) == 10)
    assert len(proxy.seen) == 21  # ten kinds twice, and the one that is not installed
    assert {seen.method for seen in proxy.seen} == {"GET"}


@pytest.mark.parametrize(
    "fault",
    [reset, cut(50), cut(50, cleanly=True), answer(500), answer(503, retry_after=1), answer(429, retry_after=1)],
    ids=["reset", "cut", "cut cleanly", "500", "503", "429"],
)
def test_no_change_is_missed_when_watches_fail(watched: Watched, proxy: FaultProxy, fault: Fault) -> None:
    proxy.inject(fault, when=watches(CONFIG_MAPS), times=3)
    watched.put(a="1")
    watched.cache.start()
    assert watched.cache.wait(20)
    for round_ in range(3):
        watched.put(a=f"round {round_}")
        until(lambda round_=round_: watched.data() == {"one-config": {"a": f"round {round_}"}})


@pytest.mark.parametrize("fault", [reset, cut(50), answer(500)], ids=["reset", "cut", "500"])
def test_a_list_that_fails_is_no_list(watched: Watched, proxy: FaultProxy, fault: Fault) -> None:
    watched.put(a="1")
    proxy.inject(fault, when=lists(CONFIG_MAPS), times=20)
    watched.cache.start()
    assert not watched.cache.wait(2)
    assert any(f"ConfigMap/{watched.namespace}" in trouble for trouble in watched.cache.troubles)
    assert watched.data() == {}
    proxy.heal()
    assert watched.cache.wait(30)
    assert watched.data() == {"one-config": {"a": "1"}}
    assert watched.cache.troubles == []


@pytest.mark.parametrize("how", ["status", "event"])
def test_what_the_server_forgot_is_listed_anew(watched: Watched, proxy: FaultProxy, how: str) -> None:
    event = json.dumps({"type": "ERROR", "object": EXPIRED}) + "\n"
    expired = answer(410, EXPIRED) if how == "status" else answer(200, event)
    proxy.inject(expired, when=watches(CONFIG_MAPS), times=2)
    watched.cache.start()
    assert watched.cache.wait(20)
    watched.put(a="1")
    until(lambda: watched.data() == {"one-config": {"a": "1"}} and sum(map(lists(CONFIG_MAPS), proxy.seen)) == 3)


def test_a_page_that_the_server_forgot_is_asked_for_with_all_others_in_one_piece(
    watched: Watched, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("redisop.live.cache.PAGE", 2)
    for number in range(5):
        watched.put(f"config-{number}", a="1")
    proxy.inject(answer(410, EXPIRED), when=lambda seen: lists(CONFIG_MAPS)(seen) and "continue" in seen.query)
    watched.cache.start()
    assert watched.cache.wait(20)
    assert len(watched.data()) == 5
    assert [seen.query["limit"] for seen in proxy.seen if lists(CONFIG_MAPS)(seen)] == ["2", "2", "0"]


def test_what_went_while_nobody_watched_is_gone_after_the_next_list(watched: Watched, proxy: FaultProxy) -> None:
    watched.put(a="1")
    watched.put("stays", a="1")
    watched.cache.start()
    assert watched.cache.wait(20)
    with proxy.down():
        watched.kubectl("delete", "configmap", "one-config")
        proxy.inject(answer(410, EXPIRED), when=watches(CONFIG_MAPS))
    until(lambda: watched.data() == {"stays": {"a": "1"}}, 40)


def test_a_silent_watch_ends(watched: Watched, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch, kube: Kube) -> None:
    monkeypatch.setattr("redisop.live.cache.SHORTEST_WATCH", 1)
    monkeypatch.setattr("redisop.live.cache.LONGEST_WATCH", 1)
    monkeypatch.setattr(kube._session, "_request_timeout", 0.5)
    proxy.inject(stall(0), when=watches(CONFIG_MAPS), times=1)
    watched.cache.start()
    assert watched.cache.wait(20)
    watched.put(a="1")
    until(lambda: watched.data() == {"one-config": {"a": "1"}})


def test_watches_that_end_at_once_are_no_hot_loop(watched: Watched, proxy: FaultProxy) -> None:
    proxy.inject(answer(200), when=watches(CONFIG_MAPS), times=1000)
    watched.cache.start()
    assert watched.cache.wait(20)
    threading.Event().wait(3)
    assert sum(map(watches(CONFIG_MAPS), proxy.seen)) <= 5


def test_an_optional_kind_that_comes_is_known_and_what_was_of_one_that_goes_is_forgotten(
    watched: Watched,
    pod_monitors: Kubectl,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    api_server: ApiServer,
) -> None:
    monkeypatch.setattr("redisop.live.cache.RARELY", 0.2)
    metadata = {"name": "one", "namespace": watched.namespace, "labels": names.labels("one")}
    manifest: Manifest = {"apiVersion": "monitoring.coreos.com/v1", "kind": "PodMonitor", "metadata": metadata}
    watched.kubectl.apply(manifest)
    watched.cache.start()
    assert watched.cache.wait(20)
    assert watched.cache.pod_monitors
    assert len(watched.store) == 1
    api_server.kubectl("delete", "crd", "podmonitors.monitoring.coreos.com", "--wait=true")
    until(lambda: not watched.cache.pod_monitors, 40)
    assert len(watched.store) == 0
