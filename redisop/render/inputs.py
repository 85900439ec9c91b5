"""The facts that `render` needs beyond the spec."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Inputs:
    """Frozen facts; the defaults are those of a new instance that no redisop manages.

    `primary` is the ordinal of the member that leads (K of the design), `epoch` counts how often it moved, `fenced`
    says whether a primary without replicas refuses writes. `defaultsRevision` is the table that a live
    instance already follows; the spec's own choice wins over it.
    """

    managed: bool = False
    primary: int = 0
    epoch: int = 0
    fenced: bool = True
    defaultsRevision: int | None = None
    owner_uid: str | None = None
    pod_monitors: bool = True
