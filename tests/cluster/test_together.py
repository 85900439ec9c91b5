"""Two runs at the same time: both end well, nothing is there twice and nothing is lost."""

KEYS = 200


def test_two_runs_at_the_same_time_bring_up_and_change_one_instance(managed):
    shop = managed(replicas=2, storage="64Mi")
    both_end_well(shop)
    assert len(shop.kubectl.list("secrets")) == len(shop.kubectl.list("statefulsets")) == 1
    shop.wait_until_serving()
    shop.put(KEYS)
    before = [shop.uids("persistentvolumeclaims"), shop.uids("secrets"), shop.run_ids()]

    config, policy = {"timeout": "7"}, {"enabled": True}
    both_end_well(shop, storage="128Mi", config=config, networkPolicy=policy, disruption={"maxUnavailable": 2})
    assert [shop.uids("persistentvolumeclaims"), shop.uids("secrets"), shop.run_ids()] == before
    assert shop.roles() == {"shop-0": "primary", "shop-1": "replica"}
    assert [shop.setting(member, "timeout") for member in shop.members] == ["7", "7"]
    assert {member: shop.count(member) for member in shop.members} == dict.fromkeys(shop.members, KEYS)
    assert len(shop.kubectl.list("networkpolicies")) == 1
    assert shop.kubectl.get("poddisruptionbudget", "shop")["spec"]["maxUnavailable"] == 2
    claims = shop.kubectl.list("persistentvolumeclaims")
    assert {claim["status"]["capacity"]["storage"] for claim in claims} == {"128Mi"}
    assert "nothing to do" in shop.up()


def both_end_well(shop, **spec):
    runs = [shop.start(**spec), shop.start(**spec)]
    said = ["".join(run.communicate()) for run in runs]
    assert [run.returncode for run in runs] == [0, 0], "\n".join(said)
