"""The generated password: made once, never replaced while its Secret exists, never deleted by redisop."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping

from redisop import names
from redisop.api.derived import Derived
from redisop.api.v1 import API_VERSION, KIND, Redis
from redisop.diff import Change, Consequence
from redisop.manifest import Key, Manifest


def secret_key(redis: Redis, derived: Derived) -> Key | None:
    """Return where the password stands, None when there is none."""
    if not redis.spec.auth.enabled:
        return None
    return Key("Secret", redis.metadata.namespace, derived.secret_name)


def secret_change(
    redis: Redis, derived: Derived, live: Mapping[Key, Manifest], fresh_password: Callable[[], str]
) -> Change | None:
    """Return the Change that creates the Secret when it is ours to make and there is none."""
    where = secret_key(redis, derived)
    if where is None or redis.spec.auth.secretRef is not None or where in live:
        return None
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
    if redis.spec.persistence.retention.whenDeleted == "Delete":
        # Under Retain it has no owner: volumes that stay are of no use without their password.
        manifest["metadata"]["ownerReferences"] = [_owner(redis)]
    return Change(where, "create", manifest, (), Consequence.NONE, "does not exist")


def password(secret: Manifest | None, key: str) -> bytes | None:
    """Return the password in `secret`, one trailing newline dropped as the pods do; None when it is not there."""
    value = (secret or {}).get("data", {}).get(key)
    return None if value is None else base64.b64decode(value).removesuffix(b"\n")


def _owner(redis: Redis) -> Manifest:
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "name": redis.metadata.name,
        "uid": redis.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
