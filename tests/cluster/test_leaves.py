"""Fields of every group of the spec: `diff` says before what a change does to the running Redis, and so it is."""

import json

import pytest

from tests.cluster.managed import Managed
from tests.convergence.test_leaves import document

KEYS = 200
MIB = 1 << 20
READ = {"name": "READ", "value": "1"}
LINUX = {"kubernetes.io/os": "linux"}
TAINT = {"key": "a", "operator": "Exists"}
# By field: a value, and where `diff` must show that it goes.
NONE = {
    "services.primary.type": ("NodePort", "Service/shop-master", "spec.type"),
    "services.read.annotations": ({"team": "x"}, "Service/shop-read", "metadata.annotations"),
    "network.ipFamilyPolicy": ("PreferDualStack", "Service/shop-headless", "spec.ipFamilyPolicy"),
    "networkPolicy.enabled": (True, "NetworkPolicy/shop", ""),
    "disruption.maxUnavailable": (0, "PodDisruptionBudget/shop", "spec.maxUnavailable"),
    "update.minReadySeconds": (1, "StatefulSet/shop", "spec.minReadySeconds"),
    "persistence.retention.whenScaled": (
        "Delete",
        "StatefulSet/shop",
        "spec.persistentVolumeClaimRetentionPolicy.whenScaled",
    ),
    "persistence.retention.whenDeleted": ("Delete", "Secret/shop-auth", "metadata.ownerReferences"),
    "replication.policy": ("Durable", "ConfigMap/shop-config", "data.policy"),
    "probes.maxLag": ("20s", "ConfigMap/shop-config", "data.max-lag"),
    "metadata.inherit.labels": (["team"], "ServiceAccount/shop", "metadata.labels.team"),
    "deletion.protected": (True, "Redis/shop", "spec.deletion.protected"),
}
FILE = ("ConfigMap/shop-config", "data.redis.conf")
LIVE = {
    "config": ({"timeout": "5", "notify-keyspace-events": "Ex"}, *FILE),
    "tuning.maxmemory": ("50%", *FILE),
    "tuning.maxmemoryPolicy": ("allkeys-lru", *FILE),
    "tuning.replicationBacklog": ("2Mi", *FILE),
    "persistence.mode": ("Both", *FILE),
    "persistence.appendfsync": ("Always", *FILE),
    "persistence.save": ([{"seconds": 900, "changes": 9}], *FILE),
}
RUNNING = {
    "timeout": "5",
    "notify-keyspace-events": "xE",  # Redis' own order
    "maxmemory": str(32 * MIB),
    "maxmemory-policy": "allkeys-lru",
    "repl-backlog-size": str(2 * MIB),
    "appendonly": "yes",
    "appendfsync": "always",
    "save": "900 9",
}
REDIS = "spec.template.spec.containers[redis]"
ROLLING = {
    "image": ("redis:7.0-bookworm", "StatefulSet/shop", f"{REDIS}.image"),
    "memory": ("96Mi", "StatefulSet/shop", f"{REDIS}.resources.limits.memory"),
    "config": ({"databases": "3"}, "StatefulSet/shop", "spec.template.metadata.annotations"),
    "pod.env": ([READ], "StatefulSet/shop", f"{REDIS}.env[READ]"),
    "pod.terminationGracePeriodSeconds": (40, "StatefulSet/shop", "spec.template.spec.terminationGracePeriodSeconds"),
    "probes.liveness.period": ("20s", "StatefulSet/shop", f"{REDIS}.livenessProbe.periodSeconds"),
    "scheduling.nodeSelector": (LINUX, "StatefulSet/shop", "spec.template.spec.nodeSelector"),
    "scheduling.tolerations": ([TAINT], "StatefulSet/shop", "spec.template.spec.tolerations"),
    "monitoring.exporter.enabled": (True, "StatefulSet/shop", "spec.template.spec.containers[exporter]"),
}


@pytest.fixture
def shop(managed) -> Managed:
    shop = managed(replicas=2, storage="64Mi")
    shop.document["metadata"]["labels"] = {"team": "y"}
    shop.up()
    shop.put(KEYS)
    return shop


def ask_for(shop: Managed, leaves: dict) -> None:
    base = {"replicas": 2, "storage": "64Mi", "memory": "64Mi", "image": "redis:7.0-alpine"}
    shop.document["spec"] = base | document({leaf: value for leaf, (value, *_) in leaves.items()})


def consequences(shop: Managed, leaves: dict) -> set[str]:
    """Return all that `diff` says; it must show each of `leaves` where it goes."""
    shown = [
        (f"{change['object']['kind']}/{change['object']['name']}", one.get("field", ""), one["consequence"])
        for change in shop.differences()
        for one in (change["differences"] or [change])
    ]
    for leaf, (_, where, field) in leaves.items():
        assert [one for one in shown if one[0] == where and one[1].startswith(field)], (leaf, shown)
    return {consequence for _, _, consequence in shown}


def test_what_is_said_to_do_nothing_or_to_happen_live_restarts_nothing(shop):
    objects, processes = shop.objects(), shop.run_ids()

    ask_for(shop, NONE)
    assert consequences(shop, NONE) == {"none"}
    shop.up()
    assert shop.run_ids() == processes
    assert shop.kubectl.get("redis", "shop")["metadata"]["finalizers"]
    assert consequences(shop, {}) == set()

    ask_for(shop, LIVE)
    assert consequences(shop, LIVE) == {"none", "live"}
    shop.up()
    assert shop.run_ids() == processes
    for member in shop.members:
        assert {key: shop.setting(member, key) for key in RUNNING} == RUNNING

    ask_for(shop, {})
    assert consequences(shop, LIVE) == {"none", "live"}
    shop.up()
    assert shop.run_ids() == processes
    assert shop.objects() == objects
    for member in shop.members:
        assert [shop.setting(member, key) for key in ("timeout", "maxmemory")] == ["0", str(48 * MIB)]
    assert {member: shop.count(member) for member in shop.members} == dict.fromkeys(shop.members, KEYS)


def test_what_needs_a_restart_waits_for_it_and_the_status_names_who_must(shop, pods):
    objects, processes = shop.objects(), shop.run_ids()

    ask_for(shop, ROLLING)
    assert consequences(shop, ROLLING) == {"none", "live", "rolling"}
    said = shop.up()
    assert shop.run_ids() == processes
    assert shop.setting("shop-1", "databases") == "16"
    assert shop.setting("shop-1", "maxmemory") == str(72 * MIB)
    outdated = "shop-0, shop-1 must restart to run what is wanted"
    assert shop.condition("UpdatePending")["message"] == outdated
    assert outdated in said

    pods.delete("shop-1")
    shop.up()
    redis = next(each for each in shop.kubectl.get("pod", "shop-1")["spec"]["containers"] if each["name"] == "redis")
    assert (redis["image"], redis["resources"]["limits"]["memory"]) == ("redis:7.0-bookworm", "96Mi")
    assert READ in redis["env"]
    assert shop.setting("shop-1", "databases") == "3"
    assert pods.are_ready("shop-0", "shop-1")
    assert shop.condition("UpdatePending")["message"] == "shop-0 must restart to run what is wanted"
    assert {member: shop.count(member) for member in shop.members} == dict.fromkeys(shop.members, KEYS)

    ask_for(shop, {})
    assert consequences(shop, ROLLING) == {"none", "live", "rolling"}
    now = shop.run_ids()
    shop.up()
    assert shop.run_ids() == now
    assert shop.objects() == objects
    assert shop.condition("UpdatePending")["message"] == "shop-1 must restart to run what is wanted"


def test_volumes_and_the_stateful_set_itself_are_made_anew_under_running_pods(shop):
    processes = shop.run_ids()

    shop.document["spec"]["storage"] = "128Mi"
    grown = {
        "": ("", "PersistentVolumeClaim/data-shop-0", "spec.resources.requests.storage"),
        "storage": ("", "StatefulSet/shop", "spec.volumeClaimTemplates"),
    }
    assert consequences(shop, grown) == {"none", "volume"}
    shop.up()
    assert shop.run_ids() == processes

    by_others = shop.kubectl.get("statefulset", "shop")
    by_others["spec"]["podManagementPolicy"] = "OrderedReady"
    for field in ("resourceVersion", "uid"):
        del by_others["metadata"][field]
    shop.kubectl("delete", "statefulset", "shop", "--cascade=orphan")
    shop.kubectl("create", "--filename=-", stdin=json.dumps(by_others))
    assert consequences(shop, {"": ("", "StatefulSet/shop", "spec.podManagementPolicy")}) == {"replace"}
    shop.up()
    assert shop.run_ids() == processes
    assert shop.kubectl.get("statefulset", "shop")["spec"]["podManagementPolicy"] == "Parallel"
    assert {member: shop.count(member) for member in shop.members} == dict.fromkeys(shop.members, KEYS)
