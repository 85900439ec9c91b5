"""Two runs at the same time: both end well, nothing is there twice and nothing is lost."""

import threading

import pytest

from tests.convergence.fault_proxy import Exchange, is_write

KEYS = 200


@pytest.fixture
def both_end_well(proxy, tmp_path):
    """Start two runs that meet at their first write to one place; what they then do they do at the same time."""
    kubeconfig = proxy.kubeconfig(tmp_path, "admin-token")

    def both_end_well(shop, place, **spec):
        both = threading.Barrier(2)

        def meet(exchange: Exchange) -> None:
            both.wait(60)
            exchange.pass_on()

        proxy.inject(meet, lambda seen: is_write(seen) and f"/{place}" in seen.path, times=2)
        runs = [shop.start(kubeconfig=kubeconfig, **spec) for _ in range(2)]
        said = ["".join(run.communicate()) for run in runs]
        assert [run.returncode for run in runs] == [0, 0], "\n".join(said)
        assert not both.broken
        proxy.heal()

    return both_end_well


def test_two_runs_at_the_same_time_bring_up_and_change_one_instance(managed, both_end_well, audit):
    shop = managed(replicas=2, storage="64Mi")
    since = audit.bookmark()
    both_end_well(shop, "secrets")
    writes = audit.writes(since, namespace=shop.kubectl.namespace)
    assert sorted(write.code for write in writes if write.resource == "secrets") == [201, 409]
    assert len(shop.kubectl.list("secrets")) == len(shop.kubectl.list("statefulsets")) == 1
    shop.wait_until_serving()
    shop.put(KEYS)
    before = [shop.uids("persistentvolumeclaims"), shop.uids("secrets"), shop.run_ids()]

    config, policy = {"timeout": "7"}, {"enabled": True}
    budget = {"maxUnavailable": 2}
    both_end_well(shop, "statefulsets", storage="128Mi", config=config, networkPolicy=policy, disruption=budget)
    assert [shop.uids("persistentvolumeclaims"), shop.uids("secrets"), shop.run_ids()] == before
    assert shop.roles() == {"shop-0": "primary", "shop-1": "replica"}
    assert [shop.setting(member, "timeout") for member in shop.members] == ["7", "7"]
    assert {member: shop.count(member) for member in shop.members} == dict.fromkeys(shop.members, KEYS)
    assert len(shop.kubectl.list("networkpolicies")) == 1
    assert shop.kubectl.get("poddisruptionbudget", "shop")["spec"]["maxUnavailable"] == 2
    claims = shop.kubectl.list("persistentvolumeclaims")
    assert {claim["status"]["capacity"]["storage"] for claim in claims} == {"128Mi"}
    assert "nothing to do" in shop.up()
