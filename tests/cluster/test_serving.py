"""Rendered manifests and kubectl alone, no redisop about: a Redis that serves, replicates and keeps its data."""

import base64
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
import yaml

from tests.cluster.instance import IMAGES, Instance, redisop

ROOT = Path(__file__).parent.parent.parent
EXAMPLE = ROOT / "examples/my-redis.yaml"
KEYS = 500


@pytest.fixture
def instance(kubectl, pods, redis_cli) -> Iterator[Callable[..., Instance]]:
    """Make an instance of a spec, or of a whole document; in the end there must never have been two primaries."""
    made: list[Instance] = []

    def make(document: dict[str, Any] | None = None, **spec: object) -> Instance:
        document = document or {
            "apiVersion": "example.com/v1",
            "kind": "Redis",
            "metadata": {"name": "shop"},
            "spec": {"image": IMAGES["7.0"], "memory": "64Mi", "storage": "64Mi", **spec},
        }
        made.append(Instance(kubectl, pods, redis_cli, document))
        return made[-1]

    def start(document: dict[str, Any] | None = None, **spec: object) -> Instance:
        instance = make(document, **spec)
        if "auth" not in spec:
            instance.create_secret()
        instance.apply()
        instance.watch()
        instance.wait_until_serving()
        return instance

    yield start
    assert [moment for each in made for moment in each.stop_watching()] == []


def test_the_example_serves_replicates_and_keeps_its_data_when_every_pod_goes(instance, pods, redis_cli):
    redisop("validate", "-f", str(EXAMPLE))
    example = instance(yaml.safe_load(EXAMPLE.read_text()))
    assert example.roles() == {"my-redis-cluster-0": "primary", "my-redis-cluster-1": "replica"}
    assert redis_cli("svc/my-redis-cluster-master", "SET", "greeting", "hello") == "OK"
    assert redis_cli("svc/my-redis-cluster-master", "WAIT", "1", "1000") == "1"
    assert redis_cli("my-redis-cluster-1", "GET", "greeting") == "hello"
    example.put(KEYS)

    for member in example.members:
        pods.delete(member)
        example.wait_until_serving()
        assert {each: example.count(each) for each in example.members} == dict.fromkeys(example.members, KEYS)

    pods.delete(*example.members)
    example.wait_until_serving()
    assert {each: example.count(each) for each in example.members} == dict.fromkeys(example.members, KEYS)
    assert redis_cli("svc/my-redis-cluster-master", "GET", "greeting") == "hello"


FEW = {(1, "6.2"), (3, "8.2")}


@pytest.mark.parametrize(
    ("replicas", "version"),
    [
        pytest.param(replicas, version, marks=[] if (replicas, version) in FEW else pytest.mark.full)
        for replicas in (1, 2, 3)
        for version in IMAGES
    ],
)
def test_every_size_and_version_serves_and_keeps_its_data(instance, pods, redis_cli, replicas, version):
    shop = instance(replicas=replicas, image=IMAGES[version])
    assert redis_cli.info("shop-0", "server")["redis_version"].startswith(f"{version}.")
    shop.put(KEYS)
    pods.delete(*shop.members)
    shop.wait_until_serving()
    assert {each: shop.count(each) for each in shop.members} == dict.fromkeys(shop.members, KEYS)


@pytest.mark.parametrize("mode", [pytest.param("Both", marks=pytest.mark.full), "RDB"])
def test_a_dump_that_was_written_in_order_is_led_from_again(instance, pods, mode):
    shop = instance(replicas=2, persistence={"mode": mode})
    shop.put(KEYS)
    pods.delete(*shop.members)
    shop.wait_until_serving()
    assert {each: shop.count(each) for each in shop.members} == dict.fromkeys(shop.members, KEYS)


@pytest.mark.parametrize(
    ("storage", "mode"),
    [
        ("0", None),
        pytest.param("64Mi", "None", marks=pytest.mark.full),
        pytest.param("64Mi", "RDB", marks=pytest.mark.full),
    ],
)
def test_a_home_that_lost_data_holds_and_the_replica_keeps_them(instance, kubectl, pods, storage, mode):
    shop = instance(replicas=2, storage=storage, persistence={"mode": mode} if mode else {})
    shop.put(KEYS)
    pods.kill_container("shop-0")
    kubectl.wait_for("home holds", lambda: "redisop: hold: " in kubectl("logs", "shop-0", "--container=redis"), 90)
    assert shop.roles()["shop-0"] == "parked"
    assert not pods.are_ready("shop-0")
    # What the replica has cannot be asked for while it is cut off from everybody else; its own count tells.
    keyspace = shop.redis_cli.info("shop-1", "keyspace")
    assert keyspace["db0"].startswith(f"keys={KEYS},")


@pytest.mark.parametrize("victim", ["shop-0", "shop-1"])
def test_a_crashed_process_comes_back_in_its_role_with_every_key(instance, pods, kubectl, victim):
    shop = instance(replicas=2)
    shop.put(KEYS)
    pods.kill_container(victim)
    kubectl.wait_for("the restart", lambda: pods.restarts(victim) == 1)
    shop.wait_until_serving()
    assert {each: shop.count(each) for each in shop.members} == dict.fromkeys(shop.members, KEYS)


@pytest.mark.alone
@pytest.mark.full
def test_a_node_that_loses_power_comes_back_with_its_members(instance, cluster, pods):
    shop = instance(replicas=3)
    shop.put(KEYS)
    node = pods.node("shop-0")
    cluster.kill(node)
    cluster.start(node)
    shop.wait_until_serving(180)
    assert {each: shop.count(each) for each in shop.members} == dict.fromkeys(shop.members, KEYS)


def test_scaling_and_hibernation_keep_data_and_restart_nobody(instance, kubectl, pods):
    shop = instance(replicas=1)
    shop.put(KEYS)
    uid = kubectl.get("pod", "shop-0")["metadata"]["uid"]

    shop.apply(replicas=3)
    shop.wait_until_serving(150)
    assert {each: shop.count(each) for each in shop.members} == dict.fromkeys(shop.members, KEYS)
    assert kubectl.get("pod", "shop-0")["metadata"]["uid"] == uid
    assert pods.restarts("shop-0") == 0

    shop.apply(replicas=0, persistence={"retention": {"whenScaled": "Delete"}})
    kubectl.wait_for("no pods", lambda: not kubectl.list("pods", "redis-cr=shop"))
    assert len(kubectl.list("persistentvolumeclaims")) == 3
    shop.apply(replicas=3)
    shop.wait_until_serving()
    assert {each: shop.count(each) for each in shop.members} == dict.fromkeys(shop.members, KEYS)


@pytest.mark.alone
@pytest.mark.parametrize("mode", ["AOF", pytest.param("RDB", marks=pytest.mark.full)])
def test_gitops_changes_what_follows_from_the_field_and_rolls_without_losing_a_key(
    instance, kubectl, writer, redis_cli, tmp_path, record_property, mode
):
    shop = instance(replicas=2, persistence={"mode": mode})
    shop.put(KEYS)
    before = _folder(shop, tmp_path / "before")
    assert "configured" not in kubectl("apply", "--server-side", "-k", str(before))

    shop.document["spec"]["pod"] = {"labels": {"team": "shop"}}
    after = _folder(shop, tmp_path / "after")
    files = [path.relative_to(after) for path in after.rglob("*.yaml")]
    changed = [path.name for path in files if (after / path).read_text() != (before / path).read_text()]
    assert changed == ["statefulset-shop.yaml"]

    uids = {member: kubectl.get("pod", member)["metadata"]["uid"] for member in shop.members}
    w = writer(shop.primary_service)
    kubectl("apply", "--server-side", "-k", str(after))
    kubectl.wait_for(
        "every pod is new", lambda: all(kubectl.get("pod", each)["metadata"]["uid"] != uids[each] for each in uids), 150
    )
    shop.wait_until_serving()
    w.stop()
    record_property("write outage of an unmanaged roll, seconds", f"{w.longest_gap():.1f}")
    print(f"write outage of an unmanaged roll: {w.longest_gap():.1f} s")
    assert {each: shop.count(each) for each in shop.members} == dict.fromkeys(shop.members, KEYS)
    assert w.lost(redis_cli.client(shop.primary_service).keys()) == []


def _folder(shop: Instance, folder: Path) -> Path:
    """Render into a folder with a kustomization over it, as GitOps does."""
    redisop("render", "-f", "-", "--output-dir", str(folder), stdin=yaml.safe_dump(shop.document))
    if not (folder / "kustomization.yaml").exists():
        resources = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.yaml"))
        (folder / "kustomization.yaml").write_text(yaml.safe_dump({"resources": resources}))
    return folder


PASSWORDS = {
    "shell": b"""pa$$ `id` $(id) "quoted" 'single' \\ back\\\\slash #hash ;|&<>*?[]{}~!""",
    "bytes": bytes(range(1, 10)) + bytes(range(11, 256)),
    "newline": "mit Zeilenende und Umlaut: süß\n".encode(),
}


@pytest.mark.parametrize("password", PASSWORDS.values(), ids=PASSWORDS)
def test_a_password_of_any_bytes_works_and_stands_in_no_argument_or_environment(
    instance, kubectl, pods, redis_cli, password
):
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "shared"}}
    kubectl.apply(secret | {"data": {"key": base64.b64encode(password).decode()}})
    instance(replicas=2, auth={"secretRef": {"name": "shared", "key": "key"}})
    assert redis_cli("svc/shop-master", "SET", "greeting", "hello") == "OK"
    shown = b"".join(
        Path(f"/proc/{process}/{file}").read_bytes()
        for process in pods.processes("shop-0")
        for file in ("cmdline", "environ")
    )
    assert shown
    assert password.removesuffix(b"\n") not in shown


def test_metrics_come_from_the_exporter(instance, kubectl, pods):
    instance(replicas=1, monitoring={"exporter": {"enabled": True}})
    containers = kubectl.get("pod", "shop-0")["status"]["containerStatuses"]
    assert {status["name"]: status["ready"] for status in containers} == {"redis": True, "exporter": True}
    with urlopen(f"http://{pods.address('shop-0')}:9121/metrics", timeout=5) as answer:
        assert answer.status == 200
