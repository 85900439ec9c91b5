"""The cluster's Events about objects: what controllers and kubelets say of what they could not do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from redisop.live.kube import EVENT, Kube
from redisop.manifest import Manifest

MOST: Final = 10


def last_events(kube: Kube, namespace: str | None, is_wanted: Callable[[Manifest], bool]) -> tuple[Manifest, ...]:
    """Return the last Events for which `is_wanted` says so, oldest first; raises Failure."""
    found = kube.list(EVENT, namespace)
    return tuple(sorted(filter(is_wanted, found), key=last_seen)[-MOST:])


def last_seen(event: Manifest) -> str:
    """Return when it happened last, as Kubernetes writes times."""
    series = event.get("series") or {}
    times = (series.get("lastObservedTime"), event.get("deprecatedLastTimestamp"), event.get("eventTime"))
    return str(next((time for time in times if time), event["metadata"]["creationTimestamp"]))


def about(event: Manifest) -> str:
    """Return what it is about, as `Kind/name`."""
    return f"{event['regarding'].get('kind')}/{event['regarding'].get('name')}"
