"""Documents that break an instance on the whole cluster, and the good ones after them: nobody deletes a pod by hand."""

import re
from typing import Any

import pytest

from tests.cluster.instance import IMAGES
from tests.cluster.managed import Managed
from tests.cluster.test_reconcile import KEYS

GOOD: dict[str, Any] = {"replicas": 2, "image": IMAGES["7.0"], "memory": "64Mi", "storage": "64Mi"}
NOWHERE = "127.0.0.1:1/redis:7.0"  # refuses at once; another registry would be looked for first
NO_IMAGE = r"Pod shop-0: \w*ImagePull\w*: .*connection refused"
# Each with a pattern of what the run that waits for it says.
BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "impossible image": ({"image": NOWHERE}, NO_IMAGE),
    "impossible image without volumes": (
        {"image": NOWHERE, "storage": 0},
        NO_IMAGE,
    ),
    "no node for it": ({"scheduling": {"nodeSelector": {"moon": "dark"}}}, "shop-0: Unschedulable: 0/3 nodes"),
    "missing Secret": ({"auth": {"secretRef": {"name": "absent"}}}, "there is no Secret absent; create it"),
}
SHORT = "8s"


@pytest.fixture
def shop(managed) -> Managed:
    return managed(**GOOD)


def breaks(shop: Managed, spec: dict[str, Any], says: str) -> None:
    """Run the broken document until it gives up."""
    shop.document["spec"] = GOOD | spec
    ended = shop.once(timeout=SHORT)
    assert ended.returncode == 1, ended.stderr
    assert re.search(says, ended.stderr.splitlines()[-1]), ended.stderr


def heals(shop: Managed, recreated: str | None, **kept: Any) -> None:
    """Run the good document, which makes the stuck pods anew, and another time, which does nothing."""
    shop.document["spec"] = GOOD | kept
    ended = shop.once()
    assert ended.returncode == 0, ended.stderr
    said = [line for line in ended.stderr.splitlines() if ": recreate " in line]
    assert [line.split(": ")[1].partition(" (")[0] for line in said] == ([f"recreate {recreated}"] if recreated else [])
    again = shop.once()
    assert "nothing to do" in again.stdout, again.stdout


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        pytest.param(*broken, id=name, marks=pytest.mark.full if "without" in name else ())
        for name, broken in BROKEN.items()
    ],
)
def test_a_new_instance_that_could_not_come_up_does_with_a_document_that_is_right(
    shop: Managed, spec: dict[str, Any], says: str
) -> None:
    breaks(shop, spec, says)
    heals(shop, "shop-0, shop-1", storage=spec.get("storage", "64Mi"))
    shop.wait_until_serving()


@pytest.mark.parametrize("member", ["shop-1", pytest.param("shop-0", marks=pytest.mark.full)])
@pytest.mark.parametrize(
    ("spec", "says"),
    [
        pytest.param(*BROKEN[name], id=name, marks=() if name == "impossible image" else pytest.mark.full)
        for name in BROKEN
        if "storage" not in BROKEN[name][0]
    ],
)
def test_a_pod_that_was_lost_while_the_document_was_broken_comes_back_with_its_data(
    shop: Managed, spec: dict[str, Any], says: str, member: str
) -> None:
    assert shop.once().returncode == 0
    shop.put(KEYS)
    before = shop.uids()
    shop.document["spec"] = GOOD | spec
    running = shop.once()
    assert (running.returncode, shop.uids()) == (0, before), running.stderr
    assert f"PodsOutdated: {', '.join(shop.members)} must restart" in running.stderr
    shop.pods.delete(member)
    breaks(shop, spec, says.replace("shop-0", member))
    heals(shop, member)
    other = {"shop-0": "shop-1", "shop-1": "shop-0"}[member]
    assert shop.uids()[other] == before[other]
    shop.wait_until_serving()
    assert {name: shop.count(name) for name in shop.members} == dict.fromkeys(shop.members, KEYS)


def test_a_secret_that_comes_later_is_taken_up_and_no_pod_is_made_anew(shop: Managed) -> None:
    breaks(shop, *BROKEN["missing Secret"])
    before = shop.uids()
    shop.kubectl("create", "secret", "generic", "absent", "--from-literal=password=of the user")
    heals(shop, None, auth={"secretRef": {"name": "absent"}})
    assert shop.uids() == before


def test_a_storage_class_that_comes_later_is_taken_up(shop: Managed) -> None:
    named = f"late-{shop.kubectl.namespace[-4:]}"
    spec = {"persistence": {"storageClassName": named}}
    breaks(shop, spec, f"PersistentVolumeClaim data-shop-0 waits for a volume of the storage class {named}")
    refused = shop.once(persistence={"storageClassName": "standard"})
    assert (refused.returncode, "spec.persistence.storageClassName: cannot change" in refused.stderr) == (3, True)
    standard = shop.kubectl.get("storageclass", "standard")
    shop.kubectl.apply(
        {key: standard[key] for key in ("apiVersion", "kind", "provisioner")} | {"metadata": {"name": named}}
    )
    try:
        heals(shop, None, **spec)
    finally:
        shop.kubectl("delete", "storageclass", named)
