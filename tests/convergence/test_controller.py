"""The controller beside a real API server: it follows every change by itself, and at rest it is silent."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from redisop import names
from redisop.live.controller import Controller
from redisop.live.store import Name
from redisop.live.visit import Visit
from redisop.manifest import Manifest
from tests.convergence.fault_proxy import FaultProxy, Seen, answer, is_write
from tests.convergence.site import Site, until
from tests.world import ScriptedMembers


class Told:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.visits: list[tuple[str, Visit]] = []
        self.errors: list[tuple[str, Exception]] = []
        self.troubles: list[str] = []

    def waited(self, seconds: float) -> None:
        """Not asked for here."""

    def visited(self, of: Name, visit: Visit, seconds: float) -> None:
        self.visits.append((of.name, visit))

    def failed(self, of: Name, error: Exception, seconds: float) -> None:
        self.errors.append((of.name, error))

    def standing(self, trouble: str) -> None:
        self.troubles.append(trouble)

    def leads(self) -> None:
        """Not asked for here."""

    def stands_by(self, leader: str) -> None:
        """Not asked for here."""


class Lead:
    """Is in the lead until it is taken away: Leadership and Term in one."""

    trouble = holder = ""

    def __init__(self) -> None:
        self.has = True

    def wait(self, timeout: float) -> "Lead | None":
        if not self.has:
            time.sleep(0.05)
        return self if self.has else None

    def left(self) -> float:
        return 15.0 if self.has else 0.0

    def wait_until_over(self, timeout: float) -> bool:
        time.sleep(0.05)
        return not self.has


class Members(ScriptedMembers):
    """Scripted members of one Redis."""

    def close(self) -> None:
        """Keep everything."""


class Running:
    """A controller at work on one site."""

    def __init__(self, site: Site, workers: int = 2) -> None:
        self.site, self.told, self.lead = site, Told(), Lead()
        self.stopping = threading.Event()
        self.controller = Controller(site.kube, (site.namespace,), workers, self.told, self.lead, Members)
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.ended: bool | None = None

    def _run(self) -> None:
        self.ended = self.controller.run(self.stopping)

    def stop(self) -> None:
        self.stopping.set()
        self.thread.join(20)


@pytest.fixture
def running(site: Site) -> Iterator[Running]:
    running = Running(site)
    running.thread.start()
    yield running
    running.stop()
    assert [error for _, error in running.told.errors if not isinstance(error, Exception)] == []


SMALL: dict[str, Any] = {
    "replicas": 2,
    "memory": "64Mi",
    "storage": "1Gi",
    "persistence": {"storageClassName": "grows"},
}


def condition(site: Site, kind: str = "Ready", name: str = "r") -> Manifest | None:
    live = site.find("Redis", name) or {}
    found = (live.get("status") or {}).get("conditions", [])
    return next((each for each in found if each["type"] == kind), None)


def is_ready(site: Site, name: str = "r", generation: int = 0) -> Callable[[], bool]:
    def asked() -> bool:
        said = condition(site, name=name)
        return bool(said and said["status"] == "True" and said["observedGeneration"] >= generation)

    return asked


def writes(proxy: FaultProxy) -> list[Seen]:
    return [seen for seen in proxy.seen if is_write(seen)]


def rest(proxy: FaultProxy, seconds: float = 2.0) -> list[str]:
    """Return what was asked of the API server in so many seconds."""
    before = len(proxy.seen)
    time.sleep(seconds)
    return [f"{seen.method} {seen.path}" for seen in proxy.seen[before:] if "watch" not in seen.query]


def test_a_redis_that_is_created_becomes_ready_and_then_all_is_quiet(running: Running, proxy: FaultProxy) -> None:
    site = running.site
    site.put(**SMALL)
    until(is_ready(site))
    assert rest(proxy) == []
    objects = [seen.path for seen in writes(proxy) if not seen.path.endswith("/status")]
    assert len(objects) == len(set(objects)), objects
    assert running.told.errors == []


def test_an_edit_reaches_the_child_that_it_concerns_and_no_other(running: Running, proxy: FaultProxy) -> None:
    site = running.site
    site.put(**SMALL)
    until(is_ready(site))
    rest(proxy, 0.5)
    proxy.seen.clear()
    site.put(**SMALL, services={"primary": {"annotations": {"team": "shop"}}})
    until(lambda: site.get("Service", "r-master")["metadata"].get("annotations", {}).get("team") == "shop")
    rest(proxy, 0.5)
    assert {seen.path.rpartition("/")[2] for seen in writes(proxy)} <= {"r-master", "r-read", "r-headless", "status"}


def test_a_child_that_is_deleted_or_edited_comes_back(running: Running) -> None:
    site = running.site
    site.put(**SMALL)
    until(is_ready(site))
    found = site.get("Service", "r-master")
    site.behind.delete(site.key("Service", "r-master"), found["metadata"]["uid"])
    until(lambda: (site.find("Service", "r-master") or found)["metadata"]["uid"] != found["metadata"]["uid"])
    site.edit("ConfigMap", "r-config", {"data": {"redis.conf": "maxclients 1\n"}})
    until(lambda: site.get("ConfigMap", "r-config")["data"]["redis.conf"] != "maxclients 1\n")


def test_a_redis_that_is_deleted_is_forgotten(running: Running, proxy: FaultProxy) -> None:
    site = running.site
    site.put(**SMALL)
    until(is_ready(site))
    site.behind.delete(site.key("Redis", "r"), site.get("Redis", "r")["metadata"]["uid"])
    until(lambda: running.controller._visitor._members == {})
    rest(proxy, 0.5)
    assert rest(proxy, 1) == []


def test_a_restart_over_a_fleet_at_rest_lists_and_watches_and_writes_nothing(
    running: Running, site: Site, proxy: FaultProxy
) -> None:
    for number in range(5):
        site.name = f"r{number}"
        site.put(replicas=1, memory="64Mi", storage="0")
    for number in range(5):
        until(is_ready(site, f"r{number}"), 60)
    rest(proxy, 0.5)
    members = dict(running.controller._visitor._members)
    running.stop()
    proxy.seen.clear()
    again = Running(site)
    again.controller._visitor._members.update(members)
    again.thread.start()
    until(lambda: len({name for name, _ in again.told.visits}) == 5)
    rest(proxy, 1)
    again.stop()
    assert writes(proxy) == []
    assert {seen.path.rpartition("/")[2] for seen in proxy.seen} == {kind.plural for kind in EVERY_KIND}
    assert all(visit.outcome and visit.outcome.settled for _, visit in again.told.visits)


EVERY_KIND = (names.REDIS, *names.KINDS, names.POD, names.CLAIM)


def test_a_broken_redis_does_not_keep_others_waiting(running: Running, proxy: FaultProxy) -> None:
    site = running.site
    refused = answer(500, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 500, "message": "no"})
    proxy.inject(refused, when=lambda seen: is_write(seen) and "/bad" in seen.path, times=10_000)
    site.name = "bad"
    site.put(**SMALL)
    site.name = "r"
    site.put(**SMALL)
    until(is_ready(site))
    before = len([seen for seen in writes(proxy) if "/bad" in seen.path])
    assert before > 0
    proxy.heal()
    until(is_ready(site, "bad"), 60)


def test_a_spec_that_is_no_longer_valid_is_said_and_all_stays(running: Running, proxy: FaultProxy) -> None:
    site = running.site
    site.put(**SMALL)
    until(is_ready(site))
    rest(proxy, 0.5)
    before = site.get("StatefulSet", "r")["metadata"]["resourceVersion"]
    # What only redisop itself can judge: the API server lets it in.
    site.edit("Redis", "r", {"spec": {"pod": {"securityContext": {"windowsOptions": {"hostProcess": True}}}}})
    until(lambda: (condition(site, "SpecAccepted") or {}).get("status") == "False")
    said = condition(site, "SpecAccepted")
    assert "hostProcess" in (said or {})["message"]
    assert condition(site, "Ready")["status"] == "True"  # type: ignore[index]
    assert site.get("StatefulSet", "r")["metadata"]["resourceVersion"] == before
    assert rest(proxy, 1) == []
    site.edit("Redis", "r", {"spec": {"pod": None}})
    until(lambda: (condition(site, "SpecAccepted") or {}).get("status") == "True")
    assert condition(site, "Stalled") is None


def test_who_loses_the_lead_writes_nothing_more(running: Running, proxy: FaultProxy) -> None:
    site = running.site
    site.put(**SMALL)
    until(is_ready(site))
    running.lead.has = False
    until(lambda: running.ended is not None)
    proxy.seen.clear()
    site.edit("Service", "r-master", {"metadata": {"labels": {"app": "other"}}})
    time.sleep(0.5)
    assert writes(proxy) == []


def test_a_standby_knows_everything_and_writes_nothing_until_it_leads(site: Site, proxy: FaultProxy) -> None:
    running = Running(site)
    running.lead.has = False
    running.thread.start()
    try:
        site.put(**SMALL)
        until(lambda: running.controller.store.redises())
        time.sleep(0.5)
        assert writes(proxy) == []
        running.lead.has = True
        until(is_ready(site))
    finally:
        running.stop()


def test_changes_during_an_outage_of_the_api_server_are_followed_after_it(running: Running, proxy: FaultProxy) -> None:
    site = running.site
    site.put(**SMALL)
    until(is_ready(site))
    with proxy.down():
        site.put(**SMALL, services={"primary": {"annotations": {"team": "shop"}}})
        time.sleep(2)
    until(lambda: site.get("Service", "r-master")["metadata"].get("annotations", {}).get("team") == "shop", 60)


def test_a_stop_ends_soon_and_whole(running: Running) -> None:
    running.site.put(**SMALL)
    until(is_ready(running.site))
    running.stop()
    assert running.ended is True


def test_a_fault_of_redisop_in_one_pass_is_told_and_ends_nothing(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = running.site
    real = running.controller._visitor.visit

    def faulty(of: Name, deadline: float) -> Visit:
        if of.name == "bad":
            raise RuntimeError("a fault")
        return real(of, deadline)

    monkeypatch.setattr(running.controller._visitor, "visit", faulty)
    site.name = "bad"
    site.put(**SMALL)
    until(lambda: running.told.errors)
    site.name = "r"
    site.put(**SMALL)
    until(is_ready(site))
    with contextlib.suppress(IndexError):
        assert str(running.told.errors[0][1]) == "a fault"
