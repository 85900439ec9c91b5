"""`status` of a `Redis`, field by field: what the loop writes and people read. Never an input to a decision."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from redisop.api.v1 import Part, ordered

Moment = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
Name = Annotated[str, Field(max_length=253)]
Sentence = Annotated[str, Field(max_length=1024)]
Address = Annotated[str, Field(max_length=320)]


class Condition(Part):
    """One aspect of the Redis, as in Kubernetes' own objects."""

    type: Annotated[str, Field(max_length=316)]
    status: Literal["True", "False", "Unknown"]
    reason: Annotated[str, Field(min_length=1, max_length=1024)]
    message: Annotated[str, Field(max_length=32768)]
    lastTransitionTime: Moment
    observedGeneration: Annotated[int, Field(ge=0)] | None = None


class Endpoints(Part):
    """Where clients connect, as host:port."""

    primary: Address | None = None
    read: Address | None = None


class Member(Part):
    """One Redis process, in words that do not move at rest."""

    name: Name
    role: Annotated[str, Field(max_length=32)] | None = None
    ready: bool | None = None
    node: Name | None = None
    link: Annotated[str, Field(max_length=64)] | None = None
    sync: Annotated[str, Field(max_length=64)] | None = None


class LastFailover(Part):
    """When the primary last moved, and why."""

    time: Moment
    former: Annotated[Name, Field(alias="from")]
    to: Name
    reason: Sentence


class PendingChange(Part):
    """A change that waits, and what it will do to the running Redis."""

    object: Annotated[str, Field(max_length=512)]
    consequence: Annotated[str, Field(max_length=32)]
    reason: Sentence


class Drift(Part):
    """What somebody else changed in a child."""

    object: Annotated[str, Field(max_length=512)]
    fields: Annotated[tuple[Annotated[str, Field(max_length=512)], ...], ordered(most=32)] = ()
    manager: Name | None = None


class Storage(Part):
    """Size of the data volumes, as wanted and as they are."""

    requested: Annotated[str, Field(max_length=32)] | None = None
    actual: Annotated[str, Field(max_length=32)] | None = None


class RedisStatus(Part):
    """What the cluster says of a Redis."""

    phase: Annotated[
        Literal[
            "Pending",
            "Creating",
            "Running",
            "Updating",
            "FailingOver",
            "Degraded",
            "Hibernated",
            "Paused",
            "Failed",
            "Deleting",
        ]
        | None,
        Field(description="In one word, for people."),
    ] = None
    message: Annotated[Sentence | None, Field(description="In one sentence.")] = None
    conditions: Annotated[tuple[Condition, ...], ordered("type", most=16)] = ()
    masterPodName: Annotated[Name | None, Field(description="The primary.")] = None
    slavePodNames: Annotated[tuple[Name, ...], ordered(most=15)] = ()
    observedGeneration: Annotated[
        int | None, Field(ge=0, description="The generation that the whole status speaks of.")
    ] = None
    replicas: Annotated[int, Field(ge=0)] | None = None
    readyReplicas: Annotated[int, Field(ge=0)] | None = None
    selector: Annotated[Sentence | None, Field(description="Selects the pods, for autoscalers.")] = None
    mode: Annotated[str, Field(max_length=32)] | None = None
    image: Annotated[str, Field(max_length=512)] | None = None
    defaultsRevision: Annotated[int, Field(ge=1)] | None = None
    endpoints: Endpoints | None = None
    members: Annotated[tuple[Member, ...], ordered("name", most=15)] = ()
    lastFailover: LastFailover | None = None
    pendingChanges: Annotated[tuple[PendingChange, ...], ordered(most=16)] = ()
    drift: Annotated[tuple[Drift, ...], ordered(most=16)] = ()
    storage: Storage | None = None
