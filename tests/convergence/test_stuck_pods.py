"""A pod in which Redis never ran is made anew when another template is wanted: that very pod, and no other."""

import dataclasses
import json
from pathlib import Path

import pytest

from redisop.failures import Forbidden
from redisop.manifest import Manifest
from redisop.snapshot.vitals import Trouble
from tests.cluster.api_server import ApiServer
from tests.convergence.fault_proxy import Exchange, Seen
from tests.convergence.site import Site, until
from tests.convergence.test_troubles import request_to, servant

WAITS = {"name": "redis", "image": "x", "imageID": "", "ready": False, "restartCount": 0}
BROKEN = {
    "phase": "Pending",
    "conditions": [{"type": "Ready", "status": "False", "reason": "ContainersNotReady"}],
    "containerStatuses": [WAITS | {"state": {"waiting": {"reason": "ImagePullBackOff"}}}],
}


@pytest.fixture
def broken(site: Site) -> Site:
    """A site with two members, of which r-1 was never able to start."""
    site.up(replicas=2)
    tell(site, BROKEN)
    known = site.members.vitals["r-1"]
    site.members.vitals["r-1"] = dataclasses.replace(known, trouble=Trouble.UNREACHABLE, role=None, run_id=None)
    return site


def tell(site: Site, status: Manifest) -> None:
    """Say as a kubelet how the pod fares."""
    request_to(site, "PATCH", f"/api/v1/namespaces/{site.namespace}/pods/r-1/status", {"status": status})


def uids(site: Site) -> dict[str, str]:
    return {name: site.get("Pod", name)["metadata"]["uid"] for name in ("r-0", "r-1")}


def is_deletion(seen: Seen) -> bool:
    return (seen.method, seen.path.rpartition("/")[2]) == ("DELETE", "r-1")


def seen_by(api_server: ApiServer, site: Site, folder: Path, without: tuple[str, str] | None = None) -> Site:
    """Return the site with a loop that has the rights of the Role, `without` one verb on one resource."""
    return dataclasses.replace(servant(api_server, site, folder, without), members=site.members)


def test_a_stuck_pod_is_deleted_in_the_version_that_was_seen_and_comes_back(
    broken: Site, api_server: ApiServer, tmp_path: Path
) -> None:
    before = uids(broken)
    version = broken.get("Pod", "r-1")["metadata"]["resourceVersion"]
    redis, _ = broken.put(replicas=2, memory="512Mi")
    assert seen_by(api_server, broken, tmp_path).run(redis).settled
    (deletion,) = [seen for seen in broken.writes if seen.method == "DELETE"]
    assert is_deletion(deletion)
    assert json.loads(deletion.body)["preconditions"] == {"uid": before["r-1"], "resourceVersion": version}
    after = uids(broken)
    assert (after["r-0"] == before["r-0"], after["r-1"] == before["r-1"]) == (True, False)
    broken.run()
    assert broken.written == []


def test_a_pod_that_starts_at_the_last_moment_is_spared(broken: Site) -> None:
    before = uids(broken)
    running = {"state": {"running": {"startedAt": "2030-01-01T00:00:00Z"}}}

    def starts_first(exchange: Exchange) -> None:
        tell(broken, BROKEN | {"phase": "Running", "containerStatuses": [WAITS | running]})
        exchange.pass_on()

    broken.proxy.inject(starts_first, when=is_deletion)
    redis, _ = broken.put(replicas=2, memory="512Mi")
    outcome = broken.run(redis, seconds=4)
    assert (uids(broken), outcome.settled) == (before, False)
    assert len([seen for seen in broken.writes if is_deletion(seen)]) == 1


def test_a_deletion_that_is_refused_is_told_with_the_pod_and_holds_up_no_change(
    broken: Site, api_server: ApiServer, tmp_path: Path
) -> None:
    servants = seen_by(api_server, broken, tmp_path, without=("pods", "delete"))
    servants.run(*broken.put(replicas=2, memory="512Mi"), wait=False)
    generation = broken.get("StatefulSet", "r")["metadata"]["generation"]
    until(lambda: broken.get("StatefulSet", "r")["status"].get("observedGeneration") == generation)
    outcome = servants.run(*broken.put(replicas=2, memory="512Mi", services={"read": {"labels": {"a": "b"}}}))
    assert [type(failure) for failure in outcome.failures] == [Forbidden]
    assert 'the verb "delete" on "pods"' in str(outcome.failures[0])
    assert f"Pod/{broken.namespace}/r-1" in outcome.status["message"]
    assert (outcome.action, broken.get("Service", "r-read")["metadata"]["labels"]["a"]) == (None, "b")
