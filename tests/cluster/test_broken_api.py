"""An API server before a whole cluster that is slow, busy, broken, or no longer knows who asks."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.credentials import token
from tests.cluster.managed import Managed
from tests.convergence.fault_proxy import FaultProxy, answer, delay, drop_reply, is_write, reset

FAULTS = {
    "429": answer(429, "slow down", retry_after=1),
    "500": answer(500, "sorry"),
    "503": answer(503, "starting"),
    "reset": reset,
    "dropped reply": drop_reply,
}


class Shop:
    """A `Redis` of one member; `once` has it brought up through the proxy."""

    def __init__(self, managed: Managed, proxy: FaultProxy, kubeconfig: Path) -> None:
        self.managed, self.proxy, self.kubeconfig = managed, proxy, kubeconfig

    def once(self, **how: Any) -> subprocess.CompletedProcess[str]:
        self.proxy.seen.clear()
        return self.managed.once(kubeconfig=self.kubeconfig, **how)

    @property
    def writes(self) -> list[str]:
        return [str(seen) for seen in self.proxy.seen if is_write(seen)]


@pytest.fixture
def shop(managed, proxy, tmp_path) -> Shop:
    return Shop(managed(storage=0), proxy, proxy.kubeconfig(tmp_path, token("admin")))


def test_bursts_of_faults_are_lived_through(shop: Shop, kubectl) -> None:
    for number, fault in enumerate(FAULTS.values()):
        for place in (1, 5, 6, 9):
            shop.proxy.inject(fault, at=place)
        shop.proxy.inject(fault, when=is_write)
        done = shop.once(config={"timeout": str(number)})
        assert done.returncode == 0, done.stderr
        kubectl("wait", "--for=condition=Ready", "redis/shop", "--timeout=1s")
        shop.proxy.heal()
    assert f"timeout {number}" in kubectl.get("configmap", "shop-config")["data"]["redis.conf"]
    assert len(kubectl.list("secrets")) == 1
    shop.once(config={"timeout": str(number)})
    assert shop.writes == []


def test_what_does_not_pass_is_said_before_the_time_is_over_and_the_next_run_goes_on(shop: Shop, kubectl) -> None:
    shop.proxy.inject(answer(401, "Unauthorized"), at=4, times=999)
    expired = shop.once()
    assert expired.returncode == 4
    assert "the API server does not accept the credentials; log in" in expired.stderr
    shop.proxy.heal()

    shop.proxy.inject(answer(503, "starting"), at=4, times=999)
    down = shop.once()
    assert down.returncode == 4
    assert f"/{kubectl.namespace}/shop" in down.stderr
    assert "the API server cannot serve it now (503" in down.stderr
    shop.proxy.heal()

    shop.proxy.inject(delay(3.0), times=999)
    slow = shop.once(timeout="7s")
    assert slow.returncode in {1, 4}
    assert "no time is left for this" in slow.stderr or "does not answer in time" in slow.stderr
    shop.proxy.heal()

    healed = shop.once()
    assert healed.returncode == 0, healed.stderr
    assert len(kubectl.list("secrets")) == 1


def test_two_seconds_for_each_answer_are_waited_for(shop: Shop, kubectl) -> None:
    shop.proxy.inject(delay(2.0), times=999)
    done = shop.once()
    assert done.returncode == 0, done.stderr
    kubectl("wait", "--for=condition=Ready", "redis/shop", "--timeout=1s")
