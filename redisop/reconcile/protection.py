"""`deletion.protected`: the finalizer that holds up the deletion of a `Redis`, there exactly while that is true."""

from __future__ import annotations

from redisop import names
from redisop.api.v1 import Redis


def finalizers(redis: Redis) -> tuple[str, ...] | None:
    """Return the finalizers that `redis` should have; None when it has them.

    The API server takes no new one while the object is being deleted.
    """
    there = redis.metadata.finalizers
    if redis.spec.deletion.protected:
        missing = names.FINALIZER not in there and redis.metadata.deletionTimestamp is None
        return (*there, names.FINALIZER) if missing else None
    return tuple(one for one in there if one != names.FINALIZER) if names.FINALIZER in there else None
