"""`reconcile --once` on the whole cluster: up, quiet, larger, asleep and awake; the audit log judges the writes."""

import pytest

from tests.cluster.managed import Managed

KEYS = 200


@pytest.fixture
def shop(managed) -> Managed:
    return managed(replicas=3, storage="64Mi")


def test_a_new_instance_serves_and_a_second_run_writes_nothing(shop, audit):
    since = audit.bookmark()
    first = shop.once()
    assert first.returncode == 0, first.stderr
    shop.wait_until_serving()
    ours = [write for write in audit.writes(since, namespace=shop.kubectl.namespace) if "redisop" in write.user_agent]
    objects = [(write.resource, write.name) for write in ours if "/status" not in write.resource]
    assert len(objects) == len(set(objects)) == 9, objects

    since = audit.bookmark()
    second = shop.once()
    assert (second.returncode, "nothing to do" in second.stdout) == (0, True), second.stdout + second.stderr
    assert [
        write for write in audit.writes(since, namespace=shop.kubectl.namespace) if "redisop" in write.user_agent
    ] == []
    shop.kubectl("wait", "--for=condition=Ready", "redis/shop", "--timeout=5s")


def test_rendered_and_applied_objects_are_adopted_and_no_pod_restarts(shop, audit):
    shop.create_secret()
    shop.kubectl("apply", "--server-side", "--field-manager=redisop", "-f", "-", stdin=shop.rendered())
    shop.wait_until_serving()
    shop.put(KEYS)
    before = shop.uids()
    done = shop.once()
    assert done.returncode == 0, done.stderr
    assert shop.uids() == before
    assert shop.count("shop-0") == KEYS
    owner = shop.kubectl.get("statefulset", "shop")["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["name"]) == ("Redis", "shop")


def test_volumes_grow_in_place(shop):
    assert shop.once().returncode == 0
    shop.put(KEYS)
    before = shop.uids()
    done = shop.once(storage="128Mi")
    assert done.returncode == 0, done.stderr
    assert shop.uids() == before
    claims = shop.kubectl.list("persistentvolumeclaims")
    assert {claim["status"]["capacity"]["storage"] for claim in claims} == {"128Mi"}
    shrunk = shop.once(storage="64Mi")
    assert shrunk.returncode == 3
    assert "storage" in shrunk.stderr


def test_all_pods_gone_and_asleep_and_awake_keep_every_key(shop, pods):
    assert shop.once().returncode == 0
    shop.put(KEYS)
    pods.delete(*shop.members)
    done = shop.once()
    assert done.returncode == 0, done.stderr
    assert {member: shop.count(member) for member in shop.members} == dict.fromkeys(shop.members, KEYS)

    asleep = shop.once(replicas=0)
    assert asleep.returncode == 0, asleep.stderr
    assert len(shop.kubectl.list("persistentvolumeclaims")) == 3
    awake = shop.once(replicas=3)
    assert awake.returncode == 0, awake.stderr
    shop.wait_until_serving()
    assert {member: shop.count(member) for member in shop.members} == dict.fromkeys(shop.members, KEYS)
