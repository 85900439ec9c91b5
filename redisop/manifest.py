"""What a manifest is, and what identifies one.

A manifest is a plain dict, so that it looks like its golden file and like what the API server stores. This module must
know nothing about Redis.
"""

from __future__ import annotations

from typing import Any, NamedTuple

Manifest = dict[str, Any]


class Key(NamedTuple):
    """Kind, namespace and name of a manifest; prints as `Kind/namespace/name`."""

    kind: str
    namespace: str | None
    name: str

    def __str__(self) -> str:
        return "/".join(part for part in self if part)


def key(manifest: Manifest) -> Key:
    """Return the `Key` of `manifest`."""
    metadata = manifest["metadata"]
    return Key(manifest["kind"], metadata.get("namespace"), metadata["name"])
