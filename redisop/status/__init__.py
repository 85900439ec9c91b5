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
from redisop.diff import Change
from redisop.failures import Failure
from redisop.manifest import Key, Manifest
from redisop.plan.actions import Action, Hold
from redisop.render.inputs import Inputs
from redisop.snapshot import Snapshot
from redisop.snapshot.health import Health, growth, health
from redisop.snapshot.pods import claim_names, outdated
from redisop.snapshot.vitals import Trouble, Vitals
from redisop.status.conditions import Finding, conditions

MOST_LISTED: Final = 16


@dataclass(frozen=True, slots=True)
class Pass:
    """What one pass found and did: all that status speaks of.

    `unasked` are the members that should be given settings and did not answer.
    """

    redis: Redis
    derived: Derived
    inputs: Inputs
    snapshot: Snapshot
    pending: tuple[Change, ...]
    unasked: tuple[Vitals, ...]
    step: Action | Hold | None
    holds: tuple[Hold, ...]
    failures: tuple[Failure, ...]
    refusals: tuple[str, ...]


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
        "pendingChanges": [_pending(change) for change in _coming(done)[:MOST_LISTED]],
        "drift": [_drifted(change) for change in _left(done)[:MOST_LISTED]],
        "storage": _storage(done),
    }
    return {field: value for field, value in told.items() if value not in (None, [], {})}


def stuck(done: Pass) -> bool:
    """Tell whether waiting does not help: nothing that is on its way makes the `Redis` Ready."""
    if done.redis.metadata.deletionTimestamp:
        return True
    trouble = _trouble(done)
    held = {hold.reason for hold in done.holds}
    growth_failed = any(found.state == "Failed" for _, found in _mounted_and_growing(done))
    hopeless = (_not_ours(done), _growing(done) if growth_failed else None)
    return trouble is not None and (trouble in hopeless or trouble[0] in held)


def primary_of(snapshot: Snapshot) -> Vitals | None:
    """Return the one member that leads; None when nobody does, or more than one."""
    leading = [member for member in snapshot.vitals if member.role == "primary"]
    return leading[0] if len(leading) == 1 else None


def _findings(done: Pass) -> list[Finding]:
    return [
        _ready_condition(done),
        _available(done),
        _spec_accepted(done),
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


def _spec_accepted(done: Pass) -> Finding:
    refused = [change for change in _refused(done) if change.differences]
    if refused:
        return Finding("SpecAccepted", False, "Refused", "; ".join(change.reason for change in refused))
    return Finding("SpecAccepted", True, "Valid")


def _secrets(done: Pass) -> list[Finding]:
    if not done.redis.spec.auth.enabled:
        return []
    name, key = done.derived.secret_name, done.derived.secret_key
    secret = done.snapshot.live.get(Key("Secret", done.redis.metadata.namespace, name))
    if secret is None:
        return [Finding("SecretsInSync", False, "SecretNotFound", f"there is no Secret {name}; create it")]
    if key not in secret.get("data", {}):
        message = f"Secret {name} has no key {key}; add it, or correct spec.auth.secretRef.key"
        return [Finding("SecretsInSync", False, "KeyNotFound", message)]
    wrong = [member.pod for member in done.snapshot.vitals if member.trouble is Trouble.WRONG_PASSWORD]
    if wrong:
        message = f"{', '.join(wrong)} runs with another password than Secret {name} has"
        return [Finding("SecretsInSync", False, "PasswordDiffers", message)]
    answered = any(member.answered for member in done.snapshot.vitals)
    return [Finding("SecretsInSync", True, "InSync") if answered else Finding("SecretsInSync", None, "NotAsked")]


def _reconciling(done: Pass) -> list[Finding]:
    trouble = _trouble(done)
    busy = not (done.failures or done.refusals or stuck(done))
    return [Finding("Reconciling", busy, *trouble)] if trouble else []


def _stalled(done: Pass) -> list[Finding]:
    refused = _refused(done)
    if not (done.failures or done.refusals or refused):
        return []
    reason = type(done.failures[0]).__name__ if done.failures else "Refused"
    said = [*map(str, done.failures), *done.refusals, *(f"{change.key}: {change.reason}" for change in refused)]
    return [Finding("Stalled", True, reason, "; ".join(said))]


def _held(done: Pass) -> list[Finding]:
    held = [*([done.step] if isinstance(done.step, Hold) else []), *done.holds]
    return [Finding("Held", True, held[0].reason, "; ".join(hold.message for hold in held))] if held else []


def _drift(done: Pass) -> list[Finding]:
    said = [f"{one.manager} owns {one.field} of {change.key}" for change in _left(done) for one in change.differences]
    return [Finding("DriftDetected", True, "OwnedByOthers", "; ".join(said[:MOST_LISTED]))] if said else []


def _update_pending(done: Pass) -> list[Finding]:
    old = [pod["metadata"]["name"] for pod in outdated(done.snapshot.pods, _stateful_set(done))]
    if not old:
        return []
    return [Finding("UpdatePending", True, "PodsOutdated", f"{', '.join(old)} must restart to run what is wanted")]


def _volumes(done: Pass) -> list[Finding]:
    growing = [(claim, found) for claim in done.snapshot.claims if (found := growth(claim))]
    return [Finding("VolumeResizing", True, growing[0][1].reason, _sizes(growing))] if growing else []


# -- in words ---------------------------------------------------------------------------------------------------------


def _trouble(done: Pass) -> tuple[str, str] | None:
    """Return why the `Redis` is not Ready, as reason and message; None when it is."""
    questions = (
        _failed,
        _refusal,
        _hold,
        _unreachable,
        _settings,
        _changes,
        _no_pods_of_ours,
        _pods,
        _silent,
        _roles,
        _growing,
        _not_ours,
    )
    return next((found for question in questions if (found := question(done))), None)


def _failed(done: Pass) -> tuple[str, str] | None:
    if not done.failures:
        return None
    return "ApplyFailed", "; ".join(str(failure) for failure in done.failures)


def _refusal(done: Pass) -> tuple[str, str] | None:
    return ("ActionRefused", "; ".join(done.refusals)) if done.refusals else None


def _hold(done: Pass) -> tuple[str, str] | None:
    return (done.step.reason, done.step.message) if isinstance(done.step, Hold) else None


def _unreachable(done: Pass) -> tuple[str, str] | None:
    """While nothing has to be told to the members it is enough that their pods are Ready: see `_message`."""
    states = {health(pod).state for pod in done.snapshot.pods}
    if not _out_of_reach(done) or "Failed" in states or (states == {"Current"} and not done.unasked):
        return None
    return "MembersUnreachable", _way_to_the_members(done)


def _settings(done: Pass) -> tuple[str, str] | None:
    if not done.unasked:
        return None
    said = "; ".join(member.sentence for member in done.unasked)
    return "SettingsPending", f"{said}; what it runs with is set when it answers"


def _growing(done: Pass) -> tuple[str, str] | None:
    growing = _mounted_and_growing(done)
    return (growing[0][1].reason, _sizes(growing)) if growing else None


def _mounted_and_growing(done: Pass) -> list[tuple[Manifest, Health]]:
    """Return the volumes that grow, what failed first; without a pod a volume does not grow to the end."""
    mounted = {f"{names.DATA_VOLUME}-{pod['metadata']['name']}" for pod in done.snapshot.pods}
    growing = [(claim, found) for claim in done.snapshot.claims if (found := growth(claim))]
    there = [(claim, found) for claim, found in growing if claim["metadata"]["name"] in mounted]
    return sorted(there, key=lambda pair: pair[1].state != "Failed")


def _sizes(growing: Sequence[tuple[Manifest, Health]]) -> str:
    return "; ".join(f"the volume of {claim['metadata']['name']} {_size(claim, found)}" for claim, found in growing)


def _size(claim: Manifest, found: Health) -> str:
    wanted = claim["spec"]["resources"]["requests"]["storage"]
    has = f"has {claim['status'].get('capacity', {}).get('storage', 0)} of {wanted}"
    return has if found.message in {"", has} else f"{has}: {found.message}"


def _silent(done: Pass) -> tuple[str, str] | None:
    members = done.snapshot.vitals
    silent = [member.sentence for member in members if not member.alive and member.address]
    answered = any(member.answered for member in members)
    return ("MemberSilent", f"{'; '.join(silent)}, though its Pod is Ready") if silent and answered else None


def _changes(done: Pass) -> tuple[str, str] | None:
    coming = _coming(done)
    return ("ChangesPending", "; ".join(f"{change.key}: {change.reason}" for change in coming)) if coming else None


def _not_ours(done: Pass) -> tuple[str, str] | None:
    foreign = _foreign(done)
    said = "; ".join(f"{change.key} {change.reason}; rename it or this Redis" for change in foreign)
    return ("NameTaken", said) if foreign else None


def _no_pods_of_ours(done: Pass) -> tuple[str, str] | None:
    """A StatefulSet of somebody else is never going to have the pods that are waited for."""
    return _not_ours(done) if any(change.key.kind == "StatefulSet" for change in _foreign(done)) else None


def _pods(done: Pass) -> tuple[str, str] | None:
    wanted, there = done.redis.spec.replicas, len(done.snapshot.pods)
    waiting = next((pod for pod in done.snapshot.pods if not _ready(pod)), None)
    if waiting:
        causes = (_no_secret, _no_volume, _of_its_own)
        return next(found for cause in causes if (found := cause(done, waiting)))
    if there == wanted:
        return None
    waits = next(iter(done.holds), None)
    return (waits.reason, waits.message) if waits else ("Scaling", f"{there} of {wanted} pods exist")


def _no_secret(done: Pass, pod: Manifest) -> tuple[str, str] | None:
    """A pod that mounts what is not there says only that its containers are being created."""
    if health(pod).reason != "ContainerCreating":
        return None
    missing = (finding for finding in _secrets(done) if finding.reason in {"SecretNotFound", "KeyNotFound"})
    return next(((finding.reason, finding.message) for finding in missing), None)


def _no_volume(done: Pass, pod: Manifest) -> tuple[str, str] | None:
    """A pod whose claim waits says only that it cannot be scheduled."""
    if health(pod).reason != "Unschedulable":
        return None
    claims = {claim["metadata"]["name"]: claim for claim in done.snapshot.claims}
    waiting = [claims[name] for name in claim_names(pod) if name in claims and health(claims[name]).reason == "Pending"]
    if not waiting:
        return None
    named, storage_class = waiting[0]["metadata"]["name"], waiting[0]["spec"].get("storageClassName")
    which = f"the storage class {storage_class}" if storage_class else "the default storage class"
    return (
        "VolumePending",
        f"PersistentVolumeClaim {named} waits for a volume of {which}; see that this class is there and provides one, "
        f"or, for another class, delete this Redis and its claims, which hold no data yet, and apply it anew",
    )


def _of_its_own(done: Pass, pod: Manifest) -> tuple[str, str]:
    found = health(pod)
    return found.reason, f"Pod {pod['metadata']['name']}: {': '.join(filter(None, [found.reason, found.message]))}"


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
    if done.failures or stuck(done):
        return "Failed"
    return "Degraded" if _available(done).true else "Creating"


def _message(done: Pass) -> str:
    trouble = _trouble(done)
    if trouble:
        return trouble[1]
    replicas = done.redis.spec.replicas
    said = f"Redis cluster with {replicas} replicas deployed" if replicas else "No pods are wanted; volumes are kept"
    return f"{said}; {_way_to_the_members(done)}" if _out_of_reach(done) else said


def _out_of_reach(done: Pass) -> bool:
    """Tell whether there is no way from here to any member: none refuses, and none answers."""
    troubles = {member.trouble for member in done.snapshot.vitals}
    return bool(troubles) and troubles <= {Trouble.UNREACHABLE, Trouble.TIMEOUT}


def _way_to_the_members(done: Pass) -> str:
    first = done.snapshot.vitals[0].sentence
    return (
        f"no member can be asked from here: {first}; "
        "run redisop where the addresses of the pods can be reached, inside the cluster for example"
    )


# -- details ----------------------------------------------------------------------------------------------------------


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


def _drifted(change: Change) -> dict[str, Any]:
    managers = dict.fromkeys(str(one.manager) for one in change.differences)
    fields = [one.field for one in change.differences[:MOST_LISTED]]
    return {"object": str(change.key), "fields": fields, "manager": ", ".join(managers)}


def _coming(done: Pass) -> list[Change]:
    """Return the changes that are still to be made. What is refused or left to others is no work in progress."""
    return [change for change in done.pending if change.verb not in {"refuse", "leave"}]


def _refused(done: Pass) -> list[Change]:
    return [change for change in done.pending if change.verb == "refuse"]


def _foreign(done: Pass) -> list[Change]:
    """Return what is refused as a whole: objects of our children's names that belong to somebody else."""
    return [change for change in _refused(done) if not change.differences]


def _left(done: Pass) -> list[Change]:
    return [change for change in done.pending if change.verb == "leave"]
