"""A `Redis` is brought up with one write an object, and from then on costs none."""

import threading

import pytest

from redisop import names
from redisop.render import render
from tests.cluster.api_server import ApiServer
from tests.cluster.kubectl import Kubectl
from tests.convergence.fault_proxy import is_write
from tests.convergence.site import Site, short, until

CHILDREN = {
    *("serviceaccounts/r", "secrets", "configmaps/r-config", "services/r-headless", "services/r-master"),
    *("services/r-read", "poddisruptionbudgets/r", "statefulsets/r"),
}


def test_a_new_instance_is_brought_up_with_one_write_an_object_and_few_requests_more(site: Site) -> None:
    outcome = site.run(*site.put(replicas=3))
    assert (outcome.settled, outcome.status["phase"], outcome.failures) == (True, "Running", ())
    assert {each.partition(" ")[2] for each in site.written} == {*CHILDREN, "redises/r/status"}
    assert len(site.writes) == len(CHILDREN) + 1
    assert len(site.proxy.seen) - len(CHILDREN) <= 8, [short(seen) for seen in site.proxy.seen]
    assert site.get("Redis", "r")["status"] == outcome.status
    assert outcome.status["masterPodName"] == "r-0"
    assert outcome.status["slavePodNames"] == ["r-1", "r-2"]
    assert outcome.status["storage"] == {"requested": "1Gi", "actual": "1Gi"}


@pytest.mark.parametrize("replicas", [1, 3])
def test_a_second_run_writes_nothing_and_asks_once_a_kind(site: Site, api_server: ApiServer, replicas: int) -> None:
    site.up(replicas=replicas)
    since = api_server.audit.bookmark()
    outcome = site.run()
    assert (outcome.settled, outcome.changes, site.written) == (True, (), [])
    asked = [seen.path.partition("/namespaces/")[2].split("/")[1] for seen in site.proxy.seen]
    assert sorted(asked) == sorted(set(asked)), asked
    assert set(asked) <= {kind.plural for kind in (*names.KINDS, names.POD, names.CLAIM)}
    ours = [each for each in api_server.audit.writes(since, namespace=site.namespace) if "redisop" in each.user_agent]
    assert ours == []


def test_the_watch_ends_with_the_run(site: Site, capfd: pytest.CaptureFixture[str]) -> None:
    site.up(replicas=2)
    assert [seen for seen in site.proxy.seen if "watch" in seen.query], "nothing was waited for"
    until(lambda: not [thread for thread in threading.enumerate() if thread.name == "watch r"], seconds=10)
    assert capfd.readouterr().err == ""


def test_what_kubectl_applied_is_adopted_with_owners_the_strategy_and_the_status(site: Site, kubectl: Kubectl) -> None:
    redis, _ = site.put(replicas=2, networkPolicy={"enabled": True})
    rendered = render(redis.metadata.model_copy(update={"uid": None}), redis.spec)
    kubectl.apply(rendered, "--field-manager=redisop")
    outcome = site.run(redis)
    assert outcome.settled, outcome.status
    changed = {one.field for change in outcome.changes if change.verb == "update" for one in change.differences}
    assert changed == {"metadata.ownerReferences", "spec.updateStrategy.type"}
    made = [change.key.kind for change in outcome.changes if change.verb == "create"]
    assert made == ["Secret"]
    assert len(site.writes) == len(rendered) + 2, site.written
    site.run()
    assert site.written == []


def test_no_dry_run_is_made_where_the_document_changed(site: Site) -> None:
    site.up(replicas=2)
    site.up(replicas=2, memory="512Mi", pod={"env": [{"name": "A", "value": "b"}]})
    assert [seen for seen in site.proxy.seen if "dryRun" in seen.query] == []
    assert {short(seen) for seen in site.proxy.seen if is_write(seen)} == {
        *("PATCH configmaps/r-config", "PATCH statefulsets/r", "PATCH redises/r/status")
    }
