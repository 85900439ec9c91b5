"""What to do to the Redis processes and their pods now: `plan` gives one Action, one Hold or None.

Pure and total: any Snapshot, however odd, has an answer, and always the same one. Nothing is done here.
"""

from __future__ import annotations

from collections.abc import Callable

from redisop.plan.actions import Action, Hold
from redisop.plan.membership import membership
from redisop.plan.settings import settings
from redisop.plan.stuck_pods import stuck_pods
from redisop.plan.wanted import Wanted
from redisop.snapshot import Snapshot

Policy = Callable[[Wanted, Snapshot], Action | Hold | None]

# In order of urgency; the first that has something to say is heard.
POLICIES: tuple[Policy, ...] = (membership, settings, stuck_pods)


def plan(wanted: Wanted, snapshot: Snapshot) -> Action | Hold | None:
    """Return what is most urgent."""
    answers = (policy(wanted, snapshot) for policy in POLICIES)
    return next((answer for answer in answers if answer is not None), None)
