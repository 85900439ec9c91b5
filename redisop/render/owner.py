"""How a child says whose it is."""

from __future__ import annotations

from redisop import names
from redisop.manifest import Manifest


def owner_reference(name: str, uid: str | None) -> Manifest:
    """Return the controller reference to the `Redis` of this name and uid."""
    return {
        "apiVersion": names.REDIS.api_version,
        "kind": names.REDIS.kind,
        "name": name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
