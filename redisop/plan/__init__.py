"""What to do to the Redis processes now: `plan` gives one Action, one Hold or None, always the same for the same facts.

Pure and total: any Snapshot, however odd, has an answer. Nothing is done here.
"""

from __future__ import annotations

from collections.abc import Callable

from redisop.api.v1 import RedisSpec
from redisop.layout import Shard
from redisop.plan.actions import Action, Hold
from redisop.plan.membership import membership
from redisop.snapshot import Snapshot

Policy = Callable[[RedisSpec, tuple[Shard, ...], int, Snapshot], Action | Hold | None]

# In order of urgency; the first that has something to say is heard.
POLICIES: tuple[Policy, ...] = (membership,)


def plan(spec: RedisSpec, shards: tuple[Shard, ...], home: int, snapshot: Snapshot) -> Action | Hold | None:
    """Return what is most urgent; `home` is the ordinal that the Service selects."""
    answers = (policy(spec, shards, home, snapshot) for policy in POLICIES)
    return next((answer for answer in answers if answer is not None), None)
