"""Killed at any write, the loop goes on from what it finds: the same end, nothing twice, nothing lost."""

import contextlib
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from redisop.failures import Failure
from redisop.live.kube import Kube
from redisop.live.request import Request
from redisop.live.session import Answer, Login, Session
from redisop.manifest import Key, Manifest
from tests.convergence.site import Site, until

VOLATILE = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "uid")


class Killed(BaseException):
    """Stops a run dead, as SIGKILL does: nothing catches it, nothing is written afterwards."""


class Mortal(Session):
    """Dies before or after its `at`-th write."""

    def __init__(self, session: Session, at: int, after: bool) -> None:
        self.__dict__ = session.__dict__ | {}
        self._left, self._after = at, after
        self.died_at = ""

    def exchange(self, login: Login, request: Request, left: float) -> Answer:
        writes = request.verb not in {"get", "list", "watch"} and "dryRun" not in request.query
        self._left -= writes
        if self.died_at or (writes and self._left == 0 and not self._after):
            self._die(request)
        answer = super().exchange(login, request, left)
        if writes and self._left == 0:
            self._die(request)
        return answer

    def _die(self, request: Request) -> None:
        self.died_at = self.died_at or f"{request.verb} {request.resource} {request.key.name}"
        if threading.current_thread() is not threading.main_thread():
            raise Failure(request.key, "the process is no more")
        raise Killed


def killed_at_every_write(site: Site, after: bool, change: Callable[[], tuple[Any, bool]], prepare: Callable[[], None]):
    """Yield once for each write of what `change` leads to, after a run that was killed there."""
    number = 0
    while True:
        number += 1
        site.name = f"killed{number}x"
        site.members.vitals.clear()
        prepare()
        redis, created = change()
        mortal = Mortal(site.kube._session, number, after)
        try:
            outcome = site.run(redis, created, kube=Kube(mortal))
        except Killed:
            yield mortal.died_at
        else:
            assert outcome.settled
            assert number > 2, "nothing was written"
            return


def essence(site: Site) -> dict[str, Manifest]:
    """Return the objects as far as they must be the same however one came there, as if the `Redis` had the name X."""
    found = {}
    for which, manifest in site.objects().items():
        if site.name not in which.name:
            continue
        metadata = {name: value for name, value in manifest["metadata"].items() if name not in VOLATILE}
        metadata["ownerReferences"] = [owner["kind"] for owner in metadata.get("ownerReferences", [])]
        metadata["labels"].pop("controller-revision-hash", None)
        content = {name: value for name, value in manifest.items() if name not in {"metadata", "status"}}
        if which.kind == "Service":
            content["spec"] = {name: value for name, value in content["spec"].items() if "clusterIP" not in name}
            content["spec"]["ports"] = [port | {"nodePort": 0} for port in content["spec"]["ports"]]
        if which.kind == "Secret":
            content["data"] = list(content["data"])
        text = json.dumps(content | {"metadata": metadata}).replace(site.name, "X")
        found[str(Key(which.kind, None, which.name.replace(site.name, "X")))] = json.loads(text)
    return found


def uids(site: Site, *kinds: str) -> dict[Key, str]:
    return {which: each["metadata"]["uid"] for which, each in site.objects().items() if which.kind in kinds}


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_new_instance_is_the_same_wherever_the_first_run_was_killed(site: Site, after: bool) -> None:
    site.name = "whole"
    site.up(replicas=2)
    wanted = essence(site)
    for place in killed_at_every_write(site, after, lambda: site.put(replicas=2), lambda: None):
        kept = uids(site, "Secret", "PersistentVolumeClaim")
        assert site.run().settled, place
        assert kept.items() <= uids(site, "Secret", "PersistentVolumeClaim").items(), place
        assert essence(site) == wanted, place
        assert [name for name in essence(site) if name.startswith("Secret")] == ["Secret/X-auth"]
        site.run()
        assert site.written == [], place


DELETED = {"retention": {"whenDeleted": "Delete"}}
CHANGES = {
    "more": {"replicas": 3, "networkPolicy": {"enabled": True}, "config": {"timeout": "5"}, "memory": "512Mi"},
    "less": {"replicas": 1, "services": {"primary": {"type": "NodePort"}}},
    "asleep": {"replicas": 0},
    "protected": {"replicas": 2, "deletion": {"protected": True}} | {"persistence": DELETED},
    "larger": {"replicas": 2, "storage": "2Gi", "memory": "512Mi", "persistence": {"storageClassName": "grows"}},
}  # fmt: skip


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    "what", [pytest.param(what, marks=() if what in {"less", "larger"} else pytest.mark.full) for what in CHANGES]
)
def test_a_changed_instance_is_the_same_wherever_the_run_was_killed(site: Site, after: bool, what: str) -> None:
    before: dict[str, Any] = {"replicas": 2}
    if "storageClassName" in CHANGES[what].get("persistence", {}):
        before["persistence"] = CHANGES[what]["persistence"]
    site.name = "whole"
    site.up(**before)
    site.up(**CHANGES[what])
    wanted = essence(site)
    kept: dict[Key, str] = {}

    def prepare() -> None:
        site.up(**before)
        kept.update(uids(site, "Secret", "PersistentVolumeClaim"))

    for place in killed_at_every_write(site, after, lambda: site.put(**CHANGES[what]), prepare):
        assert site.run().settled, place
        assert kept.items() <= uids(site, "Secret", "PersistentVolumeClaim").items(), place
        with contextlib.suppress(AssertionError):
            until(lambda: essence(site) == wanted, 2)
        assert essence(site) == wanted, place
        site.run()  # what controllers did since the last look stands in the status
        site.run()
        assert site.written == [], place
