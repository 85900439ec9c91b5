"""`example.com/v1`: every field of a `Redis`, with its type, its bounds and its constant default.

Models only: what one field means for another is `rules`, what follows from other fields is `derived`. A default stands
here only when it is a constant; the CRD schema is made from these models, and an API server that filled in a derived
default would turn "unset" into "chosen".
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from redisop.api.defaults import NEWEST
from redisop.api.meta import Meta
from redisop.api.passthrough import Anything, Container, ContainerSecurity, Mount, Peer, PodSecurity, Variable, Volume
from redisop.api.scalars import (
    DURATION_LENGTH,
    DURATION_PATTERN,
    PERCENT_PATTERN,
    QUANTITY_LENGTH,
    QUANTITY_PATTERN,
    Duration,
    Quantity,
    QuantityOrPercent,
)

Size = Annotated[
    Quantity,
    WithJsonSchema({"x-kubernetes-int-or-string": True, "pattern": QUANTITY_PATTERN, "maxLength": QUANTITY_LENGTH}),
]
SizeOrShare = Annotated[
    QuantityOrPercent,
    WithJsonSchema(
        {
            "x-kubernetes-int-or-string": True,
            "pattern": f"({QUANTITY_PATTERN})|({PERCENT_PATTERN})",
            "maxLength": QUANTITY_LENGTH,
        }
    ),
]
Time = Annotated[
    Duration, WithJsonSchema({"type": "string", "pattern": DURATION_PATTERN, "maxLength": DURATION_LENGTH})
]

Text = Annotated[str, Field(min_length=1, max_length=253)]
Image = Annotated[str, Field(min_length=1, max_length=512)]
LABEL_KEY_LENGTH: Final = 317
LabelKey = Annotated[str, Field(min_length=1, max_length=LABEL_KEY_LENGTH)]
Labels = Annotated[dict[str, Annotated[str, Field(max_length=63)]], Field(max_length=32)]
Annotations = Annotated[dict[str, Annotated[str, Field(max_length=4096)]], Field(max_length=32)]
# Passed through to a pod as they are; the API server checks them when it sees the pod template.
Passthrough = Annotated[Anything, WithJsonSchema({"type": "object", "x-kubernetes-preserve-unknown-fields": True})]
Resources = Annotated[dict[str, Size], Field(max_length=3)]


def ordered(*keys: str, most: int, about: str | None = None) -> Any:
    """Return the bounds of a list that the API server merges entry by entry, by `keys`, or else replaces as a whole."""
    kind: dict[str, Any] = {"x-kubernetes-list-type": "atomic"}
    if keys:
        kind = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}
    return Field(strict=False, max_length=most, description=about, json_schema_extra=kind)


def _set(*, most: int, about: str | None = None) -> Any:
    """Return the bounds of a list in which nothing stands twice."""
    return Field(strict=False, max_length=most, description=about, json_schema_extra={"x-kubernetes-list-type": "set"})


class Part(BaseModel):
    """A part of a `Redis` document: frozen, unknown fields refused, no value taken for another type."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class SavePoint(Part):
    """Write an RDB file after `seconds` if at least `changes` keys changed (Redis: `save`)."""

    seconds: Annotated[int, Field(ge=1, le=2_147_483_647)]
    changes: Annotated[int, Field(ge=1, le=2_147_483_647)]


DEFAULT_SAVE: Final = (
    SavePoint(seconds=3600, changes=1),
    SavePoint(seconds=300, changes=100),
    SavePoint(seconds=60, changes=10000),
)


class Retention(Part):
    """What becomes of the volumes when they are no longer used."""

    whenDeleted: Annotated[
        Literal["Retain", "Delete"],
        Field(description="When the Redis is deleted; decides for a generated Secret, too."),
    ] = "Retain"
    whenScaled: Annotated[Literal["Retain", "Delete"], Field(description="When replicas is lowered.")] = "Retain"


class Persistence(Part):
    """How Redis keeps its data on the volume."""

    mode: Annotated[
        Literal["None", "RDB", "AOF", "Both"] | None,
        Field(description="Unset: AOF with storage, None without. A crash loses a second with AOF, minutes with RDB."),
    ] = None
    appendfsync: Annotated[
        Literal["Always", "EverySec", "No"], Field(description="When the append-only file reaches the disk.")
    ] = "EverySec"
    save: Annotated[tuple[SavePoint, ...], ordered(most=8, about="When RDB files are written.")] = DEFAULT_SAVE
    storageClassName: Annotated[
        Text | None, Field(description="Class of the volumes; immutable. Unset: the cluster's default.")
    ] = None
    retention: Retention = Field(default_factory=Retention)


class Tuning(Part):
    """Sizes inside Redis."""

    maxmemory: Annotated[
        SizeOrShare, Field(description="What data may take: a size, or a share of memory, at most 95%.")
    ] = QuantityOrPercent.parse("75%")
    maxmemoryPolicy: Annotated[
        Literal[
            "noeviction",
            "allkeys-lru",
            "allkeys-lfu",
            "allkeys-random",
            "volatile-lru",
            "volatile-lfu",
            "volatile-random",
            "volatile-ttl",
        ],
        Field(description="What Redis does when maxmemory is reached."),
    ] = "noeviction"
    replicationBacklog: Annotated[
        Size | None, Field(description="Unset: memory/16 within 1Mi and 256Mi. A larger one avoids full resyncs.")
    ] = None


class SecretRef(Part):
    """A key of a Secret in the namespace of the Redis."""

    name: Text
    key: Annotated[str, Field(min_length=1, max_length=253)] = "password"


class Auth(Part):
    """The password."""

    enabled: Annotated[bool, Field(description="Whether clients need a password.")] = True
    secretRef: Annotated[
        SecretRef | None, Field(description="Where the password is. Unset: Secret <name>-auth, key password.")
    ] = None


class Replication(Part):
    """What a failover may lose."""

    policy: Annotated[
        Literal["Bounded", "Durable", "Available"],
        Field(
            description="Bounded: a few seconds at most. Durable: nothing that a replica confirmed. "
            "Available: whatever it takes to serve again soon."
        ),
    ] = "Bounded"


class Service(Part):
    """How a Service is reached; fields as in a Kubernetes Service."""

    type: Literal["ClusterIP", "NodePort", "LoadBalancer"] = "ClusterIP"
    annotations: Annotations = Field(default_factory=dict)
    labels: Labels = Field(default_factory=dict)
    nodePort: Annotated[int, Field(ge=1, le=65535)] | None = None
    loadBalancerClass: Text | None = None
    loadBalancerSourceRanges: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=64)], ...], _set(most=64)
    ] = ()
    externalTrafficPolicy: Literal["Cluster", "Local"] | None = None


class Services(Part):
    """The Services of the primary (<name>-master) and of every ready member (<name>-read)."""

    primary: Service = Field(default_factory=Service)
    read: Service = Field(default_factory=Service)


class Network(Part):
    """Address families, as in a Kubernetes Service."""

    ipFamilyPolicy: Literal["SingleStack", "PreferDualStack", "RequireDualStack"] | None = None
    ipFamilies: Annotated[tuple[Literal["IPv4", "IPv6"], ...], _set(most=2)] = ()


class NetworkPolicy(Part):
    """Who may connect: members, the operator and the peers named here."""

    enabled: Annotated[bool, Field(description="Whether a NetworkPolicy is made.")] = False
    allowFrom: Annotated[tuple[Peer, ...], ordered(most=32, about="Clients, as peers of a NetworkPolicy.")] = ()
    operatorNamespace: Annotated[str, Field(min_length=1, max_length=63, description="Where redisop runs.")] = (
        "redisop-system"
    )


class Spread(Part):
    """How hard the scheduler tries to put members on different nodes and zones."""

    node: Literal["Disabled", "Preferred", "Required"] = "Preferred"
    zone: Literal["Disabled", "Preferred", "Required"] = "Preferred"


class Scheduling(Part):
    """Where pods run; everything but `spread` as in a Kubernetes Pod."""

    spread: Spread = Field(default_factory=Spread)
    affinity: Passthrough | None = None
    tolerations: Annotated[tuple[Passthrough, ...], ordered(most=32)] = ()
    nodeSelector: Labels = Field(default_factory=dict)
    topologySpreadConstraints: Annotated[tuple[Passthrough, ...], ordered(most=16)] = ()
    priorityClassName: Text | None = None
    schedulerName: Text | None = None


class PodResources(Part):
    """CPU and ephemeral storage of the Redis container; its memory is spec.memory."""

    requests: Resources = Field(default_factory=dict)
    limits: Resources = Field(default_factory=dict)


class PullSecret(Part):
    """The name of a Secret for the image registry."""

    name: Text


class Pod(Part):
    """What users add to the pod template; the *restricted* Pod Security Standard still holds."""

    labels: Labels = Field(default_factory=dict)
    annotations: Annotations = Field(default_factory=dict)
    resources: PodResources = Field(default_factory=PodResources)
    securityContext: PodSecurity = Field(default_factory=dict)
    containerSecurityContext: ContainerSecurity = Field(default_factory=dict)
    serviceAccountName: Annotated[
        Text | None, Field(description="Unset: an account of its own, without rights and without a token.")
    ] = None
    imagePullSecrets: Annotated[tuple[PullSecret, ...], ordered("name", most=10)] = ()
    imagePullPolicy: Literal["Always", "IfNotPresent", "Never"] = "IfNotPresent"
    sidecars: Annotated[tuple[Container, ...], ordered("name", most=10, about="More containers beside Redis.")] = ()
    initContainers: Annotated[tuple[Container, ...], ordered("name", most=10)] = ()
    volumes: Annotated[tuple[Volume, ...], ordered("name", most=10)] = ()
    volumeMounts: Annotated[tuple[Mount, ...], ordered("mountPath", most=10, about="Of the Redis container.")] = ()
    env: Annotated[tuple[Variable, ...], ordered("name", most=10, about="Of the Redis container.")] = ()
    terminationGracePeriodSeconds: Annotated[
        int | None,
        Field(ge=30, le=3600, description="Time to hand over and to save. Unset: 30 and a second for each 100MB."),
    ] = None


class Liveness(Part):
    """When a Redis process counts as dead: a TCP connect fails `failures` times."""

    period: Time = Duration.parse("10s")
    timeout: Time = Duration.parse("5s")
    failures: Annotated[int, Field(ge=1, le=100)] = 6


class Probes(Part):
    """When a member is Ready and alive."""

    maxLag: Annotated[
        Time, Field(description="A replica serves reads while its link is down or behind for less than this.")
    ] = Duration.parse("30s")
    liveness: Liveness = Field(default_factory=Liveness)


class Update(Part):
    """How changes of the pod template reach the pods."""

    strategy: Annotated[
        Literal["Rolling", "Supervised", "OnDelete"],
        Field(description="Supervised stops before the primary until annotated."),
    ] = "Rolling"
    minReadySeconds: Annotated[int, Field(ge=0, le=3600)] = 5
    syncTimeout: Annotated[Time, Field(description="How long one replica may take to be in sync again.")] = (
        Duration.parse("15m")
    )
    routeLead: Annotated[
        Time, Field(description="How long before a planned switchover new connections are led to the next primary.")
    ] = Duration.parse("1200ms")


class Disruption(Part):
    """How many members an eviction may take at once."""

    maxUnavailable: Annotated[int, Field(ge=0, le=15)] = 1


class Deletion(Part):
    """Whether the Redis may be deleted."""

    protected: bool = False


class ExporterResources(Part):
    """Resources of the exporter sidecar."""

    requests: Resources = Field(default_factory=dict)
    limits: Resources = Field(default_factory=dict)


class Exporter(Part):
    """A metrics sidecar on port 9121."""

    enabled: bool = False
    image: Annotated[Image | None, Field(description="Unset: what the table of defaults says.")] = None
    resources: ExporterResources = Field(default_factory=ExporterResources)


class PodMonitor(Part):
    """A PodMonitor for the Prometheus operator."""

    enabled: bool = False
    labels: Labels = Field(default_factory=dict)
    interval: Time = Duration.parse("30s")


class Monitoring(Part):
    """Metrics."""

    exporter: Exporter = Field(default_factory=Exporter)
    podMonitor: PodMonitor = Field(default_factory=PodMonitor)


class Inherit(Part):
    """Keys of labels and annotations of the Redis that its children get too."""

    labels: Annotated[tuple[LabelKey, ...], _set(most=16)] = ()
    annotations: Annotated[tuple[LabelKey, ...], _set(most=16)] = ()


class Metadata(Part):
    """What children take over from the Redis."""

    inherit: Inherit = Field(default_factory=Inherit)


class RedisSpec(Part):
    """What the owner of a Redis wants. The first five fields are enough and keep their meaning for ever."""

    replicas: Annotated[
        int,
        Field(ge=0, le=15, description="All data pods: 1 is one primary, 2 a primary and a replica, 0 hibernates."),
    ] = 1
    image: Annotated[Image | None, Field(description="Unset: redis:<version>-alpine.")] = None
    memory: Annotated[
        Size, Field(description="Memory request and limit of a pod, 32Mi to 1Ti; maxmemory follows from it.")
    ] = Quantity.parse("256Mi")
    storage: Annotated[
        Size, Field(description="Size of each data volume, at least 64Mi; it never shrinks. 0: no volume.")
    ] = Quantity.parse("1Gi")
    version: Annotated[
        str | None,
        Field(
            max_length=11,
            description="Whose settings are used, e.g. 7.0; 6.2 or later. Unset: what the image tag says, else 6.2.",
        ),
    ] = None
    mode: Annotated[
        Literal["Auto", "Standalone", "Replication"],
        Field(description="Auto: Standalone for one pod, Replication for more."),
    ] = "Auto"
    persistence: Persistence = Field(default_factory=Persistence)
    tuning: Tuning = Field(default_factory=Tuning)
    config: Annotated[
        dict[str, Annotated[str, Field(max_length=1024)]],
        Field(max_length=128, description="Other settings of redis.conf."),
    ] = Field(default_factory=dict)
    auth: Auth = Field(default_factory=Auth)
    replication: Replication = Field(default_factory=Replication)
    services: Services = Field(default_factory=Services)
    network: Network = Field(default_factory=Network)
    networkPolicy: NetworkPolicy = Field(default_factory=NetworkPolicy)
    scheduling: Scheduling = Field(default_factory=Scheduling)
    pod: Pod = Field(default_factory=Pod)
    probes: Probes = Field(default_factory=Probes)
    update: Update = Field(default_factory=Update)
    disruption: Disruption = Field(default_factory=Disruption)
    paused: Annotated[bool, Field(description="Nothing is done at all, failover included.")] = False
    drift: Annotated[
        Literal["Correct", "Report"], Field(description="What is done about changes that others made.")
    ] = "Correct"
    deletion: Deletion = Field(default_factory=Deletion)
    monitoring: Monitoring = Field(default_factory=Monitoring)
    metadata: Metadata = Field(default_factory=Metadata)
    defaultsRevision: Annotated[
        int | None,
        Field(
            ge=1, le=NEWEST, description="Which table of defaults pods follow. Unset: the newest when first applied."
        ),
    ] = None


class Redis(BaseModel):
    """A Redis with its replicas. `status` is what the cluster says of it and never an input."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    apiVersion: Literal["example.com/v1"]
    kind: Literal["Redis"]
    metadata: Meta
    spec: RedisSpec = Field(default_factory=RedisSpec)
    status: dict[str, Any] | None = None
