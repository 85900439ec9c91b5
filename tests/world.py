"""A small world in memory: what `reconcile` and `plan` need of an API server and of Redis, and no more.

Nothing of server-side apply is imitated here; what that does is shown on a real API server.
"""

import dataclasses
from collections.abc import Iterable
from copy import deepcopy
from datetime import UTC, datetime

from redisop.api.read import read
from redisop.api.v1 import Redis
from redisop.diff import Change
from redisop.failures import Failure
from redisop.manifest import Key, Manifest, key
from redisop.plan.actions import Configure, Follow, MemberAction, Promote, Recreate
from redisop.reconcile import Observed
from redisop.snapshot.vitals import PARKING_HOST, PARKING_PORT, Target, Trouble, Vitals

NOW = datetime(2030, 1, 1, tzinfo=UTC)
UID = "8b2c1f0e-6f0b-4c51-9d3a-0f6f3a3a7c11"


def redis(name: str = "r", status: Manifest | None = None, metadata: Manifest | None = None, **spec: object) -> Redis:
    """Return a `Redis` as an API server has it."""
    own = {"name": name, "namespace": "default", "uid": UID, "generation": 1} | (metadata or {})
    found = read({"apiVersion": "example.com/v1", "kind": "Redis", "metadata": own, "spec": spec})
    assert found.redis, [str(violation) for violation in found.violations]
    return found.redis.model_copy(update={"status": status})


class ScriptedMembers:
    """Redis processes that do what they are told; `vitals` says what is known of each by the name of its pod.

    A pod that was not seen before is a new, parked process without data. Those named in `deaf` refuse every command,
    those in `silent` do not take a connection.
    """

    def __init__(self) -> None:
        self.vitals: dict[str, Vitals] = {}
        self.settings: dict[str, dict[str, str]] = {}
        self.performed: list[MemberAction] = []
        self.deaf: set[str] = set()
        self.silent: set[str] = set()

    def probe(self, targets: Iterable[Target], password: bytes | None) -> tuple[Vitals, ...]:
        asked = list(targets)
        for each in asked:
            known = self.vitals.get(each.pod.name)
            if known is None or known.uid != each.uid:
                self.vitals[each.pod.name] = parked(each)
        ordered = sorted(asked, key=lambda each: each.ordinal)
        return tuple(silent(each) if each.pod.name in self.silent else self.vitals[each.pod.name] for each in ordered)

    def perform(self, action: MemberAction) -> str | None:
        self.performed.append(action)
        match action:
            case Promote(member=member):
                refused = self._change([member], role="primary", link=None, primary_host=None, primary_port=None)
            case Follow(members=members, primary=primary):
                refused = self._change(members, link="up", primary_host=primary.address, primary_port=6379)
            case Configure(members=members, settings=settings):
                refused = self._change(members)
                for member in members:
                    if member.pod not in self.deaf:
                        self.settings.setdefault(member.pod, {}).update(settings)
        return refused

    def _change(self, members: Iterable[Vitals], **facts: object) -> str | None:
        for member in members:
            if member.pod not in self.deaf:
                self.vitals[member.pod] = dataclasses.replace(self.vitals[member.pod], **facts)
        refused = [f"Pod {member.pod} refused" for member in members if member.pod in self.deaf]
        return "; ".join(refused) or None


def parked(where: Target, **facts: object) -> Vitals:
    """Return what a new process says that waits for a role."""
    said = {
        "run_id": where.uid.replace("-", "").ljust(40, "0")[:40],
        "replication_id": where.uid.replace("-", "").rjust(40, "0")[:40],
        "version": "6.2.5",
        "role": "replica",
        "primary_host": PARKING_HOST,
        "primary_port": PARKING_PORT,
        "link": "down",
        "loading": False,
        "keys": 0,
        "offset": 0,
    }
    return Vitals(pod=where.pod.name, ordinal=where.ordinal, uid=where.uid, address=where.address, **{**said, **facts})


def silent(where: Target) -> Vitals:
    """Return what is known of a process that cannot be reached."""
    sentence = f"{where.pod} ({where.address}:{where.port}) did not accept a connection within 1.0 s"
    trouble = Trouble.TIMEOUT
    return Vitals(
        pod=where.pod.name,
        ordinal=where.ordinal,
        uid=where.uid,
        address=where.address,
        trouble=trouble,
        sentence=sentence,
    )


class World:
    """The port Kube over objects in memory; `refuse` maps a Key to the Failure that a write to it comes to."""

    def __init__(self, pods: int = 0) -> None:
        self.objects: dict[Key, Manifest] = {}
        self.pods = pods
        self.claims: tuple[Manifest, ...] = ()
        self.refuse: dict[Key, Failure] = {}
        self.applied: list[Change] = []
        self.statuses: list[Manifest] = []
        self.finalizers: list[tuple[str, ...]] = []
        self.pod_monitors = True
        self.unready: set[int] = set()
        self.recreated: list[str] = []

    def observe(self, redis: Redis) -> Observed:
        pods = tuple(pod(redis.metadata.name, ordinal, ordinal not in self.unready) for ordinal in range(self.pods))
        return Observed(deepcopy(self.objects), pods, self.claims, self.pod_monitors)

    def has(self, change: Change, may_be_new: bool) -> bool:
        return False

    def apply(self, change: Change) -> None:
        self.applied.append(change)
        if change.key in self.refuse:
            raise self.refuse[change.key]
        if change.manifest is None:
            del self.objects[change.key]
        elif change.key.kind == "PersistentVolumeClaim":
            self.claims = tuple(_grown(claim, change) for claim in self.claims)
        else:
            self.objects[change.key] = deepcopy(change.manifest)

    def recreate(self, action: Recreate) -> str | None:
        for pod in action.pods:
            if key(pod) in self.refuse:
                raise self.refuse[key(pod)]
            self.recreated.append(pod["metadata"]["name"])
        return None

    def set_finalizers(self, redis: Redis, finalizers: tuple[str, ...]) -> Redis:
        self.finalizers.append(finalizers)
        return redis.model_copy(update={"metadata": redis.metadata.model_copy(update={"finalizers": finalizers})})

    def write_status(self, redis: Redis, status: Manifest) -> None:
        self.statuses.append(dict(status))

    def fresh_password(self) -> str:
        return "fresh-password"


def _grown(claim: Manifest, change: Change) -> Manifest:
    if key(claim) != change.key or change.manifest is None:
        return claim
    return claim | {"spec": claim["spec"] | change.manifest["spec"]}


def pod(name: str, ordinal: int, ready: bool = True) -> Manifest:
    """Return a pod of the StatefulSet."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"{name}-{ordinal}", "namespace": "default", "uid": f"uid-of-{name}-{ordinal}"},
        "spec": {},
        "status": {
            "phase": "Running",
            "podIP": f"10.0.0.{ordinal + 1}",
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
        },
    }


def claim(name: str, ordinal: int, size: str) -> Manifest:
    """Return a bound claim."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": f"data-{name}-{ordinal}", "namespace": "default", "uid": f"claim-{ordinal}"},
        "spec": {"resources": {"requests": {"storage": size}}},
        "status": {"phase": "Bound", "capacity": {"storage": size}},
    }
