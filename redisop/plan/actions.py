"""What can be done to Redis processes and their pods, one step at a time, and what cannot be done safely now."""

from __future__ import annotations

from dataclasses import dataclass

from redisop.manifest import Manifest
from redisop.snapshot.vitals import Vitals


@dataclass(frozen=True, slots=True)
class Promote:
    """Let this member lead; it is meant for the process and the history that were observed."""

    member: Vitals
    reason: str

    def __str__(self) -> str:
        return f"promote {self.member.pod}"


@dataclass(frozen=True, slots=True)
class Follow:
    """Let these members, all last seen as replicas, follow the primary at its present address."""

    members: tuple[Vitals, ...]
    primary: Vitals
    reason: str

    def __str__(self) -> str:
        return f"let {', '.join(member.pod for member in self.members)} follow {self.primary.pod}"


@dataclass(frozen=True, slots=True)
class Configure:
    """Set these keys on these running members; the file that they start from follows after."""

    members: tuple[Vitals, ...]
    settings: tuple[tuple[str, str], ...]
    reason: str

    def __str__(self) -> str:
        keys = ", ".join(key for key, _ in self.settings)
        return f"set {keys} on {', '.join(member.pod for member in self.members)}"


@dataclass(frozen=True, slots=True)
class Recreate:
    """Delete these pods, each in the very version that was seen, for the StatefulSet to make them anew."""

    pods: tuple[Manifest, ...]
    reason: str

    def __str__(self) -> str:
        return f"recreate {', '.join(pod['metadata']['name'] for pod in self.pods)}"


MemberAction = Promote | Follow | Configure
Action = MemberAction | Recreate


@dataclass(frozen=True, slots=True)
class Hold:
    """What cannot be done safely now: a CamelCase reason, and a message that names the way out."""

    reason: str
    message: str
