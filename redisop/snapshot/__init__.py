"""Everything that was observed in one look, with the time it was taken. Pure: no connections, no clock.

`Snapshot` is what was seen of one `Redis`, `vitals` what its members said, `health` what an object's own status says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from redisop.manifest import Key, Manifest, key
from redisop.snapshot.vitals import Vitals


@dataclass(frozen=True, slots=True, repr=False)
class Snapshot:
    """One look at one `Redis`: its children that exist, its pods and claims, and its members, by ordinal.

    `live` holds Secrets with their values, so manifests print as their Keys.
    """

    taken: datetime
    live: Mapping[Key, Manifest]
    pods: tuple[Manifest, ...]
    claims: tuple[Manifest, ...]
    vitals: tuple[Vitals, ...]

    def objects(self) -> dict[Key, Manifest]:
        """Return the children and the claims by Key: all that may differ from what is wanted."""
        return {**self.live, **{key(claim): claim for claim in self.claims}}

    def __repr__(self) -> str:
        children = ", ".join(map(str, self.live))
        pods, claims = (", ".join(_named(manifest) for manifest in some) for some in (self.pods, self.claims))
        return (
            f"Snapshot(taken={self.taken.isoformat()}, live=[{children}], pods=[{pods}], claims=[{claims}], "
            f"vitals={self.vitals!r})"
        )


def _named(manifest: Manifest) -> str:
    metadata = manifest["metadata"]
    return f"{metadata['name']} uid {metadata.get('uid')}"
