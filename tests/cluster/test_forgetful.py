"""Killed with SIGKILL at a write, the next run goes on from what it finds: the same end, nothing twice or lost."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.cluster.managed import Managed
from tests.convergence.fault_proxy import Exchange, FaultProxy, Seen

KEYS = 200
KILLED = -9


@pytest.fixture
def kill(proxy: FaultProxy, tmp_path: Path):
    """Start a run of which nothing is left before, or after, its first write of one method to one place."""
    kubeconfig = proxy.kubeconfig(tmp_path, "admin-token")

    def kill(shop: Managed, when: str, method: str, place: str, **spec: object) -> None:
        running: list[subprocess.Popen[str]] = []

        def end(exchange: Exchange) -> None:
            if when == "after":
                exchange.commit().close()
            running[0].kill()
            running[0].wait()
            exchange.reset()

        def is_meant(seen: Seen) -> bool:
            return "dryRun" not in seen.query and (seen.method, seen.path.endswith(place)) == (method, True)

        proxy.inject(end, is_meant)
        running.append(shop.start(kubeconfig=kubeconfig, **spec))
        out, err = running[0].communicate()
        assert running[0].returncode == KILLED, f"{when} {method} {place}: {out}{err}"
        proxy.heal()

    return kill


def test_a_new_instance_is_the_same_however_often_its_run_was_killed(managed, kill):
    whole, shop = managed("whole", replicas=2, storage="64Mi"), managed("killed", replicas=2, storage="64Mi")
    undisturbed = whole.start()
    kill(shop, "after", "PATCH", "/redises/killed")
    kill(shop, "before", "POST", "/secrets")
    kill(shop, "after", "POST", "/secrets")
    secret = shop.uids("secrets")
    kill(shop, "after", "PATCH", "/services/killed-master")
    kill(shop, "before", "PATCH", "/statefulsets/killed")
    kill(shop, "after", "PATCH", "/statefulsets/killed")
    kill(shop, "before", "PATCH", "/redises/killed/status")
    pods, claims = shop.run_ids(), shop.uids("persistentvolumeclaims")
    shop.up()
    assert (shop.run_ids(), shop.uids("persistentvolumeclaims"), shop.uids("secrets")) == (pods, claims, secret)
    assert shop.condition("Ready")["status"] == "True"
    shop.wait_until_serving()
    said, _ = undisturbed.communicate()
    assert undisturbed.returncode == 0, said
    assert shop.objects() == whole.objects()
    assert len(secret) == 1
    assert "nothing to do" in shop.up()


def test_volumes_grow_and_no_pod_notices_how_often_the_run_was_killed(managed, kill):
    shop = managed(replicas=2, storage="64Mi", memory="96Mi")
    shop.up()
    shop.put(KEYS)
    before, kept = shop.objects(), [shop.uids("persistentvolumeclaims"), shop.uids("secrets"), shop.run_ids()]

    kill(shop, "before", "PATCH", "/persistentvolumeclaims/data-shop-0", storage="128Mi")
    kill(shop, "after", "PATCH", "/persistentvolumeclaims/data-shop-0")
    kill(shop, "before", "DELETE", "/statefulsets/shop")
    kill(shop, "after", "DELETE", "/statefulsets/shop")
    kill(shop, "before", "PATCH", "/statefulsets/shop")
    shop.kubectl.wait_for("no StatefulSet", lambda: not shop.kubectl.list("statefulsets"))
    kill(shop, "after", "PATCH", "/statefulsets/shop")
    kill(shop, "before", "PATCH", "/redises/shop/status")
    shop.up()
    assert [shop.uids("persistentvolumeclaims"), shop.uids("secrets"), shop.run_ids()] == kept
    assert shop.objects() == json.loads(json.dumps(before).replace("64Mi", "128Mi"))
    claims = shop.kubectl.list("persistentvolumeclaims")
    assert {claim["status"]["capacity"]["storage"] for claim in claims} == {"128Mi"}
    assert {member: shop.count(member) for member in shop.members} == dict.fromkeys(shop.members, KEYS)
    owners = [pod["metadata"]["ownerReferences"] for pod in shop.kubectl.list("pods")]
    assert [owner["uid"] for (owner,) in owners] == list(shop.uids("statefulsets").values()) * 2
    assert shop.condition("Ready")["status"] == "True"
    assert "nothing to do" in shop.up()
