"""The kind `Redis`, exactly as `redisop crd` prints it, so that the two never take turns."""

from __future__ import annotations

from redisop.api.crd import crd
from redisop.install.options import Options
from redisop.manifest import Manifest


def definition(options: Options) -> list[Manifest]:
    """Return the CustomResourceDefinition."""
    return [crd()]
