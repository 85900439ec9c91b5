"""The status of a `Redis` whose spec is not valid: what was last seen stays, and what is wrong is said beside it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from redisop.api.violation import Violation
from redisop.manifest import Manifest
from redisop.status.conditions import ABNORMAL, ALWAYS, LONGEST_MESSAGE, Finding, conditions

_ORDER: Final = (*ALWAYS, *ABNORMAL)


def rejected(live: Manifest, violations: Iterable[Violation], now: datetime) -> dict[str, Any]:
    """Return the status of `live`, an object that no longer validates: the children are left as they are.

    The other conditions keep the generation that they speak of, by which readers see that they are older.
    """
    before = live.get("status") or {}
    wrong = message_of_violations(violations)
    message = f"the spec is not valid, so all stays as it was: {wrong}"
    found = [Finding("SpecAccepted", False, "Invalid", wrong), Finding("Stalled", True, "Invalid", message)]
    generation = live["metadata"]["generation"]
    said = {each["type"]: each for each in before.get("conditions", [])}
    said.pop("Reconciling", None)
    said |= {each["type"]: each for each in conditions(found, before.get("conditions", []), generation, now)}
    return {
        **before,
        "observedGeneration": generation,
        "phase": before.get("phase", "Failed"),
        "message": message[:LONGEST_MESSAGE],
        "conditions": sorted(said.values(), key=lambda each: _ORDER.index(each["type"])),
    }


def message_of_violations(violations: Iterable[Violation]) -> str:
    """Return all errors among `violations` in one line."""
    return "; ".join(f"{each.path} {each.wrong}: {each.right}" for each in violations if each.level == "error")
