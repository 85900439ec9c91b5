"""From asleep to protected: what the life of a `Redis` does to its children, its volumes and its password."""

import base64
import dataclasses

import pytest

from redisop import render
from redisop.api.defaults import TABLES
from redisop.manifest import Manifest
from redisop.names import FINALIZER
from redisop.plan.actions import Follow, Promote
from tests.convergence.site import Site, until
from tests.convergence.test_volumes import replaced, sizes


def ready(site: Site) -> Manifest:
    condition = site.condition("Ready")
    assert condition
    return condition


def owner_kinds(site: Site, kind: str, name: str) -> list[str]:
    return [owner["kind"] for owner in site.get(kind, name)["metadata"].get("ownerReferences", [])]


# -- paused, asleep, larger, smaller ----------------------------------------------------------------------------------


def test_a_paused_instance_is_left_alone_and_says_so(site: Site) -> None:
    site.up(replicas=2)
    site.edit("Service", "r-master", {"spec": {"selector": {"statefulset.kubernetes.io/pod-name": "r-9"}}})
    outcome = site.run(site.put(replicas=3, paused=True)[0])
    assert (outcome.settled, outcome.status["phase"], site.written) == (True, "Paused", ["PATCH redises/r/status"])
    assert site.get("StatefulSet", "r")["spec"]["replicas"] == 2
    site.up(replicas=3)
    assert site.get("Service", "r-master")["spec"]["selector"] == {"statefulset.kubernetes.io/pod-name": "r-0"}


def test_pods_and_claims_of_the_users_own_with_copied_labels_are_no_members(site: Site) -> None:
    site.up(replicas=1)
    labels = {"app": "redis", "redis-cr": "r"}
    container = {"name": "c", "image": "busybox"}
    request = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    for name in ("toolbox", "r-copy-7", "r-007"):
        metadata = {"name": name, "namespace": site.namespace, "labels": labels}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": request}
        site.behind.create(pod)
        site.behind.create(claim)
    outcome = site.run()
    assert (outcome.settled, site.written) == (True, [])
    assert [member["name"] for member in outcome.status["members"]] == ["r-0"]


def test_an_instance_that_sleeps_keeps_everything_but_its_pods_and_wakes_with_the_same_primary(site: Site) -> None:
    spec = {"persistence": {"retention": {"whenScaled": "Delete", "whenDeleted": "Delete"}}}
    site.up(replicas=3, **spec)
    kept = {key for key in site.objects() if key.kind not in {"Pod", "PodDisruptionBudget"}}
    outcome = site.up(replicas=0, **spec)
    assert outcome.status["phase"] == "Hibernated"
    policy = site.get("StatefulSet", "r")["spec"]["persistentVolumeClaimRetentionPolicy"]
    assert policy == {"whenDeleted": "Delete", "whenScaled": "Retain"}
    until(lambda: not [key for key in site.objects() if key.kind == "Pod"])
    assert set(site.objects()) == kept
    site.run()
    assert site.written == []
    assert site.up(replicas=3, **spec).status["masterPodName"] == "r-0"


def test_an_instance_that_sleeps_wakes_with_the_primary_that_it_had(site: Site) -> None:
    site.up(replicas=3)
    lead(site, "r-2")
    assert site.up(replicas=3).status["masterPodName"] == "r-2"
    site.up(replicas=0)
    assert site.get("ConfigMap", "r-config")["data"]["home"] == "2"
    until(lambda: not [key for key in site.objects() if key.kind == "Pod"])
    site.up(replicas=3)
    assert site.members.vitals["r-2"].role == "primary"


def lead(site: Site, pod: str) -> None:
    """Let another member be primary, as a failover does."""
    vitals = site.members.vitals
    site.members.perform(Promote(vitals[pod], ""))
    others = tuple(member for name, member in vitals.items() if name != pod)
    for member in others:
        vitals[member.pod] = dataclasses.replace(member, role="replica")
    site.members.perform(Follow(tuple(vitals[member.pod] for member in others), vitals[pod], ""))


def test_more_members_come_and_the_highest_go_while_their_claims_stay(site: Site) -> None:
    site.up(replicas=2)
    assert site.up(replicas=4).status["slavePodNames"] == ["r-1", "r-2", "r-3"]
    assert site.up(replicas=2).status["slavePodNames"] == ["r-1"]
    assert set(sizes(site)) == {"data-r-0", "data-r-1", "data-r-2", "data-r-3"}


def test_going_down_over_the_primary_waits_with_a_condition_and_the_rest_is_done(site: Site) -> None:
    site.up(replicas=3)
    lead(site, "r-2")
    site.up(replicas=3)
    outcome = site.run(site.put(replicas=2, config={"timeout": "7"})[0])
    assert (outcome.settled, outcome.stuck) == (False, True)
    assert site.get("StatefulSet", "r")["spec"]["replicas"] == 3
    assert "timeout 7" in site.get("ConfigMap", "r-config")["data"]["redis.conf"]
    held = site.condition("Held")
    assert held
    assert held["reason"] == ready(site)["reason"] == "PrimaryWouldGo"
    site.run()
    assert site.written == []
    lead(site, "r-0")
    assert site.up(replicas=2, config={"timeout": "7"}).status["masterPodName"] == "r-0"


def test_a_home_that_somebody_mistyped_brings_no_member_into_being(site: Site) -> None:
    site.up(replicas=2)
    site.edit("ConfigMap", "r-config", {"data": {"home": "14"}})
    site.up(replicas=2)
    assert site.get("ConfigMap", "r-config")["data"]["home"] == "0"
    site.up(replicas=0)
    site.edit("ConfigMap", "r-config", {"data": {"home": "14"}})
    site.up(replicas=2)
    assert site.get("StatefulSet", "r")["spec"]["replicas"] == 2


# -- protection -------------------------------------------------------------------------------------------------------


def test_the_finalizer_is_there_exactly_while_the_redis_is_protected(site: Site) -> None:
    site.up()
    assert site.redis().metadata.finalizers == ()
    site.up(deletion={"protected": True})
    assert site.redis().metadata.finalizers == (FINALIZER,)
    site.run()
    assert site.written == []
    site.edit("Redis", "r", {"metadata": {"finalizers": [FINALIZER, "example.com/other"]}})
    site.up(deletion={"protected": False})
    assert site.redis().metadata.finalizers == ("example.com/other",)
    site.edit("Redis", "r", {"metadata": {"finalizers": None}})


def test_a_protected_redis_keeps_its_children_until_it_is_released(site: Site) -> None:
    site.up(deletion={"protected": True})
    children = set(site.objects())
    site.behind.delete(site.key("Redis", "r"), site.redis().metadata.uid or "")
    outcome = site.run()
    assert (outcome.status["phase"], outcome.stuck) == ("Deleting", True)
    assert set(site.objects()) == children
    released, _ = site.put(deletion={"protected": False})
    outcome = site.run(released)
    assert site.find("Redis", "r") is None
    assert outcome.failures == ()
    assert site.written == ["PATCH redises/r"]


def test_protection_also_follows_while_paused(site: Site) -> None:
    site.up(deletion={"protected": True})
    site.up(paused=True)
    assert site.redis().metadata.finalizers == ()


# -- children ---------------------------------------------------------------------------------------------------------


def test_children_that_are_no_longer_wanted_go(site: Site) -> None:
    site.up(replicas=2, networkPolicy={"enabled": True})
    assert site.find("ServiceAccount", "r")
    site.up(replicas=1, pod={"serviceAccountName": "default"})
    gone = ["PodDisruptionBudget r", "NetworkPolicy r", "Service r-read", "ServiceAccount r"]
    assert [each for each in gone if site.find(*each.split())] == []
    deletions = [seen for seen in site.writes if seen.method == "DELETE"]
    assert len(deletions) == len(gone)
    assert all(b'"preconditions":{"uid":' in seen.body and b'"resourceVersion":' in seen.body for seen in deletions)


@pytest.mark.parametrize(
    ("kind", "name", "content"),
    [
        ("Service", "r-read", {"spec": {"ports": [{"port": 6379}]}}),
        ("Service", "r-master", {"spec": {"ports": [{"port": 6379}], "selector": {"app": "other"}}}),
        ("ConfigMap", "r-config", {"data": {"home": "5"}}),
        ("PodDisruptionBudget", "r", {"spec": {"maxUnavailable": 5}}),
    ],
)
@pytest.mark.parametrize("created", [True, False], ids=["new", "old"])
def test_an_object_of_somebody_else_is_left_alone_and_everything_else_is_done(
    site: Site, kind: str, name: str, content: Manifest, created: bool
) -> None:
    version = "policy/v1" if kind == "PodDisruptionBudget" else "v1"
    metadata = {"name": name, "namespace": site.namespace}
    made = site.behind.create({"apiVersion": version, "kind": kind, "metadata": metadata, **content})
    outcome = site.run(site.put(replicas=2)[0], created)
    after = site.get(kind, name)
    assert (after["metadata"]["resourceVersion"], after["metadata"].get("labels")) == (
        made["metadata"]["resourceVersion"],
        None,
    )
    assert [str(change.key) for change in outcome.changes if change.verb == "refuse"] == [
        f"{kind}/{site.namespace}/{name}"
    ]
    assert (outcome.settled, outcome.stuck, outcome.failures) == (False, True, ())
    assert len([key for key in site.objects() if key.kind == "Service"]) == 3
    assert site.find("StatefulSet", "r")
    assert outcome.status["masterPodName"] == "r-0"
    assert (ready(site)["status"], ready(site)["reason"]) == ("False", "NameTaken")
    stalled = site.condition("Stalled")
    assert stalled
    assert f"{kind}/{site.namespace}/{name}" in stalled["message"]
    site.run()
    assert site.written == []


def test_a_stateful_set_of_somebody_else_ends_the_run_at_once_and_says_nothing_of_this_redis(site: Site) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    site.behind.create(
        {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": {"name": "r", "namespace": site.namespace},
            "spec": {"serviceName": "x", "selector": {"matchLabels": {"a": "b"}}, "template": template},
        }
    )
    outcome = site.run(*site.put(), seconds=30)
    assert (outcome.settled, outcome.stuck) == (False, True)
    which = f"StatefulSet/{site.namespace}/r"
    assert [str(change.key) for change in outcome.changes if change.verb == "refuse"] == [which]
    assert outcome.status["message"].startswith(f"{which} belongs to somebody else")
    assert (outcome.status["phase"], ready(site)["reason"]) == ("Failed", "NameTaken")
    assert site.find("ConfigMap", "r-config")


# -- the password -----------------------------------------------------------------------------------------------------


def password(site: Site) -> bytes:
    return base64.b64decode(site.get("Secret", "r-auth")["data"]["password"])


def test_the_password_is_made_once_and_taken_up_by_the_next_of_that_name(site: Site) -> None:
    site.up()
    made = password(site)
    assert len(made) == 32
    assert owner_kinds(site, "Secret", "r-auth") == []
    replaced(site)
    site.run(site.redis(), created=True)
    assert password(site) == made
    site.run()
    assert (site.written, password(site)) == ([], made)


def test_the_secret_goes_with_the_redis_exactly_when_its_volumes_do(site: Site) -> None:
    going = {"retention": {"whenDeleted": "Delete"}}
    site.up(persistence=going)
    made = password(site)
    assert owner_kinds(site, "Secret", "r-auth") == ["Redis"]
    site.up()
    assert owner_kinds(site, "Secret", "r-auth") == []
    site.up(persistence=going)
    assert owner_kinds(site, "Secret", "r-auth") == ["Redis"]
    site.run()
    assert (site.written, password(site)) == ([], made)


def test_a_secret_of_somebody_else_is_used_and_not_touched(site: Site) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "r-auth", "namespace": site.namespace}}
    site.behind.create(secret | {"stringData": {"password": "chosen"}})
    site.up(persistence={"retention": {"whenDeleted": "Delete"}})
    assert (password(site), owner_kinds(site, "Secret", "r-auth")) == (b"chosen", [])


def test_a_secret_that_the_user_names_is_missed_by_name_and_found_when_it_comes(site: Site) -> None:
    named = {"secretRef": {"name": "mine", "key": "word"}}
    site.run(*site.put(auth=named))
    told = site.condition("SecretsInSync")
    assert told
    assert (told["reason"], "mine" in told["message"]) == ("SecretNotFound", True)
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "mine", "namespace": site.namespace}}
    site.behind.create(secret | {"stringData": {"other": "x"}})
    site.run()
    told = site.condition("SecretsInSync")
    assert told
    assert (told["reason"], "word" in told["message"]) == ("KeyNotFound", True)
    site.edit("Secret", "mine", {"stringData": {"word": "x"}})
    site.run()
    assert (site.condition("SecretsInSync") or {})["reason"] == "InSync"
    assert site.find("Secret", "r-auth") is None


# -- defaults ---------------------------------------------------------------------------------------------------------


def test_a_newer_table_of_defaults_moves_nothing_until_it_is_asked_for(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.up(replicas=2)
    newer = dataclasses.replace(TABLES[1], revision=2, version="7.2", readiness_period=3, backlog_share=8)
    monkeypatch.setitem(TABLES, 2, newer)
    monkeypatch.setattr(render, "NEWEST", 2)
    before = site.objects()
    outcome = site.run()
    assert (site.written, outcome.changes, outcome.status["defaultsRevision"]) == ([], (), 1)
    site.up(replicas=2, config={"timeout": "3"})
    assert (
        site.get("StatefulSet", "r")["metadata"]["resourceVersion"]
        == (before[site.key("StatefulSet", "r")]["metadata"]["resourceVersion"])
    )
    asked = site.redis()
    outcome = site.run(asked.model_copy(update={"spec": asked.spec.model_copy(update={"defaultsRevision": 2})}))
    stateful_set = site.get("StatefulSet", "r")
    container = stateful_set["spec"]["template"]["spec"]["containers"][0]
    assert container["image"] == "redis:7.2-alpine"
    assert (container["readinessProbe"]["periodSeconds"], outcome.status["defaultsRevision"]) == (3, 2)
    fresh = dataclasses.replace(site, name="fresh")
    fresh.up()
    assert fresh.get("StatefulSet", "fresh")["metadata"]["annotations"]["redisop.example.com/defaults-revision"] == "2"


def test_an_instance_without_its_stateful_set_keeps_its_table_of_defaults(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a process is killed while it makes a StatefulSet anew, and a newer redisop goes on."""
    site.up(replicas=2)
    before = site.get("StatefulSet", "r")
    monkeypatch.setitem(TABLES, 2, dataclasses.replace(TABLES[1], revision=2, version="7.2", readiness_period=3))
    monkeypatch.setattr(render, "NEWEST", 2)
    site.behind.delete(site.key("StatefulSet", "r"), before["metadata"]["uid"], propagation="Orphan")
    until(lambda: site.find("StatefulSet", "r") is None)
    outcome = site.run()
    after = site.get("StatefulSet", "r")
    assert [(change.verb, change.key.kind) for change in outcome.changes] == [("create", "StatefulSet")]
    assert after["spec"] == before["spec"]
    assert after["metadata"]["annotations"] == before["metadata"]["annotations"]
    assert outcome.status["defaultsRevision"] == 1
    site.up(replicas=2, defaultsRevision=1)
    for kind, name in (("StatefulSet", "r"), ("ConfigMap", "r-config")):
        assert site.get(kind, name)["metadata"]["annotations"]["redisop.example.com/defaults-revision"] == "1"
