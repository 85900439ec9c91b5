"""`example.com/v1`: every field of a `Redis`, with its type, its bounds and its constant default.

Models only: what one field means for another is `rules`, what follows from other fields is `derived`. A default stands
here only when it is a constant; the CRD schema is made from these models, and an API server that filled in a derived
default would turn "unset" into "chosen".
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from redisop.api.meta import Meta
from redisop.api.scalars import (
    DURATION_PATTERN,
    PERCENT_PATTERN,
    QUANTITY_PATTERN,
    Duration,
    Quantity,
    QuantityOrPercent,
)

API_VERSION = "example.com/v1"
KIND = "Redis"

Size = Annotated[Quantity, WithJsonSchema({"x-kubernetes-int-or-string": True, "pattern": QUANTITY_PATTERN})]
SizeOrShare = Annotated[
    QuantityOrPercent,
    WithJsonSchema(
        {"x-kubernetes-int-or-string": True, "pattern": f"({QUANTITY_PATTERN})|({PERCENT_PATTERN})"},
    ),
]
Time = Annotated[
    Duration, WithJsonSchema({"type": "string", "pattern": f"(^0$)|({DURATION_PATTERN})", "maxLength": 32})
]

Text = Annotated[str, Field(min_length=1, max_length=253)]
LabelKey = Annotated[str, Field(min_length=1, max_length=317)]
Labels = Annotated[dict[LabelKey, Annotated[str, Field(max_length=63)]], Field(max_length=32)]
Annotations = Annotated[dict[LabelKey, Annotated[str, Field(max_length=4096)]], Field(max_length=32)]
# Passed through to a pod as they are; the API server checks them when it sees the pod template.
Passthrough = Annotated[
    dict[str, Any], WithJsonSchema({"type": "object", "x-kubernetes-preserve-unknown-fields": True})
]
Resources = Annotated[dict[Literal["cpu", "ephemeral-storage", "memory"], Size], Field(max_length=3)]


class Part(BaseModel):
    """A part of a `Redis` document: frozen, unknown fields refused, no value taken for another type."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class SavePoint(Part):
    """Write an RDB file after `seconds` if at least `changes` keys changed (Redis: `save`)."""

    seconds: Annotated[int, Field(ge=1, le=2_147_483_647)]
    changes: Annotated[int, Field(ge=1, le=2_147_483_647)]


DEFAULT_SAVE = (
    SavePoint(seconds=3600, changes=1),
    SavePoint(seconds=300, changes=100),
    SavePoint(seconds=60, changes=10000),
)


class Retention(Part):
    """What becomes of the volumes; `whenDeleted` also decides for a generated Secret."""

    whenDeleted: Literal["Retain", "Delete"] = "Retain"
    whenScaled: Literal["Retain", "Delete"] = "Retain"


class Persistence(Part):
    """How Redis keeps its data on the volume. `mode` unset: `AOF` with storage, `None` without."""

    mode: Literal["None", "RDB", "AOF", "Both"] | None = None
    appendfsync: Literal["Always", "EverySec", "No"] = "EverySec"
    save: Annotated[tuple[SavePoint, ...], Field(max_length=8, strict=False)] = DEFAULT_SAVE
    storageClassName: Text | None = None
    retention: Retention = Field(default_factory=Retention)


class Tuning(Part):
    """Sizes inside Redis. `replicationBacklog` unset: memory/16 within 1Mi and 256Mi."""

    maxmemory: SizeOrShare = QuantityOrPercent.parse("75%")
    maxmemoryPolicy: Literal[
        "noeviction",
        "allkeys-lru",
        "allkeys-lfu",
        "allkeys-random",
        "volatile-lru",
        "volatile-lfu",
        "volatile-random",
        "volatile-ttl",
    ] = "noeviction"
    replicationBacklog: Size | None = None


class SecretRef(Part):
    """A key of a Secret in the namespace of the `Redis`."""

    name: Text
    key: Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[-._a-zA-Z0-9]+$")] = "password"


class Auth(Part):
    """The password. `secretRef` unset: the Secret `<name>-auth`, key `password`."""

    enabled: bool = True
    secretRef: SecretRef | None = None


class Replication(Part):
    """What a failover may lose."""

    policy: Literal["Bounded", "Durable", "Available"] = "Bounded"


class Service(Part):
    """How a Service is reached."""

    type: Literal["ClusterIP", "NodePort", "LoadBalancer"] = "ClusterIP"
    annotations: Annotations = Field(default_factory=dict)
    labels: Labels = Field(default_factory=dict)
    nodePort: Annotated[int, Field(ge=1, le=65535)] | None = None
    loadBalancerClass: Text | None = None
    loadBalancerSourceRanges: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=64)], ...], Field(max_length=64, strict=False)
    ] = ()
    externalTrafficPolicy: Literal["Cluster", "Local"] | None = None


class Services(Part):
    """`<name>-master` and `<name>-read`."""

    primary: Service = Field(default_factory=Service)
    read: Service = Field(default_factory=Service)


class Network(Part):
    """Address families, as in a Kubernetes Service."""

    ipFamilyPolicy: Literal["SingleStack", "PreferDualStack", "RequireDualStack"] | None = None
    ipFamilies: Annotated[tuple[Literal["IPv4", "IPv6"], ...], Field(max_length=2, strict=False)] = ()


class NetworkPolicy(Part):
    """Who may connect: members, the operator and the peers named here."""

    enabled: bool = False
    allowFrom: Annotated[tuple[Passthrough, ...], Field(max_length=32, strict=False)] = ()
    operatorNamespace: Annotated[str, Field(min_length=1, max_length=63)] = "redisop-system"


class Spread(Part):
    """How hard the scheduler tries to put members on different nodes and zones."""

    node: Literal["Disabled", "Preferred", "Required"] = "Preferred"
    zone: Literal["Disabled", "Preferred", "Required"] = "Preferred"


class Scheduling(Part):
    """Where pods run; everything but `spread` as in a Kubernetes Pod."""

    spread: Spread = Field(default_factory=Spread)
    affinity: Passthrough | None = None
    tolerations: Annotated[tuple[Passthrough, ...], Field(max_length=32, strict=False)] = ()
    nodeSelector: Labels = Field(default_factory=dict)
    topologySpreadConstraints: Annotated[tuple[Passthrough, ...], Field(max_length=16, strict=False)] = ()
    priorityClassName: Text | None = None
    schedulerName: Text | None = None


class PodResources(Part):
    """CPU and ephemeral storage of the Redis container; its memory is `spec.memory`."""

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
    securityContext: Passthrough = Field(default_factory=dict)
    containerSecurityContext: Passthrough = Field(default_factory=dict)
    serviceAccountName: Text | None = None
    imagePullSecrets: Annotated[tuple[PullSecret, ...], Field(max_length=10, strict=False)] = ()
    imagePullPolicy: Literal["Always", "IfNotPresent", "Never"] = "IfNotPresent"
    sidecars: Annotated[tuple[Passthrough, ...], Field(max_length=10, strict=False)] = ()
    initContainers: Annotated[tuple[Passthrough, ...], Field(max_length=10, strict=False)] = ()
    volumes: Annotated[tuple[Passthrough, ...], Field(max_length=10, strict=False)] = ()
    volumeMounts: Annotated[tuple[Passthrough, ...], Field(max_length=10, strict=False)] = ()
    env: Annotated[tuple[Passthrough, ...], Field(max_length=10, strict=False)] = ()
    terminationGracePeriodSeconds: Annotated[int, Field(ge=30, le=3600)] | None = None


class Liveness(Part):
    """When a Redis process counts as dead: a TCP connect fails `failures` times."""

    period: Time = Duration.parse("10s")
    timeout: Time = Duration.parse("5s")
    failures: Annotated[int, Field(ge=1, le=100)] = 6


class Probes(Part):
    """When a member is Ready and alive."""

    maxLag: Time = Duration.parse("30s")
    liveness: Liveness = Field(default_factory=Liveness)


class Update(Part):
    """How changes of the pod template reach the pods."""

    strategy: Literal["Rolling", "Supervised", "OnDelete"] = "Rolling"
    minReadySeconds: Annotated[int, Field(ge=0, le=3600)] = 5
    syncTimeout: Time = Duration.parse("15m")
    routeLead: Time = Duration.parse("1200ms")


class Disruption(Part):
    """How many members an eviction may take at once."""

    maxUnavailable: Annotated[int, Field(ge=0, le=15)] = 1


class Deletion(Part):
    """Whether the `Redis` may be deleted."""

    protected: bool = False


class ExporterResources(Part):
    """Resources of the exporter sidecar."""

    requests: Resources = Field(default_factory=dict)
    limits: Resources = Field(default_factory=dict)


class Exporter(Part):
    """A metrics sidecar on port 9121. `image` unset: what the table of defaults says."""

    enabled: bool = False
    image: Annotated[str, Field(min_length=1, max_length=512)] | None = None
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
    """Keys of labels and annotations of the `Redis` that its children get too."""

    labels: Annotated[tuple[LabelKey, ...], Field(max_length=16, strict=False)] = ()
    annotations: Annotated[tuple[LabelKey, ...], Field(max_length=16, strict=False)] = ()


class Metadata(Part):
    """What children take over from the `Redis`."""

    inherit: Inherit = Field(default_factory=Inherit)


class RedisSpec(Part):
    """What the owner of a `Redis` wants. The first five fields are enough and keep their meaning for ever."""

    replicas: Annotated[int, Field(ge=0, le=15)] = 1
    image: Annotated[str, Field(min_length=1, max_length=512)] | None = None
    memory: Size = Quantity.parse("256Mi")
    storage: Size = Quantity.parse("1Gi")
    version: Annotated[str, Field(pattern=r"^[0-9]{1,3}(\.[0-9]{1,3}){0,2}$", max_length=11)] | None = None
    mode: Literal["Auto", "Standalone", "Replication"] = "Auto"
    persistence: Persistence = Field(default_factory=Persistence)
    tuning: Tuning = Field(default_factory=Tuning)
    config: Annotated[
        dict[Annotated[str, Field(max_length=64)], Annotated[str, Field(max_length=1024)]], Field(max_length=128)
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
    paused: bool = False
    drift: Literal["Correct", "Report"] = "Correct"
    deletion: Deletion = Field(default_factory=Deletion)
    monitoring: Monitoring = Field(default_factory=Monitoring)
    metadata: Metadata = Field(default_factory=Metadata)
    defaultsRevision: Annotated[int, Field(ge=1)] | None = None


class Redis(BaseModel):
    """A whole document. `status` is what the cluster says of it and never an input."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    apiVersion: Literal["example.com/v1"]
    kind: Literal["Redis"]
    metadata: Meta
    spec: RedisSpec = Field(default_factory=RedisSpec)
    status: dict[str, Any] | None = None
