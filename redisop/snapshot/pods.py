"""What a pod says about the revision that it was made from, and about the Redis in it, as the kubelet last told it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from redisop import names
from redisop.manifest import Manifest

REVISION: Final = "controller-revision-hash"


def outdated(pods: Iterable[Manifest], stateful_set: Manifest | None) -> list[Manifest]:
    """Return the pods whose revision is not the newest; none while the controller has not seen the newest yet."""
    if stateful_set is None:
        return []
    status = stateful_set.get("status", {})
    newest = status.get("updateRevision")
    if not newest or status.get("observedGeneration", 0) < stateful_set["metadata"].get("generation", 0):
        return []
    return [pod for pod in pods if pod["metadata"].get("labels", {}).get(REVISION) != newest]


def redis_waits(pod: Manifest) -> bool:
    """Tell whether no Redis runs in `pod`, and none is about to by itself: it has no node, or its container waits.

    A container that has just ended does not wait: it is started again at once.
    """
    if pod.get("status", {}).get("phase") not in {"Pending", "Running"}:
        return False
    container = _redis(pod)
    return container is None or "waiting" in container.get("state", {})


def redis_ever_ran(pod: Manifest) -> bool:
    """Tell whether Redis was started in `pod` at any time."""
    container = _redis(pod) or {}
    now, before = container.get("state", {}), container.get("lastState", {})
    return bool(container.get("restartCount") or before or now.keys() - {"waiting"})


def has_volume(pod: Manifest) -> bool:
    """Tell whether the data of `pod` are on a volume that outlives it."""
    volumes = pod["spec"].get("volumes", [])
    return any(each["name"] == names.DATA_VOLUME and "persistentVolumeClaim" in each for each in volumes)


def claim_names(pod: Manifest) -> list[str]:
    """Return the names of the claims that `pod` mounts."""
    volumes = pod["spec"].get("volumes", [])
    return [each["persistentVolumeClaim"]["claimName"] for each in volumes if "persistentVolumeClaim" in each]


def controller_uid(manifest: Manifest) -> str | None:
    """Return the uid of the object that manages `manifest`."""
    owners = manifest["metadata"].get("ownerReferences", [])
    return next((owner["uid"] for owner in owners if owner.get("controller")), None)


def _redis(pod: Manifest) -> dict[str, Any] | None:
    """Return the status of the Redis container; None while the kubelet has not told of it."""
    containers = pod.get("status", {}).get("containerStatuses", [])
    return next((each for each in containers if each["name"] == names.REDIS_CONTAINER), None)
