"""Volumes grow in place, and what a volume cannot do is said and holds up nothing else."""

import pytest

from tests.convergence.controllers import HELD
from tests.convergence.fault_proxy import Exchange, Seen
from tests.convergence.site import Site, until

GROWS = {"storageClassName": "grows"}
FIXED = {"storageClassName": "fixed"}


def pods(site: Site) -> dict[str, str]:
    return {key.name: pod["metadata"]["uid"] for key, pod in site.objects().items() if key.kind == "Pod"}


def sizes(site: Site) -> dict[str, str]:
    claims = {key.name: claim for key, claim in site.objects().items() if key.kind == "PersistentVolumeClaim"}
    return {name: claim["spec"]["resources"]["requests"]["storage"] for name, claim in claims.items()}


def template(site: Site) -> str:
    claims = site.get("StatefulSet", "r")["spec"]["volumeClaimTemplates"]
    return claims[0]["spec"]["resources"]["requests"]["storage"]


def test_claims_grow_and_the_stateful_set_is_made_anew_around_its_pods(site: Site) -> None:
    site.up(replicas=2, persistence=GROWS)
    before, stateful_set = pods(site), site.get("StatefulSet", "r")["metadata"]["uid"]
    outcome = site.up(replicas=2, persistence=GROWS, storage="2Gi")
    assert site.written == [
        "PATCH persistentvolumeclaims/data-r-0",
        "PATCH persistentvolumeclaims/data-r-1",
        "DELETE statefulsets/r",
        "PATCH statefulsets/r",
        "PATCH redises/r/status",
    ]
    assert (sizes(site), template(site)) == ({"data-r-0": "2Gi", "data-r-1": "2Gi"}, "2Gi")
    assert pods(site) == before
    assert site.get("StatefulSet", "r")["metadata"]["uid"] != stateful_set
    assert {str(change.consequence) for change in outcome.changes} == {"volume"}
    owner = site.get("StatefulSet", "r")["metadata"]["uid"]
    until(lambda: all(_owners(site, pod) == [owner] for pod in before))


def _owners(site: Site, pod: str) -> list[str]:
    return [each["uid"] for each in site.get("Pod", pod)["metadata"].get("ownerReferences", [])]


def test_a_stateful_set_is_deleted_with_its_uid_and_its_pods_spared(site: Site) -> None:
    site.up(persistence=GROWS)
    uid = site.get("StatefulSet", "r")["metadata"]["uid"]
    site.up(persistence=GROWS, storage="2Gi")
    (deletion,) = [seen for seen in site.writes if seen.method == "DELETE"]
    assert f'"uid":"{uid}"'.encode() in deletion.body
    assert b'"propagationPolicy":"Orphan"' in deletion.body


def hold(site: Site, *claims: str, held: str | None = "yes") -> None:
    for claim in claims:
        site.edit("PersistentVolumeClaim", claim, {"metadata": {"annotations": {HELD: held}}})


def capacities(site: Site) -> list[str]:
    claims = (claim for key, claim in site.objects().items() if key.kind == "PersistentVolumeClaim")
    return [claim["status"]["capacity"]["storage"] for claim in claims]


def test_a_run_ends_when_the_volumes_are_as_large_as_they_should_be(site: Site) -> None:
    site.up(replicas=2, persistence=GROWS)
    hold(site, "data-r-0", "data-r-1")
    redis, _ = site.put(replicas=2, persistence=GROWS, storage="2Gi")

    def release(exchange: Exchange) -> None:
        hold(site, "data-r-0", "data-r-1", held=None)
        exchange.pass_on()

    is_look = "/persistentvolumeclaims"
    site.proxy.inject(release, when=lambda seen: seen.method == "GET" and seen.path.endswith(is_look), at=2)
    assert site.run(redis).settled
    assert capacities(site) == ["2Gi", "2Gi"]
    assert (site.condition("Ready") or {})["status"] == "True"
    assert site.condition("VolumeResizing") is None


def test_a_volume_that_does_not_grow_in_time_is_what_the_run_waited_for(site: Site) -> None:
    site.up(replicas=2, persistence=GROWS)
    hold(site, "data-r-1")
    outcome = site.run(site.put(replicas=2, persistence=GROWS, storage="2Gi")[0], seconds=5)
    assert (outcome.settled, outcome.stuck) == (False, False)
    assert outcome.status["message"] == "the volume of data-r-1 has 1Gi of 2Gi"
    for kind, status in {"Ready": "False", "Available": "True", "VolumeResizing": "True"}.items():
        assert (site.condition(kind) or {})["status"] == status
    hold(site, "data-r-1", held=None)
    assert site.run().settled


def test_a_growth_that_failed_ends_the_run_with_what_was_said(site: Site) -> None:
    site.up(replicas=1, persistence=GROWS)
    hold(site, "data-r-0")
    failed = {"type": "ControllerResizeError", "status": "True", "message": "the disk is at its limit"}
    site.set_status("PersistentVolumeClaim", "data-r-0", {"conditions": [failed]})
    outcome = site.run(site.put(replicas=1, persistence=GROWS, storage="2Gi")[0])
    assert (outcome.settled, outcome.stuck) == (False, True)
    assert outcome.status["message"] == "the volume of data-r-0 has 1Gi of 2Gi: the disk is at its limit"
    assert (site.condition("Ready") or {})["reason"] == "ControllerResizeError"


def test_volumes_that_no_pod_has_are_not_waited_for(site: Site) -> None:
    site.up(replicas=2, persistence=GROWS)
    hold(site, "data-r-0", "data-r-1")
    outcome = site.up(replicas=0, persistence=GROWS, storage="2Gi")
    assert outcome.status["phase"] == "Hibernated"
    assert sizes(site) == {"data-r-0": "2Gi", "data-r-1": "2Gi"}


def test_claims_without_growth_are_told_and_hold_up_nothing_else(site: Site) -> None:
    site.up(replicas=2, persistence=FIXED)
    redis, _ = site.put(replicas=3, persistence=FIXED, storage="2Gi", memory="512Mi", config={"timeout": "9"})
    outcome = site.run(redis)
    assert not outcome.settled
    assert {failure.key.name for failure in outcome.failures if failure.key} == {"data-r-0", "data-r-1"}
    assert sizes(site).items() >= {"data-r-0": "1Gi", "data-r-1": "1Gi"}.items()
    stateful_set = site.get("StatefulSet", "r")["spec"]
    assert (stateful_set["replicas"], template(site)) == (3, "1Gi")
    assert stateful_set["template"]["spec"]["containers"][0]["resources"]["limits"]["memory"] == "512Mi"
    assert "timeout 9" in site.get("ConfigMap", "r-config")["data"]["redis.conf"]
    stalled = site.condition("Stalled")
    assert stalled
    assert "PersistentVolumeClaim" in stalled["message"]
    assert site.written.count("PATCH persistentvolumeclaims/data-r-0") == 1


def replaced(site: Site, **spec: object) -> None:
    """Delete the `Redis` and make another of that name: the API server cannot compare the two."""
    manifest = site.get("Redis", "r")
    site.behind.delete(site.key("Redis", "r"), manifest["metadata"]["uid"])
    redis, _ = site.put(**spec)
    for key, child in site.objects().items():
        owners = child["metadata"].get("ownerReferences", [])
        if owners and owners[0]["kind"] == "Redis":
            site.edit(key.kind, key.name, {"metadata": {"ownerReferences": [owners[0] | {"uid": redis.metadata.uid}]}})


@pytest.mark.parametrize(
    ("before", "after", "field"),
    [
        ({"storage": "2Gi"}, {"storage": "1Gi"}, "spec.storage"),
        ({"storage": "1Gi"}, {"storage": "0"}, "spec.storage"),
        ({"storage": "0"}, {"storage": "1Gi"}, "spec.storage"),
        ({"persistence": GROWS}, {"persistence": FIXED}, "spec.persistence.storageClassName"),
    ],
)
def test_what_a_volume_cannot_become_is_refused_by_name_and_the_rest_is_done(
    site: Site, before: dict[str, object], after: dict[str, object], field: str
) -> None:
    site.up(replicas=2, **before)
    volumes = site.get("StatefulSet", "r")["spec"].get("volumeClaimTemplates")
    replaced(site, replicas=3, **after)
    outcome = site.run()
    assert outcome.settled, outcome.status
    (refused,) = [change for change in outcome.changes if change.verb == "refuse"]
    assert [one.field for one in refused.differences] == [field]
    assert field in refused.reason
    stateful_set = site.get("StatefulSet", "r")["spec"]
    assert (stateful_set["replicas"], stateful_set.get("volumeClaimTemplates")) == (3, volumes)
    for kind, status in {"SpecAccepted": "False", "Stalled": "True", "Ready": "True"}.items():
        condition = site.condition(kind)
        assert condition
        assert condition["status"] == status
    assert field in (site.condition("SpecAccepted") or {})["message"]
    site.run()
    assert site.written == []


def test_a_claim_whose_growth_was_refused_leaves_the_stateful_set_alone(site: Site) -> None:
    site.up(persistence=FIXED)
    site.run(site.put(persistence=FIXED, storage="2Gi")[0])
    assert not [seen for seen in site.writes if _is_of_stateful_set(seen)]


def _is_of_stateful_set(seen: Seen) -> bool:
    return "/statefulsets/" in seen.path
