"""More members and fewer, by the document and by `kubectl scale`: the one that was there never restarts."""

KEYS = 200


def test_members_come_and_go_by_the_document_and_by_kubectl_scale(managed, kubectl):
    shop = managed(replicas=1, storage="64Mi")
    shop.up()
    shop.put(KEYS)
    first = shop.run_ids()

    shop.up(replicas=3)
    shop.wait_until_serving()
    assert {member: shop.count(member) for member in shop.members} == dict.fromkeys(shop.members, KEYS)
    assert first.items() <= shop.run_ids().items()

    shop.up(replicas=1)
    assert shop.run_ids() == first
    assert (shop.roles(), shop.count("shop-0")) == ({"shop-0": "primary"}, KEYS)
    assert len(kubectl.list("persistentvolumeclaims")) == 3

    kubectl("scale", "rd", "shop", "--replicas=2")
    shop.document["spec"]["replicas"] = 2
    process = shop.redisop("reconcile", "--once", "shop")
    said = process.communicate()
    assert process.returncode == 0, said
    shop.wait_until_serving()
    assert {member: shop.count(member) for member in shop.members} == dict.fromkeys(shop.members, KEYS)
    assert first.items() <= shop.run_ids().items()
    assert kubectl("get", "rd/shop", "--output=jsonpath={.status.replicas} {.status.readyReplicas}") == "2 2"
