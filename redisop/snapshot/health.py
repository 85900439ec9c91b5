"""What an object's own status says about how it fares, in the words of kstatus and with Kubernetes' own reasons.

The state is what the object says now; how long it may say so is not decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from redisop.api.scalars import Quantity
from redisop.manifest import Manifest

State = Literal["Current", "InProgress", "Failed", "Terminating"]


@dataclass(frozen=True, slots=True)
class Health:
    """`Current`: as it should be; `InProgress`: on its way; `Failed`: something must change before it gets there."""

    state: State
    reason: str
    message: str = ""


def health(manifest: Manifest) -> Health:
    """Return how `manifest`, an object as read from the API server, fares; of a kind without states: that it exists."""
    questions = (_terminating, *_QUESTIONS.get(manifest["kind"], ()))
    answers = (question(manifest) for question in questions)
    return next((answer for answer in answers if answer), Health("Current", "Exists"))


def _terminating(manifest: Manifest) -> Health | None:
    finalizers = ", ".join(manifest["metadata"].get("finalizers", ()))
    waiting = f"waits for the finalizers {finalizers}" if finalizers else ""
    return Health("Terminating", "Terminating", waiting) if "deletionTimestamp" in manifest["metadata"] else None


# -- Pod --------------------------------------------------------------------------------------------------------------


def _ended(pod: Manifest) -> Health | None:
    status = _status(pod)
    if status.get("phase") not in {"Failed", "Succeeded"}:
        return None
    return Health("Failed", status.get("reason") or status["phase"], status.get("message", ""))


def _unscheduled(pod: Manifest) -> Health | None:
    scheduled = _condition(pod, "PodScheduled")
    if scheduled.get("status") != "False":
        return None
    return Health("InProgress", scheduled.get("reason") or "Unschedulable", scheduled.get("message", ""))


def _stuck_container(pod: Manifest) -> Health | None:
    """The first container that waits for more than its turn: image, configuration, crash loop."""
    for name, container in _containers(pod):
        waiting = container.get("state", {}).get("waiting", {})
        if (reason := waiting.get("reason")) and reason not in _TAKES_ITS_TURN:
            return Health("Failed", reason, _of(name, waiting.get("message", ""), _last_end(container)))
    return None


def _ended_container(pod: Manifest) -> Health | None:
    """A container that ended and is not yet started again; an init container that ended well is done."""
    for name, container in _containers(pod):
        end = container.get("state", {}).get("terminated", {})
        if end and end.get("exitCode"):
            return Health("Failed", end.get("reason") or "Error", _of(name, _end(end)))
    return None


def _starting_container(pod: Manifest) -> Health | None:
    for name, container in _containers(pod):
        waiting = container.get("state", {}).get("waiting", {})
        if waiting:
            return Health("InProgress", waiting.get("reason") or "Waiting", _of(name, waiting.get("message", "")))
    return None


def _readiness(pod: Manifest) -> Health | None:
    ready = _condition(pod, "Ready")
    if ready.get("status") == "True":
        return Health("Current", "Ready")
    return Health("InProgress", ready.get("reason") or "NotReady", ready.get("message", ""))


_TAKES_ITS_TURN: Final = {"ContainerCreating", "PodInitializing"}


def _containers(pod: Manifest) -> Iterator[tuple[str, dict[str, Any]]]:
    for field in ("initContainerStatuses", "containerStatuses"):
        for container in _status(pod).get(field, ()):
            yield container.get("name", ""), container


def _of(name: str, *parts: str) -> str:
    return "; ".join([f"container {name}", *filter(None, parts)])


def _last_end(container: Mapping[str, Any]) -> str:
    end = container.get("lastState", {}).get("terminated", {})
    return f"last {_end(end)}" if end else ""


def _end(end: Mapping[str, Any]) -> str:
    return f"ended with code {end.get('exitCode')} ({end.get('reason') or 'no reason'})"


def runs(pod: Manifest, container: str) -> bool:
    """Tell whether the process of `container` runs, Ready or not; where nothing tells of containers, if it is Ready."""
    states = {name: status.get("state", {}) for name, status in _containers(pod)}
    return "running" in states[container] if container in states else health(pod).state == "Current"


# -- StatefulSet ------------------------------------------------------------------------------------------------------


def _not_observed(manifest: Manifest) -> Health | None:
    generation = manifest["metadata"].get("generation", 0)
    if _status(manifest).get("observedGeneration", 0) >= generation:
        return None
    return Health("InProgress", "NotObserved", f"generation {generation} was not seen yet by its controller")


def _missing_pods(stateful_set: Manifest) -> Health | None:
    wanted, exist = _replicas(stateful_set), _status(stateful_set).get("replicas", 0)
    if exist == wanted:
        return None
    return Health("InProgress", "Scaling", f"{exist} of {wanted} pods exist")


def _unready_pods(stateful_set: Manifest) -> Health | None:
    wanted, ready = _replicas(stateful_set), _status(stateful_set).get("readyReplicas", 0)
    if ready >= wanted:
        return None
    return Health("InProgress", "NotReady", f"{ready} of {wanted} pods are Ready")


def _old_pods(stateful_set: Manifest) -> Health | None:
    """Under `OnDelete` an old pod stays until somebody deletes it: no fault of the StatefulSet."""
    if stateful_set["spec"].get("updateStrategy", {}).get("type") == "OnDelete":
        return None
    wanted, updated = _replicas(stateful_set), _status(stateful_set).get("updatedReplicas", 0)
    if updated >= wanted:
        return None
    return Health("InProgress", "Updating", f"{updated} of {wanted} pods are of the newest revision")


def _all_pods(stateful_set: Manifest) -> Health | None:
    return Health("Current", "Ready", f"{_replicas(stateful_set)} pods are Ready")


def _replicas(stateful_set: Manifest) -> int:
    return int(stateful_set["spec"].get("replicas", 1))


# -- PersistentVolumeClaim --------------------------------------------------------------------------------------------


def _unbound(claim: Manifest) -> Health | None:
    phase = _status(claim).get("phase", "Pending")
    if phase == "Bound":
        return None
    storage_class = claim["spec"].get("storageClassName")
    return Health("Failed" if phase == "Lost" else "InProgress", phase, f"storage class {storage_class or '(default)'}")


def _failed_resize(claim: Manifest) -> Health | None:
    """Kubernetes keeps trying after these, but only another size, class or node makes the difference."""
    for kind in ("ControllerResizeError", "NodeResizeError"):
        condition = _condition(claim, kind)
        if condition.get("status") == "True":
            return Health("Failed", kind, condition.get("message", ""))
    resize = _status(claim).get("allocatedResourceStatuses", {}).get("storage", "")
    return Health("Failed", resize) if resize.endswith("Infeasible") else None


def _resizing(claim: Manifest) -> Health | None:
    for kind in ("FileSystemResizePending", "Resizing"):
        condition = _condition(claim, kind)
        if condition.get("status") == "True":
            return Health("InProgress", kind, condition.get("message", ""))
    wanted = claim["spec"].get("resources", {}).get("requests", {}).get("storage", 0)
    has = _status(claim).get("capacity", {}).get("storage", 0)
    if Quantity.parse(has).value >= Quantity.parse(wanted).value:
        return None
    return Health("InProgress", "Resizing", f"has {has} of {wanted}")


def growth(claim: Manifest) -> Health | None:
    """Return how the growth of a bound volume fares; None when it is as large as it should be."""
    return None if _unbound(claim) else _failed_resize(claim) or _resizing(claim)


def _bound(claim: Manifest) -> Health | None:
    return Health("Current", "Bound")


# -- What all kinds share ---------------------------------------------------------------------------------------------


def _status(manifest: Manifest) -> dict[str, Any]:
    status: dict[str, Any] = manifest.get("status", {})
    return status


def _condition(manifest: Manifest, kind: str) -> dict[str, Any]:
    return next((condition for condition in _status(manifest).get("conditions", ()) if condition["type"] == kind), {})


# The first question that is answered decides.
_QUESTIONS: Final[Mapping[str, tuple[Callable[[Manifest], Health | None], ...]]] = {
    "Pod": (_ended, _unscheduled, _stuck_container, _ended_container, _starting_container, _readiness),
    "StatefulSet": (_not_observed, _missing_pods, _unready_pods, _old_pods, _all_pods),
    "PersistentVolumeClaim": (_unbound, _failed_resize, _resizing, _bound),
}
