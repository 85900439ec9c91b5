"""Settings that Redis takes while it runs: on the members first, in the file then."""

import pytest

from redisop.live.kube import Kube
from redisop.plan.actions import Configure
from tests.convergence.fault_proxy import Exchange
from tests.convergence.site import Site
from tests.convergence.test_forgetful import Killed, Mortal


def file(site: Site) -> str:
    return site.get("ConfigMap", "r-config")["data"]["redis.conf"]


def configured(site: Site) -> list[Configure]:
    return [action for action in site.members.performed if isinstance(action, Configure)]


def test_a_setting_is_on_every_member_before_the_file_says_it(site: Site) -> None:
    site.up(replicas=2, config={"hz": "10"})
    said: list[bool] = []

    def look(exchange: Exchange) -> None:
        said.append(all(site.members.settings.get(pod) == {"timeout": "5"} for pod in ("r-0", "r-1")))
        exchange.pass_on()

    site.proxy.inject(look, when=lambda seen: seen.method == "PATCH" and seen.path.endswith("/configmaps/r-config"))
    outcome = site.up(replicas=2, config={"hz": "10", "timeout": "5"})
    assert said == [True]
    assert "timeout 5" in file(site)
    assert site.written == ["PATCH configmaps/r-config", "PATCH redises/r/status"]
    assert [str(change.consequence) for change in outcome.changes] == ["live"]
    site.run()
    assert len(configured(site)) == 1


def test_killed_between_members_and_file_it_is_done_again(site: Site) -> None:
    site.up(replicas=2)
    redis, _ = site.put(replicas=2, config={"timeout": "5"})
    with pytest.raises(Killed):
        site.run(redis, kube=Kube(Mortal(site.kube._session, 1, after=False)))
    assert (len(configured(site)), "timeout" in file(site)) == (1, False)
    site.members.settings.clear()
    assert site.run().settled
    assert site.members.settings == {"r-0": {"timeout": "5"}, "r-1": {"timeout": "5"}}
    assert "timeout 5" in file(site)


def test_what_members_refuse_is_told_of_each_and_does_not_reach_the_file(site: Site) -> None:
    site.up(replicas=3)
    site.members.deaf = {"r-1", "r-2"}
    redis, _ = site.put(replicas=3, config={"timeout": "5"}, networkPolicy={"enabled": True})
    outcome = site.run(redis)
    assert not outcome.settled
    assert outcome.refusals == ("Pod r-1 refused; Pod r-2 refused",)
    assert "timeout" not in file(site)
    assert site.find("NetworkPolicy", "r")
    stalled, ready = site.condition("Stalled"), site.condition("Ready")
    assert stalled
    assert ready
    assert "r-1 refused; Pod r-2" in stalled["message"]
    assert (ready["status"], ready["reason"]) == ("False", "ActionRefused")
    site.members.deaf.clear()
    assert site.run().settled
    assert "timeout 5" in file(site)


def test_a_member_that_did_not_answer_gets_the_setting_when_it_does_and_until_then_nothing_is_settled(
    site: Site,
) -> None:
    site.up(replicas=3)
    site.members.silent = {"r-1"}
    site.put(replicas=3, config={"timeout": "5"})
    outcome = site.run(seconds=4)
    assert not outcome.settled
    assert site.members.settings == {"r-0": {"timeout": "5"}, "r-2": {"timeout": "5"}}
    assert "timeout" not in file(site)
    ready = site.condition("Ready")
    assert ready
    assert (ready["status"], ready["reason"]) == ("False", "SettingsPending")
    assert ready["message"].endswith(
        "did not accept a connection within 1.0 s; what it runs with is set when it answers"
    )
    site.members.silent.clear()
    outcome = site.run()
    assert outcome.settled
    assert site.members.settings["r-1"] == {"timeout": "5"}
    assert "timeout 5" in file(site)
    site.run()
    assert site.written == []


def test_a_member_that_does_not_run_reads_the_file_when_it_does_and_holds_up_nothing(site: Site) -> None:
    site.up(replicas=3)
    site.members.silent = {"r-1"}
    waiting = {"name": "redis", "image": "i", "imageID": "", "ready": False, "restartCount": 3}
    waiting["state"] = {"waiting": {"reason": "CrashLoopBackOff"}}
    site.set_status(
        "Pod", "r-1", {"containerStatuses": [waiting], "conditions": [{"type": "Ready", "status": "False"}]}
    )
    site.run(site.put(replicas=3, config={"timeout": "5"})[0], wait=False)
    assert "timeout 5" in file(site)


def test_other_facts_of_the_file_do_not_wait_for_a_setting_that_is_refused(site: Site) -> None:
    site.up(replicas=3)
    site.members.deaf = {"r-1"}
    site.run(site.put(replicas=2, config={"timeout": "5"})[0])
    assert site.get("ConfigMap", "r-config")["data"]["members"] == "2"
    assert "timeout" not in file(site)


def test_a_key_that_needs_a_restart_is_not_set_and_marks_the_template(site: Site) -> None:
    site.up(replicas=2)
    outcome = site.up(replicas=2, config={"databases": "3"})
    assert configured(site) == []
    assert "databases 3" in file(site)
    assert {str(change.consequence) for change in outcome.changes} == {"live", "rolling"}
    pending = site.condition("UpdatePending")
    assert pending
    assert "r-0, r-1" in pending["message"]


def test_without_members_the_file_alone_is_written(site: Site) -> None:
    site.up(replicas=0)
    site.up(replicas=0, config={"timeout": "5"})
    assert (configured(site), "timeout 5" in file(site)) == ([], True)
