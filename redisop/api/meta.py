"""`metadata` of a `Redis`: what redisop reads of it, and what it lets pass."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

# A Service name must start with a letter, and `-headless` and the hash of a pod must still fit into 63 characters.
NAME_PATTERN = r"^[a-z]([-a-z0-9]*[a-z0-9])?$"
NAME_LENGTH = 52


class Meta(BaseModel):
    """The identity of a `Redis` and the labels and annotations that its owner gave it."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str
    namespace: str | None = None
    uid: str | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)
    finalizers: Annotated[tuple[str, ...], Field(strict=False)] = ()
    generation: int | None = None
    resourceVersion: str | None = None
    creationTimestamp: str | None = None
    deletionTimestamp: str | None = None
    # Written by the API server or by other tools; a document dumped with `kubectl get -o yaml` must stay readable.
    deletionGracePeriodSeconds: Any = None
    generateName: Any = None
    managedFields: Any = None
    ownerReferences: Any = None
    selfLink: Any = None
