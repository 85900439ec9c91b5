"""The generated password: made once, never replaced while its Secret exists, never deleted by redisop."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping

from redisop import names
from redisop.api.derived import Derived
from redisop.api.v1 import Redis
from redisop.diff import Change, Consequence, Difference, foreign
from redisop.manifest import Key, Manifest, key
from redisop.render.owner import owner_reference


def secret_key(redis: Redis, derived: Derived) -> Key | None:
    """Return where the password stands, None when there is none."""
    if not redis.spec.auth.enabled:
        return None
    return Key("Secret", redis.metadata.namespace, derived.secret_name)


def secret_change(
    redis: Redis, derived: Derived, live: Mapping[Key, Manifest], fresh_password: Callable[[], str]
) -> Change | None:
    """Return the Change of the generated Secret: to make it, or to give it another owner; None when it is right."""
    where = secret_key(redis, derived)
    if where is None or redis.spec.auth.secretRef is not None:
        return None
    if where in live:
        return _owner_change(redis, live[where])
    manifest: Manifest = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": where.name,
            "namespace": where.namespace,
            "labels": names.labels(redis.metadata.name),
        },
        "type": "Opaque",
        "data": {names.PASSWORD_FILE: base64.b64encode(fresh_password().encode()).decode()},
    }
    if owners := _owners(redis, []):
        manifest["metadata"]["ownerReferences"] = owners
    return Change(where, "create", manifest, (), Consequence.NONE, "does not exist")


def _owner_change(redis: Redis, secret: Manifest) -> Change | None:
    """Return the Change that makes the Secret go or stay with the `Redis`; None also when it is somebody else's."""
    metadata = secret["metadata"]
    there = metadata.get("ownerReferences", [])
    owners = _owners(redis, there)
    manifest: Manifest = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "labels": names.labels(redis.metadata.name),
            "ownerReferences": owners,
        },
    }
    if owners == there or foreign(secret, manifest, redis.metadata.uid):
        return None
    difference = Difference(("metadata", "ownerReferences"), there, owners, names.FIELD_MANAGER, Consequence.NONE)
    goes = redis.spec.persistence.retention.whenDeleted == "Delete"
    reason = f"should {'go' if goes else 'stay'} when the Redis is deleted"
    return Change(key(secret), "update", manifest, (difference,), Consequence.NONE, reason)


def _owners(redis: Redis, there: list[Manifest]) -> list[Manifest]:
    """Return the owners that the Secret should have.

    Under Retain redisop is none of them: volumes that stay are of no use without their password.
    """
    ours = redis.metadata.uid
    others = [owner for owner in there if owner["uid"] != ours]
    if redis.spec.persistence.retention.whenDeleted == "Retain":
        return others
    mine = next(
        (owner for owner in there if owner["uid"] == ours), owner_reference(redis.metadata.name, redis.metadata.uid)
    )
    return [*others, mine]


def password(secret: Manifest | None, name: str) -> bytes | None:
    """Return the password in `secret`, one trailing newline dropped as the pods do; None when there is no `name`."""
    value = (secret or {}).get("data", {}).get(name)
    return None if value is None else base64.b64decode(value).removesuffix(b"\n")
