"""How a child says whose it is."""

from __future__ import annotations

from redisop.api.v1 import API_VERSION, KIND
from redisop.manifest import Manifest


def owner_reference(name: str, uid: str | None) -> Manifest:
    """Return the controller reference to the `Redis` of this name and uid."""
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "name": name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
