"""Who leads and who follows: gives a new instance its roles, and those who came back theirs.

Choosing another primary than the one that leads is not decided here.
"""

from __future__ import annotations

from redisop.plan.actions import Action, Follow, Hold, Promote
from redisop.plan.wanted import Wanted
from redisop.snapshot import Snapshot
from redisop.snapshot.vitals import Vitals


def membership(wanted: Wanted, snapshot: Snapshot) -> Action | Hold | None:
    """Return what gives the members of the one shard their roles."""
    ordinals = {member.ordinal for member in wanted.shards[0].members}
    members = [member for member in snapshot.vitals if member.ordinal in ordinals]
    leading = [member for member in members if member.role == "primary"]
    if len(leading) > 1:
        return _two_primaries(leading)
    if leading:
        return _lost(leading[0], members)
    if len(members) < len(ordinals) or not all(member.answered for member in members):
        return None  # unknown is not down and not empty: whoever is missing may lead, or hold the newest data
    return _first_primary(members, wanted.home)


def _two_primaries(leading: list[Vitals]) -> Hold:
    pods = " and ".join(member.pod for member in leading)
    return Hold(
        "TwoPrimaries",
        f"{pods} both lead; compare their data and make all but one follow the other with REPLICAOF",
    )


def _lost(primary: Vitals, members: list[Vitals]) -> Follow | Hold | None:
    lost = tuple(member for member in members if member.role == "replica" and not _follows(member, primary))
    fuller = [member.pod for member in lost if member.keys]
    if primary.blank and fuller:
        # Following is copying: it would replace the data that are left by the nothing that leads.
        return Hold(
            "EmptyPrimary",
            f"{primary.pod} leads and has no data, {' and '.join(fuller)} has; make that one primary, "
            f"or remove its data if they are not wanted",
        )
    reason = f"{primary.pod} leads, and {len(lost)} of {len(members) - 1} replicas do not follow it"
    return Follow(lost, primary, reason) if lost else None


def _follows(member: Vitals, primary: Vitals) -> bool:
    return member.primary_host == primary.address


def _first_primary(members: list[Vitals], home: int) -> Action | Hold | None:
    """Nobody leads and everybody answers: a new instance, or one that lost its primary."""
    if not members or any(member.loading for member in members):
        return None
    if all(member.blank for member in members):
        chosen = next((member for member in members if member.ordinal == home), members[0])
        return Promote(chosen, f"no member has data yet, and the Service selects {chosen.pod}")
    return Hold(
        "NoPrimary",
        "no member leads, and some have data; the pods' boot script lets home lead again when that is safe "
        "(its log says why it holds)",
    )
