"""Every name, label, selector, annotation, port and path that redisop gives to something, once.

`api` lies above this module because its rules refuse what is taken here.
"""

from __future__ import annotations

from typing import Final, NamedTuple

FIELD_MANAGER: Final = "redisop"
STATUS_MANAGER: Final = "redisop-status"
CONNECTION_NAME: Final = "redisop"
LEASE_NAME: Final = "redisop"
PREFIX: Final = "redisop.example.com/"


class Kind(NamedTuple):
    """How the API server addresses a kind."""

    api_version: str
    kind: str
    plural: str

    @property
    def group(self) -> str:
        """The API group; the core one has no name."""
        return self.api_version.rpartition("/")[0]


# The kinds that a Redis may own, in an order in which each prefix is safe to have applied alone.
KINDS: Final = (
    Kind("v1", "ServiceAccount", "serviceaccounts"),
    Kind("v1", "Secret", "secrets"),
    Kind("v1", "ConfigMap", "configmaps"),
    Kind("v1", "Service", "services"),
    Kind("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets"),
    Kind("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies"),
    Kind("apps/v1", "StatefulSet", "statefulsets"),
    Kind("monitoring.coreos.com/v1", "PodMonitor", "podmonitors"),
)
# The kinds that are made by the StatefulSet or by the user, and looked at.
POD: Final = Kind("v1", "Pod", "pods")
CLAIM: Final = Kind("v1", "PersistentVolumeClaim", "persistentvolumeclaims")
REDIS: Final = Kind("example.com/v1", "Redis", "redises")
# The kind by which several processes of redisop agree on the one that acts.
LEASE: Final = Kind("coordination.k8s.io/v1", "Lease", "leases")
EVENT: Final = Kind("events.k8s.io/v1", "Event", "events")
REDIS_V1ALPHA1: Final = REDIS._replace(api_version="example.com/v1alpha1")

# Finalizer
FINALIZER: Final = f"{PREFIX}protected"

# Annotations
DEFAULTS_REVISION: Final = f"{PREFIX}defaults-revision"
EPOCH: Final = f"{PREFIX}epoch"
RESTART_CONFIG: Final = f"{PREFIX}restart-config"
CONVERTED_V1: Final = f"{PREFIX}v1"
CONVERTED_V1ALPHA1: Final = f"{PREFIX}v1alpha1"

# Labels. Selectors use the first two only and never change: a StatefulSet's selector is immutable.
APP_LABEL: Final = "app"
APP: Final = "redis"
INSTANCE_LABEL: Final = "redis-cr"
POD_NAME_LABEL: Final = "statefulset.kubernetes.io/pod-name"
RECOMMENDED_PREFIX: Final = "app.kubernetes.io/"
NAMESPACE_LABEL: Final = "kubernetes.io/metadata.name"

# Ports and their names
REDIS_PORT: Final = 6379
REDIS_PORT_NAME: Final = "redis"
METRICS_PORT: Final = 9121
METRICS_PORT_NAME: Final = "metrics"

# Inside the pod
REDIS_CONTAINER: Final = "redis"
EXPORTER_CONTAINER: Final = "exporter"
DATA_VOLUME: Final = "data"
CONFIG_VOLUME: Final = "config"
AUTH_VOLUME: Final = "auth"
RUN_VOLUME: Final = "run"
CONFIG_PATH: Final = "/etc/redisop"
AUTH_PATH: Final = "/etc/redisop-auth"
RUN_PATH: Final = "/run/redisop"
DATA_PATH: Final = "/data"
PASSWORD_FILE: Final = "password"  # noqa: S105
NAME_VARIABLE: Final = "NAME"
POD_IP_VARIABLE: Final = "POD_IP"


def selector(name: str) -> dict[str, str]:
    """Return the two frozen labels that select the pods of the `Redis` called `name`."""
    return {APP_LABEL: APP, INSTANCE_LABEL: name}


def labels(name: str) -> dict[str, str]:
    """Return the labels that every child of the `Redis` called `name` carries."""
    return selector(name) | {
        f"{RECOMMENDED_PREFIX}name": APP,
        f"{RECOMMENDED_PREFIX}instance": name,
        f"{RECOMMENDED_PREFIX}managed-by": FIELD_MANAGER,
    }


def config_map(name: str) -> str:
    """Return the name of the ConfigMap."""
    return f"{name}-config"


def secret(name: str) -> str:
    """Return the name of the Secret that is generated when the spec names none."""
    return f"{name}-auth"


def headless_service(name: str) -> str:
    """Return the name of the Service that lists all members, Ready or not."""
    return f"{name}-headless"


def primary_service(name: str) -> str:
    """Return the name of the Service that leads to the primary."""
    return f"{name}-master"


def read_service(name: str) -> str:
    """Return the name of the Service that leads to every Ready member."""
    return f"{name}-read"


def pod(name: str, ordinal: int) -> str:
    """Return the name of the pod with this ordinal."""
    return f"{name}-{ordinal}"


def claim(name: str, ordinal: int) -> str:
    """Return the name of the claim of that pod."""
    return f"{DATA_VOLUME}-{pod(name, ordinal)}"


def ordinal(member: str) -> int | None:
    """Return the ordinal in the name of a pod or a claim, None when there is none."""
    digits = member.rpartition("-")[2]
    return int(digits) if digits.isdecimal() and digits.isascii() else None
