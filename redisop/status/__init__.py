"""What a look at one `Redis` says to people: `status()`. Bounded, and without numbers that move at rest.

An output only: nothing here may be read again to decide something.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from redisop import names
from redisop.api.derived import Derived
from redisop.api.scalars import Quantity
from redisop.api.v1 import Redis
from redisop.diff import Change, Consequence
from redisop.failures import Failure
from redisop.manifest import Key, Manifest
from redisop.plan.actions import Action, Hold
from redisop.render.inputs import Inputs
from redisop.snapshot import Snapshot
from redisop.snapshot.health import health
from redisop.snapshot.vitals import Trouble, Vitals
from redisop.status.conditions import Finding, conditions

MOST_LISTED: Final = 16


@dataclass(frozen=True, slots=True)
class Pass:
    """What one pass found and did: all that status speaks of."""

    redis: Redis
    derived: Derived
    inputs: Inputs
    snapshot: Snapshot
    pending: tuple[Change, ...]
    step: Action | Hold | None
    holds: tuple[Hold, ...]
    failures: tuple[Failure, ...]


def status(done: Pass) -> dict[str, Any]:
    """Return the status of the `Redis`, as spec.md of the API lists it; what is unknown is left out."""
    redis, snapshot = done.redis, done.snapshot
    before = (redis.status or {}).get("conditions", [])
    primary = primary_of(snapshot)
    stateful_set = _stateful_set(done)
    found = _findings(done)
    told = {
        "observedGeneration": redis.metadata.generation,
        "phase": _phase(done),
        "message": _message(done),
        "conditions": conditions(found, before, redis.metadata.generation, snapshot.taken),
        "masterPodName": primary.pod if primary else None,
        "slavePodNames": sorted(member.pod for member in snapshot.vitals if _linked(member)),
        "replicas": len(snapshot.pods),
        "readyReplicas": sum(_ready(pod) for pod in snapshot.pods),
        "selector": ",".join(f"{key}={value}" for key, value in names.selector(redis.metadata.name).items()),
        "mode": done.derived.mode,
        "image": _image(stateful_set) or done.derived.image,
        "defaultsRevision": done.derived.defaults.revision,
        "endpoints": _endpoints(done),
        "members": [_member(pod, snapshot.vitals) for pod in snapshot.pods],
        "pendingChanges": [_pending(change) for change in done.pending[:MOST_LISTED]],
        "storage": _storage(done),
    }
    return {field: value for field, value in told.items() if value not in (None, [], {})}


def primary_of(snapshot: Snapshot) -> Vitals | None:
    """Return the one member that leads; None when nobody does, or more than one."""
    leading = [member for member in snapshot.vitals if member.role == "primary"]
    return leading[0] if len(leading) == 1 else None


def _findings(done: Pass) -> list[Finding]:
    return [
        _ready_condition(done),
        _available(done),
        Finding("SpecAccepted", True, "Valid"),
        *_secrets(done),
        *_reconciling(done),
        *_stalled(done),
        *_held(done),
        *_drift(done),
        *_update_pending(done),
        *_volumes(done),
    ]


def _ready_condition(done: Pass) -> Finding:
    if trouble := _trouble(done):
        return Finding("Ready", False, *trouble)
    return Finding("Ready", True, "Hibernated" if not done.redis.spec.replicas else "Converged", _message(done))


def _available(done: Pass) -> Finding:
    primary = primary_of(done.snapshot)
    if primary:
        return Finding("Available", True, "PrimaryServes", f"{primary.pod} is primary and answers")
    if not done.redis.spec.replicas:
        return Finding("Available", False, "Hibernated", "no pods are wanted")
    ready = [pod["metadata"]["name"] for pod in done.snapshot.pods if _ready(pod)]
    home = names.pod(done.redis.metadata.name, done.inputs.primary)
    if home in ready and not any(member.answered for member in done.snapshot.vitals):
        # Redis cannot be asked from here; a pod that the Service selects is Ready only with a role.
        return Finding("Available", True, "PrimaryReady", f"{home} is Ready; it cannot be asked from here")
    return Finding("Available", False, "NoPrimary", "no member is known to lead")


def _secrets(done: Pass) -> list[Finding]:
    if not done.redis.spec.auth.enabled:
        return []
    wrong = [member.pod for member in done.snapshot.vitals if member.trouble is Trouble.WRONG_PASSWORD]
    if wrong:
        message = f"{', '.join(wrong)} runs with another password than Secret {done.derived.secret_name} has"
        return [Finding("SecretsInSync", False, "PasswordDiffers", message)]
    answered = any(member.answered for member in done.snapshot.vitals)
    return [Finding("SecretsInSync", True, "InSync") if answered else Finding("SecretsInSync", None, "NotAsked")]


def _reconciling(done: Pass) -> list[Finding]:
    trouble = _trouble(done)
    busy = trouble is not None and not done.failures and not _refused(done)
    return [Finding("Reconciling", busy, *trouble)] if trouble else []


def _stalled(done: Pass) -> list[Finding]:
    refused = _refused(done)
    if not (done.failures or refused):
        return []
    reason = type(done.failures[0]).__name__ if done.failures else "Refused"
    said = [str(failure) for failure in done.failures] + [f"{change.key}: {change.reason}" for change in refused]
    return [Finding("Stalled", True, reason, "; ".join(said))]


def _held(done: Pass) -> list[Finding]:
    held = [*([done.step] if isinstance(done.step, Hold) else []), *done.holds]
    return [Finding("Held", True, held[0].reason, "; ".join(hold.message for hold in held))] if held else []


def _drift(done: Pass) -> list[Finding]:
    drifted = [one for change in done.pending for one in change.differences if _of_others(one.manager)]
    if not drifted:
        return []
    said = [f"{one.manager} owns {one.field}" for one in drifted[:MOST_LISTED]]
    return [Finding("DriftDetected", True, "OwnedByOthers", "; ".join(said))]


def _update_pending(done: Pass) -> list[Finding]:
    old = outdated(done.snapshot, _stateful_set(done))
    if not old:
        return []
    return [Finding("UpdatePending", True, "PodsOutdated", f"{', '.join(old)} must restart to run what is wanted")]


def _volumes(done: Pass) -> list[Finding]:
    growing = [
        (claim["metadata"]["name"], found)
        for claim in done.snapshot.claims
        if (found := health(claim)).reason in {"Resizing", "FileSystemResizePending", "ControllerResizeError"}
    ]
    if not growing:
        return []
    return [Finding("VolumeResizing", True, growing[0][1].reason, ", ".join(f"{n}: {f.message}" for n, f in growing))]


# -- in words ---------------------------------------------------------------------------------------------------------


def _trouble(done: Pass) -> tuple[str, str] | None:
    """Return why the `Redis` is not Ready, as reason and message; None when it is."""
    questions = (_failed, _hold, _changes, _pods, _roles)
    return next((found for question in questions if (found := question(done))), None)


def _failed(done: Pass) -> tuple[str, str] | None:
    if not done.failures:
        return None
    return "ApplyFailed", "; ".join(str(failure) for failure in done.failures)


def _hold(done: Pass) -> tuple[str, str] | None:
    return (done.step.reason, done.step.message) if isinstance(done.step, Hold) else None


def _changes(done: Pass) -> tuple[str, str] | None:
    # What is refused is no work in progress, and an old value goes on serving.
    coming = [change for change in done.pending if change.consequence is not Consequence.REFUSED]
    if not coming:
        return None
    return "ChangesPending", "; ".join(f"{change.key}: {change.reason}" for change in coming)


def _pods(done: Pass) -> tuple[str, str] | None:
    wanted, there = done.redis.spec.replicas, len(done.snapshot.pods)
    for pod in done.snapshot.pods:
        found = health(pod)
        if found.state != "Current":
            return found.reason, f"Pod {pod['metadata']['name']}: {found.message or found.reason}"
    return ("Scaling", f"{there} of {wanted} pods exist") if there != wanted else None


def _roles(done: Pass) -> tuple[str, str] | None:
    if done.step is None or isinstance(done.step, Hold):
        return None
    return "RolesPending", f"{done.step.reason}: {done.step}"


def _phase(done: Pass) -> str:
    if done.redis.metadata.deletionTimestamp:
        return "Deleting"
    if done.redis.spec.paused:
        return "Paused"
    trouble = _trouble(done)
    if trouble is None:
        return "Running" if done.redis.spec.replicas else "Hibernated"
    if done.failures or _refused(done):
        return "Failed"
    return "Degraded" if primary_of(done.snapshot) else "Creating"


def _message(done: Pass) -> str:
    trouble = _trouble(done)
    if trouble:
        return trouble[1]
    replicas = done.redis.spec.replicas
    return f"Redis cluster with {replicas} replicas deployed" if replicas else "No pods are wanted; volumes are kept"


# -- details ----------------------------------------------------------------------------------------------------------


def outdated(snapshot: Snapshot, stateful_set: Manifest | None) -> list[str]:
    """Return the pods whose revision is not the newest one; under `OnDelete` only a restart changes that."""
    newest = (stateful_set or {}).get("status", {}).get("updateRevision")
    if not newest:
        return []
    label = "controller-revision-hash"
    return [pod["metadata"]["name"] for pod in snapshot.pods if pod["metadata"].get("labels", {}).get(label) != newest]


def _stateful_set(done: Pass) -> Manifest | None:
    meta = done.redis.metadata
    return done.snapshot.live.get(Key("StatefulSet", meta.namespace, meta.name))


def _image(stateful_set: Manifest | None) -> str | None:
    if stateful_set is None:
        return None
    containers = stateful_set["spec"]["template"]["spec"]["containers"]
    return next((each["image"] for each in containers if each["name"] == names.REDIS_CONTAINER), None)


def _ready(pod: Manifest) -> bool:
    return health(pod).state == "Current"


def _linked(member: Vitals) -> bool:
    return member.role == "replica" and member.link == "up"


def _endpoints(done: Pass) -> dict[str, str]:
    meta = done.redis.metadata
    services = {"primary": names.primary_service(meta.name)}
    if done.derived.mode == "Replication":
        services["read"] = names.read_service(meta.name)
    return {role: f"{name}.{meta.namespace}.svc:{names.REDIS_PORT}" for role, name in services.items()}


def _member(pod: Manifest, vitals: Sequence[Vitals]) -> dict[str, Any]:
    name = pod["metadata"]["name"]
    said = next((member for member in vitals if member.pod == name), None)
    told: dict[str, Any] = {"name": name, "ready": _ready(pod), "node": pod["spec"].get("nodeName")}
    if said is None or not said.answered:
        told["role"] = "unknown"
    else:
        told["role"] = "parked" if said.parked else said.role
        told["link"] = said.link
        told["sync"] = "running" if said.sync_in_progress else None
    return {field: value for field, value in told.items() if value is not None}


def _pending(change: Change) -> dict[str, str]:
    return {"object": str(change.key), "consequence": str(change.consequence), "reason": change.reason}


def _storage(done: Pass) -> dict[str, str] | None:
    if not done.redis.spec.storage.value:
        return None
    sizes = [claim.get("status", {}).get("capacity", {}).get("storage") for claim in done.snapshot.claims]
    actual = min((Quantity.parse(size) for size in sizes if size), key=lambda size: size.value, default=None)
    told = {"requested": done.redis.spec.storage.canonical()}
    return told | {"actual": actual.canonical()} if actual else told


def _refused(done: Pass) -> list[Change]:
    return [change for change in done.pending if change.consequence is Consequence.REFUSED]


def _of_others(manager: str | None) -> bool:
    return manager not in {None, names.FIELD_MANAGER}
