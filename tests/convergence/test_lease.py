"""Candidates for a Lease on a real API server: killed, frozen, cut off, giving up, racing."""

import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from redisop.live.kube import Kube, connect
from redisop.live.lease import Elector, Term, since_boot
from redisop.manifest import Key
from tests.cluster.api_server import ApiServer
from tests.cluster.kubectl import Kubectl
from tests.convergence.conftest import ADMIN_TOKEN
from tests.convergence.fault_proxy import FaultProxy, answer, drop_reply, hold, is_write
from tests.convergence.site import until
from tests.convergence.times import TIMES


class Log:
    """The terms of some electors: by whom, when each was seen to begin, and up to when it was held at the most."""

    def __init__(self):
        self.terms: list[tuple[str, float, Term]] = []
        self._stopped = threading.Event()

    def follow(self, name: str, elector: Elector) -> None:
        """Note every term of `elector` from now on."""
        last = None
        while not self._stopped.is_set():
            term = elector.wait(0.05)
            if term and term is not last:
                last = term
                self.terms.append((name, since_boot(), term))
            time.sleep(0.005)

    def check(self) -> list[str]:
        """Stop; return who led, one after the other. No term may begin before the one before it was over."""
        self._stopped.set()
        for (_, _, before), (name, begun, _) in zip(self.terms, self.terms[1:], strict=False):
            assert before._deadline <= begun, name
        return [name for name, _, _ in self.terms]


@pytest.fixture
def which(kubectl: Kubectl) -> Key:
    return Key("Lease", kubectl.namespace, "redisop")


@pytest.fixture
def direct(api_server: ApiServer) -> Kube:
    """A client past the proxy."""
    return connect(str(api_server.kubeconfig), None, 60.0)


@pytest.fixture
def proxied(proxy: FaultProxy, tmp_path: Path) -> Kube:
    """A client through the proxy."""
    return connect(str(proxy.kubeconfig(tmp_path, ADMIN_TOKEN)), None, 60.0)


@pytest.fixture
def log():
    log = Log()
    yield log
    log._stopped.set()


@pytest.fixture
def stand(which: Key, log: Log):
    """Start an elector with a client, under a name; all are stopped in the end."""
    electors = []

    def start(kube: Kube, name: str) -> Elector:
        elector = Elector(kube, which, name, TIMES)
        elector.start()
        electors.append(elector)
        threading.Thread(target=log.follow, args=(name, elector), daemon=True).start()
        return elector

    yield start
    for elector in electors:
        elector.stop(5.0)


def holder(kubectl: Kubectl) -> str:
    return kubectl.get("lease", "redisop")["spec"].get("holderIdentity", "")


def test_the_lease_reads_as_people_know_it(kubectl: Kubectl, proxied: Kube, proxy: FaultProxy, stand) -> None:
    elector = stand(proxied, "one")
    assert elector.wait(20.0)
    lease = kubectl.get("lease", "redisop")
    assert {name: lease["spec"][name] for name in ("holderIdentity", "leaseDurationSeconds", "leaseTransitions")} == {
        "holderIdentity": "one",
        "leaseDurationSeconds": 3,
        "leaseTransitions": 0,
    }
    assert "one" in kubectl("get", "lease", "redisop")
    until(lambda: len(proxy.seen) >= 5)
    assert [seen.method for seen in proxy.seen[:5]] == ["GET", "POST", "PATCH", "PATCH", "PATCH"]


def test_of_many_that_start_at_once_one_leads(direct: Kube, kubectl: Kubectl, stand, log: Log) -> None:
    electors = {name: stand(direct, name) for name in "abcdefgh"}
    until(lambda: any(elector.term for elector in electors.values()))
    time.sleep(2 * TIMES.renew_deadline)
    (leader,) = [name for name, elector in electors.items() if elector.term]
    assert holder(kubectl) == leader
    assert log.check() == [leader]


def test_a_leader_that_stops_is_followed_before_its_lease_would_have_run_out(
    direct: Kube, kubectl: Kubectl, stand, log: Log
) -> None:
    one = stand(direct, "one")
    assert one.wait(20.0)
    two = stand(direct, "two")
    until(lambda: two.holder == "one")
    one.stop(5.0)
    given_up = since_boot()
    assert two.wait(20.0)
    assert since_boot() - given_up < TIMES.lease_duration
    assert holder(kubectl) == "two"
    assert log.check() == ["one", "two"]


@pytest.mark.parametrize("silent", [False, True], ids=["refused", "silent"])
def test_a_leader_that_is_cut_off_has_stopped_before_another_leads(
    direct: Kube, proxied: Kube, proxy: FaultProxy, stand, log: Log, silent: bool
) -> None:
    one = stand(proxied, "one")
    first = one.wait(20.0)
    assert first
    two = stand(direct, "two")
    until(lambda: two.holder == "one")
    if silent:
        proxy.inject(lambda exchange: proxy.closed.wait(), times=1000)
        assert two.wait(20.0)
    else:
        with proxy.down():
            assert two.wait(20.0)
    assert not first.held()
    proxy.heal()
    until(lambda: one.holder == "two")
    assert log.check() == ["one", "two"]


def test_a_late_renewal_of_a_leader_that_was_cut_off_changes_nothing(
    direct: Kube, proxied: Kube, proxy: FaultProxy, kubectl: Kubectl, stand, log: Log
) -> None:
    one = stand(proxied, "one")
    assert one.wait(20.0)
    two = stand(direct, "two")
    until(lambda: two.holder == "one")
    followed = threading.Event()

    def late(exchange) -> None:
        followed.wait(20.0)
        exchange.pass_on()

    proxy.inject(late, times=1000)
    assert two.wait(20.0)
    followed.set()
    proxy.heal()
    until(lambda: one.holder == "two")
    assert holder(kubectl) == "two"
    assert log.check() == ["one", "two"]


@pytest.mark.parametrize("fault", [drop_reply, hold, answer(503), answer(429, retry_after=1)])
def test_a_renewal_that_fails_once_ends_no_term(proxied: Kube, proxy: FaultProxy, stand, log: Log, fault) -> None:
    one = stand(proxied, "one")
    term = one.wait(20.0)
    assert term
    proxy.inject(fault, when=is_write)
    time.sleep(2 * TIMES.renew_deadline)
    assert one.term is term
    assert log.check() == ["one"]


@pytest.mark.parametrize("fault", [drop_reply, answer(503)])
def test_a_creation_that_fails_or_whose_reply_is_lost_is_made_good(
    proxied: Kube, proxy: FaultProxy, kubectl: Kubectl, stand, fault
) -> None:
    proxy.inject(fault, when=is_write)
    assert stand(proxied, "one").wait(20.0)
    assert holder(kubectl) == "one"


def test_a_lease_that_is_deleted_is_made_again_by_its_leader(direct: Kube, kubectl: Kubectl, stand, log: Log) -> None:
    one = stand(direct, "one")
    term = one.wait(20.0)
    two = stand(direct, "two")
    until(lambda: two.holder == "one")
    kubectl("delete", "lease", "redisop")
    time.sleep(2 * TIMES.renew_deadline)
    assert one.term is term
    assert holder(kubectl) == "one"
    assert log.check() == ["one"]


@pytest.mark.parametrize(
    "patch",
    [
        '{"spec": null}',
        '{"spec": {"holderIdentity": "somebody", "leaseDurationSeconds": 2147483647}}',
        '{"spec": {"leaseDurationSeconds": 1, "renewTime": "9999-12-31T23:59:59.999999Z"}}',
        '{"spec": {"leaseTransitions": 2147483647, "holderIdentity": null}}',
    ],
)
def test_whatever_somebody_writes_into_the_lease_no_two_lead_and_one_soon_does(
    direct: Kube, kubectl: Kubectl, stand, log: Log, monkeypatch: pytest.MonkeyPatch, patch: str
) -> None:
    monkeypatch.setattr("redisop.live.election.LONGEST_DURATION", 4.0)
    one = stand(direct, "one")
    assert one.wait(20.0)
    two = stand(direct, "two")
    until(lambda: two.holder == "one")
    kubectl("patch", "lease", "redisop", "--type=merge", "-p", patch)
    time.sleep(TIMES.renew_deadline)
    until(lambda: one.term or two.term)
    assert set(log.check()) <= {"one", "two"}


def test_who_may_not_read_the_lease_says_so_and_goes_on_trying(
    api_server: ApiServer, which: Key, proxy: FaultProxy, tmp_path: Path
) -> None:
    elector = Elector(connect(str(proxy.kubeconfig(tmp_path, "no-token")), None, 60.0), which, "one", TIMES)
    elector.start()
    until(lambda: elector.failure)
    before = len(proxy.seen)
    until(lambda: len(proxy.seen) > before + 2)
    assert str(elector.failure).startswith(f"{which}: the API server does not accept the credentials")
    elector.stop(5.0)


@pytest.fixture
def candidate(api_server: ApiServer, kubectl: Kubectl):
    """Start a candidate as a process of its own."""
    processes = []

    def start(name: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.convergence.candidate"]
        arguments = [str(api_server.kubeconfig), kubectl.namespace, name]
        process = subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE, text=True)
        processes.append(process)
        return process

    kubectl("create", "configmap", "written")
    yield start
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()


def written(kubectl: Kubectl, name: str) -> str:
    return kubectl.get("configmap", "written").get("data", {}).get(name, "")


def test_a_leader_that_is_killed_is_followed(candidate, kubectl: Kubectl) -> None:
    one = candidate("one")
    assert one.stdout.readline() == "leads\n"
    until(partial(written, kubectl, "one"))
    two = candidate("two")
    one.kill()
    one.wait()
    last = written(kubectl, "one")
    assert two.stdout.readline() == "leads\n"
    until(partial(written, kubectl, "two"))
    assert (written(kubectl, "one"), holder(kubectl)) == (last, "two")


def test_a_leader_that_is_frozen_and_thawed_writes_no_more_than_it_was_about_to(candidate, kubectl: Kubectl) -> None:
    one = candidate("one")
    assert one.stdout.readline() == "leads\n"
    until(partial(written, kubectl, "one"))
    two = candidate("two")
    os.kill(one.pid, signal.SIGSTOP)
    assert two.stdout.readline() == "leads\n"
    until(partial(written, kubectl, "two"))
    last = int(written(kubectl, "one"))
    os.kill(one.pid, signal.SIGCONT)
    while (line := one.stdout.readline()) != "over\n":  # a write that it was waiting for may fail or have succeeded
        assert line.startswith("failed "), line
    time.sleep(2 * TIMES.renew_deadline)
    assert holder(kubectl) == "two"
    assert int(written(kubectl, "one")) <= last + 1  # it may have been frozen between asking and sending
