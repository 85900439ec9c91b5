"""One namespace of a real API server with a `Redis` in it: change its document, run the loop, see what it wrote."""

import time
from dataclasses import dataclass, field
from typing import Any

from redisop import names
from redisop.api.read import read
from redisop.api.v1 import Redis
from redisop.live.kube import KINDS, Kube
from redisop.live.once import Options, passes
from redisop.live.request import MERGE, Request
from redisop.manifest import Key, Manifest
from redisop.reconcile import Members, Outcome
from tests.convergence.fault_proxy import FaultProxy, Seen, is_write
from tests.world import ScriptedMembers

OURS = [*names.KINDS, names.POD, names.CLAIM]


@dataclass
class Site:
    """`kube` goes through `proxy`, `behind` past it: by that the test itself reads and writes."""

    namespace: str
    kube: Kube
    behind: Kube
    proxy: FaultProxy
    members: ScriptedMembers = field(default_factory=ScriptedMembers)
    name: str = "r"

    def put(self, **spec: Any) -> tuple[Redis, bool]:
        """Apply the document as a user does; return the `Redis`, and whether it is new."""
        metadata = {"name": self.name, "namespace": self.namespace}
        manifest = {"apiVersion": "example.com/v1", "kind": "Redis", "metadata": metadata, "spec": spec}
        applied = self.behind.apply(manifest, force=True)
        return as_redis(applied.manifest), applied.created

    def redis(self) -> Redis:
        """Return the `Redis` as it is on the API server."""
        return as_redis(self.get("Redis", self.name))

    def run(
        self,
        redis: Redis | None = None,
        created: bool = False,
        seconds: float = 60,
        wait: bool = True,
        dry_run: bool = False,
        kube: Kube | None = None,
        members: Members | None = None,
    ) -> Outcome:
        """Run the loop once, as `reconcile --once` does; from here on `proxy.seen` are its requests."""
        self.proxy.seen.clear()
        options = Options(dry_run, wait, seconds)
        return passes(
            redis or self.redis(),
            created,
            kube or self.kube,
            members or self.members,
            options,
            lambda outcome: None,
            lambda: None,
        )

    def up(self, **spec: Any) -> Outcome:
        """Bring up what `spec` says, new or not."""
        outcome = self.run(*self.put(**spec))
        assert outcome.settled, outcome.status
        return outcome

    def get(self, kind: str, name: str) -> Manifest:
        """Return an object that is there."""
        found = self.behind.get(Key(kind, self.namespace, name))
        assert found is not None, f"there is no {kind} {name}"
        return found

    def find(self, kind: str, name: str) -> Manifest | None:
        """Return an object, or None."""
        return self.behind.get(Key(kind, self.namespace, name))

    def edit(self, kind: str, name: str, changes: Manifest, manager: str = "somebody") -> Manifest:
        """Merge `changes` into an object as another field manager."""
        query = {"fieldManager": manager}
        request = Request("patch", KINDS[kind], self.key(kind, name), query=query, content_type=MERGE, manifest=changes)
        session = self.behind._session
        return session.exchange(session.login, request, 60.0).content

    def set_status(self, kind: str, name: str, status: Manifest) -> None:
        """Merge `status` into that of an object, as its controller or a kubelet does."""
        which, changed = self.key(kind, name), {"status": status}
        request = Request("patch", KINDS[kind], which, "status", {}, MERGE, changed)
        session = self.behind._session
        session.exchange(session.login, request, 60.0)

    def key(self, kind: str, name: str) -> Key:
        """Return the Key of an object in this namespace."""
        return Key(kind, self.namespace, name)

    def objects(self) -> dict[Key, Manifest]:
        """Return all objects that a `Redis` may own or cause, by Key."""
        found = {}
        for kind in OURS:
            if kind.kind != "PodMonitor":
                for manifest in self.behind.list(kind, self.namespace):
                    found[Key(kind.kind, self.namespace, manifest["metadata"]["name"])] = manifest
        return found

    @property
    def writes(self) -> list[Seen]:
        """What the last run wrote."""
        return [seen for seen in self.proxy.seen if is_write(seen)]

    @property
    def written(self) -> list[str]:
        """What the last run wrote, as `PATCH statefulsets/r`."""
        return [short(seen) for seen in self.writes]

    def condition(self, kind: str) -> Manifest | None:
        """Return a condition of the status."""
        conditions = (self.get("Redis", self.name).get("status") or {}).get("conditions", [])
        return next((condition for condition in conditions if condition["type"] == kind), None)


def short(seen: Seen) -> str:
    """Return a request in few words."""
    place = seen.path.partition("/namespaces/")[2].split("/", 1)[1]
    return f"{seen.method} {place}"


def as_redis(manifest: Manifest) -> Redis:
    """Return the model of a `Redis` on the API server."""
    found = read(manifest)
    assert found.redis, [str(violation) for violation in found.violations]
    return found.redis


def until(condition: Any, seconds: float = 20.0) -> Any:
    """Wait until `condition()` is true, and return what it returned."""
    end = time.monotonic() + seconds
    while not (answer := condition()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
    return answer
