"""Conditions, and the one setter that moves `lastTransitionTime`.

Kubernetes API conventions and kstatus: what is abnormal exists only while it is true.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

ALWAYS: Final = ("Ready", "Available", "SpecAccepted", "SecretsInSync")
ABNORMAL: Final = (*("Reconciling", "Stalled", "Held", "DriftDetected", "UpdatePending", "VolumeResizing"),)
LONGEST_MESSAGE: Final = 1024


@dataclass(frozen=True, slots=True)
class Finding:
    """What a condition should say now; `true` is its status, None for `Unknown`."""

    type: str
    true: bool | None
    reason: str
    message: str = ""


def conditions(
    findings: list[Finding], before: list[Mapping[str, Any]], generation: int | None, now: datetime
) -> list[dict[str, Any]]:
    """Return the conditions that say `findings`; `before` are those that the object has."""
    known = {condition["type"]: condition for condition in before}
    shown = [finding for finding in findings if finding.type in ALWAYS or finding.true]
    return [_condition(finding, known.get(finding.type), generation, now) for finding in shown]


def _condition(
    finding: Finding, before: Mapping[str, Any] | None, generation: int | None, now: datetime
) -> dict[str, Any]:
    status = {True: "True", False: "False", None: "Unknown"}[finding.true]
    unmoved = before is not None and before.get("status") == status
    since = before["lastTransitionTime"] if unmoved and before else now.strftime("%Y-%m-%dT%H:%M:%SZ")
    condition: dict[str, Any] = {
        "type": finding.type,
        "status": status,
        "reason": finding.reason,
        "message": finding.message[:LONGEST_MESSAGE],
        "lastTransitionTime": since,
    }
    if generation is not None:
        condition["observedGeneration"] = generation
    return condition
