# ruff: noqa: E501 - one line a case
"""Documents that are wrong in one way each: what is said of them, and who sees it.

`text` is what a person must read in the message. `seen_by` says who refuses the document beside Python:

- `cel`     the API server, with the very same message, by a rule
- `schema`  the API server, in its own words, by a type, a bound or the kind of a list
- `server`  the API server, by what it asks of every object
- `nobody`  only Python sees it
"""

from dataclasses import dataclass, field
from typing import Any, Literal

SeenBy = Literal["cel", "schema", "server", "nobody"]
Fields = dict[str, Any]

SAFE = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


@dataclass(frozen=True)
class Bad:
    id: str
    path: str
    text: str
    document: Any
    level: Literal["error", "warning"] = "error"
    seen_by: SeenBy = "cel"
    old: Fields | None = field(default=None, repr=False)


def document(spec: Any = None, name: Any = "my-redis", **metadata: Any) -> Fields:
    """Return a document with an image, so that nothing is said of the version, and with the fields of `spec`."""
    whole = {"image": "redis:7.0-alpine", **spec} if isinstance(spec, dict) else spec
    return {
        "apiVersion": "example.com/v1",
        "kind": "Redis",
        "metadata": {"name": name, **metadata},
        "spec": {"image": "redis:7.0-alpine"} if spec is None else whole,
    }


def nested(path: str, value: Any) -> Fields:
    """Return `value` below the fields of `path`: `nested("a.b", 1)` is `{"a": {"b": 1}}`."""
    for step in reversed(path.split(".")):
        value = {step: value}
    return value


def bad(
    id: str,  # noqa: A002
    path: str,
    text: str,
    value: Any,
    *,
    at: str | None = None,
    level: Literal["error", "warning"] = "error",
    seen_by: SeenBy = "cel",
    old: Any = None,
) -> Bad:
    """Return a document in which `value` stands at `spec.<at>`, by default at `path`; `old` stood there before."""
    place = (at or path).removeprefix("spec.")
    before = None if old is None else document(old if at == "spec" else nested(place, old))
    spec = value if at == "spec" else nested(place, value)
    return Bad(id, path, text, document(spec), level, seen_by, before)


def container(**fields: Any) -> list[Fields]:
    return [{"name": "log", "image": "busybox:1.36", "securityContext": SAFE, **fields}]


def secured(**security: Any) -> list[Fields]:
    return container(securityContext={**SAFE, **security})


IDENTITY = (
    Bad("not-a-map", "", "begin with apiVersion", ["a"], seen_by="server"),
    Bad("nothing", "", "null is not a Redis document", None, seen_by="server"),
    Bad("kind-missing", "kind", "write kind: Redis", {"apiVersion": "example.com/v1"}, seen_by="server"),
    Bad("kind-foreign", "kind", '"Pod" is not a Redis', {"apiVersion": "v1", "kind": "Pod"}, seen_by="server"),
    Bad("version-missing", "apiVersion", "is missing", {"kind": "Redis"}, seen_by="server"),
    Bad(
        "version-foreign",
        "apiVersion",
        "write apiVersion: example.com/v1",
        {"apiVersion": "redis.example.org/v1beta2", "kind": "Redis"},
        seen_by="server",
    ),
    Bad(
        "metadata-missing",
        "metadata",
        "is missing",
        {"apiVersion": "example.com/v1", "kind": "Redis"},
        seen_by="server",
    ),
    Bad(
        "metadata-text",
        "metadata",
        "is not a map",
        {"apiVersion": "example.com/v1", "kind": "Redis", "metadata": "my-redis"},
        seen_by="server",
    ),
    Bad(
        "name-missing",
        "metadata.name",
        "is missing",
        {"apiVersion": "example.com/v1", "kind": "Redis", "metadata": {}},
        seen_by="server",
    ),
    Bad("name-number", "metadata.name", 'quote it: name: "7"', document(name=7), seen_by="server"),
    Bad("name-long", "metadata.name", "at most 52", document(name="a" * 53)),
    Bad("name-of-60", "metadata.name", "at most 52", document(name="a" * 60)),
    Bad("name-digit-first", "metadata.name", "a letter first", document(name="7-redis")),
    Bad("name-dot", "metadata.name", "lower-case letters, digits and dashes", document(name="my.redis")),
    Bad("name-upper", "metadata.name", "lower-case letters", document(name="My-Redis"), seen_by="server"),
    Bad("name-dash-last", "metadata.name", "no dash last", document(name="my-redis-"), seen_by="server"),
    Bad("name-newline", "metadata.name", "is not a name for a Redis", document(name="my-redis\n"), seen_by="server"),
    Bad("name-empty", "metadata.name", "is not a name for a Redis", document(name=""), seen_by="server"),
    Bad("namespace", "metadata.namespace", "is not a name for a namespace", document(namespace="My"), seen_by="server"),
    Bad("label-key", "metadata.labels[a b]", "cannot be a key", document(labels={"a b": "c"}), seen_by="server"),
    Bad("label-value", "metadata.labels[a]", "has a value", document(labels={"a": "b c"}), seen_by="server"),
    Bad(
        "annotation-key",
        "metadata.annotations[-]",
        "cannot be a key",
        document(annotations={"-": ""}),
        seen_by="server",
    ),
    Bad("spec-list", "spec", "is not a map", document([]), seen_by="schema"),
)

SHAPES = (
    bad("replicas-text", "spec.replicas", '"two" is not a whole number', "two", seen_by="schema"),
    bad("replicas-quoted", "spec.replicas", "write 2 without quotes", "2", seen_by="schema"),
    bad("replicas-many", "spec.replicas", "write a number from 0 to 15", 16, seen_by="schema"),
    bad("replicas-negative", "spec.replicas", "write a number from 0 to 15", -1, seen_by="schema"),
    bad("replicas-fraction", "spec.replicas", "1.5 is not a whole number", 1.5, seen_by="schema"),
    bad("replicas-true", "spec.replicas", "true is not a whole number", True, seen_by="schema"),
    bad("memory-lots", "spec.memory", '"lots" is not a quantity: write for example 512Mi', "lots", seen_by="schema"),
    bad("memory-map", "spec.memory", "a map is not a quantity", {}, seen_by="schema"),
    bad("memory-fraction", "spec.memory", "5.5 is not a quantity", 5.5, seen_by="schema"),
    bad("memory-long", "spec.memory", "is not a quantity", "0" * 30 + "1Gi", seen_by="schema"),
    bad("version-number", "spec.version", '7.0 is a number in YAML: quote it: version: "7.0"', 7.0, seen_by="schema"),
    bad("version-long", "spec.version", "has 12 characters: write at most 11", "100.100.1000", seen_by="schema"),
    bad("image-empty", "spec.image", "is empty", "", seen_by="schema"),
    bad("image-long", "spec.image", "write at most 512", "a" * 513, seen_by="schema"),
    bad("mode-typo", "spec.mode", "write Standalone", "standalone", seen_by="schema"),
    bad("mode-unknown", "spec.mode", "write one of Auto, Standalone, Replication", "Galera", seen_by="schema"),
    bad("mode-sentinel", "spec.mode", '"Sentinel" is reserved for a later version', "Sentinel", seen_by="schema"),
    bad("mode-cluster", "spec.mode", '"Cluster" is reserved for a later version', "Cluster", seen_by="schema"),
    bad("paused-yes", "spec.paused", '"yes" is neither true nor false', "yes", seen_by="schema"),
    bad("save-many", "spec.persistence.save", "write at most 8", [{"seconds": 1, "changes": 1}] * 9, seen_by="schema"),
    bad(
        "save-zero",
        "spec.persistence.save[0].seconds",
        "write a number from 1",
        [{"seconds": 0, "changes": 1}],
        at="persistence.save",
        seen_by="schema",
    ),
    bad(
        "save-null",
        "spec.persistence.save[0]",
        "null is not a map",
        [None],
        at="persistence.save",
        seen_by="schema",
    ),
    bad("sidecars-map", "spec.pod.sidecars", "a map is not a list", {}, seen_by="schema"),
    bad("tuning-list", "spec.tuning", "a list is not a map", [], seen_by="schema"),
    bad("tuning-text", "spec.tuning", '"big" is not a map', "big", seen_by="schema"),
    bad("share-fraction", "spec.tuning.maxmemory", "is not a share", "7.5%", seen_by="schema"),
    bad("lag-number", "spec.probes.maxLag", "5 is not a duration: write for example 30s", 5, seen_by="schema"),
    bad("lag-days", "spec.probes.maxLag", "is not a duration", "1d", seen_by="schema"),
    bad("lag-negative", "spec.probes.maxLag", "is not a duration", "-5s", seen_by="schema"),
    bad("lag-long", "spec.probes.maxLag", "is not a duration", "1s" * 11, seen_by="schema"),
    bad("config-number", "spec.config[maxclients]", 'quote it: maxclients: "5000"', {"maxclients": 5000}, at="config", seen_by="schema"),
    bad("config-switch", "spec.config[activedefrag]", 'activedefrag: "true"', {"activedefrag": True}, at="config", seen_by="schema"),
    bad("config-value-long", "spec.config[hz]", "write at most 1024", {"hz": "1" * 1025}, at="config", seen_by="schema"),
    bad("config-many", "spec.config", "write at most 128", {f"key-{n}": "" for n in range(129)}, seen_by="schema"),
    bad("grace-short", "spec.pod.terminationGracePeriodSeconds", "write a number from 30 to 3600", 29, seen_by="schema"),
    bad("revision-zero", "spec.defaultsRevision", "write a number from 1 to", 0, seen_by="schema"),
    bad("revision-future", "spec.defaultsRevision", "write a number from 1 to", 99, seen_by="schema"),
    bad("sidecars-many", "spec.pod.sidecars", "write at most 10", [{**container()[0], "name": f"c{n}"} for n in range(11)], seen_by="schema"),
    bad("sidecar-without-name", "spec.pod.sidecars[0].name", "is missing", [{"image": "busybox"}], at="pod.sidecars", seen_by="schema"),
    bad("sidecar-without-image", "spec.pod.sidecars[0].image", "is missing", [{"name": "log", "securityContext": SAFE}], at="pod.sidecars", seen_by="schema"),
    bad("sidecars-same-name", "spec.pod.sidecars", "the same name", container() * 2, seen_by="schema"),
    bad("init-same-name", "spec.pod.initContainers", "the same name", container() * 2, seen_by="schema"),
    bad("volumes-same-name", "spec.pod.volumes", "the same name", [{"name": "a", "emptyDir": {}}] * 2, seen_by="schema"),
    bad("env-same-name", "spec.pod.env", "the same name", [{"name": "TZ"}] * 2, seen_by="schema"),
    bad("pull-secrets-same-name", "spec.pod.imagePullSecrets", "the same name", [{"name": "a"}] * 2, seen_by="schema"),
    bad(
        "mounts-same-path",
        "spec.pod.volumeMounts",
        "the same mountPath",
        {"volumes": [{"name": "a", "emptyDir": {}}], "volumeMounts": [{"name": "a", "mountPath": "/a"}] * 2},
        at="pod",
        seen_by="schema",
    ),
    bad("families-same", "spec.network.ipFamilies", "stands twice", ["IPv4", "IPv4"], seen_by="schema"),
    bad("privileged-text", "spec.pod.containerSecurityContext.privileged", "neither true nor false", "no", seen_by="schema"),
    bad("node-port-zero", "spec.services.read.nodePort", "write a number from 1 to 65535", {"type": "NodePort", "nodePort": 0}, at="services.read", seen_by="schema"),
)  # fmt: skip

UNKNOWN = (
    bad("unknown", "spec.flavour", "is not a field", 1, seen_by="nobody"),
    bad("unknown-typo", "spec.replica", "did you mean replicas?", 1, seen_by="nobody"),
    bad("unknown-case", "spec.Replicas", "did you mean replicas?", 1, seen_by="nobody"),
    bad("unknown-null", "spec.flavour", "is not a field", None, seen_by="nobody"),
    bad("unknown-inside", "spec.tuning.maxmemoryPolice", "did you mean maxmemoryPolicy?", "noeviction", seen_by="nobody"),
    bad("misplaced", "spec.maxmemory", "it belongs at spec.tuning.maxmemory", "75%", seen_by="nobody"),
    bad("misplaced-deep", "spec.sidecars", "it belongs at spec.pod.sidecars", [], seen_by="nobody"),
    bad(
        "misplaced-twice",
        "spec.limits",
        "spec.pod.resources.limits or spec.monitoring.exporter.resources.limits",
        {},
        seen_by="nobody",
    ),
    Bad("misplaced-outside", "replicas", "it belongs at spec.replicas", {**document(), "replicas": 2}, seen_by="nobody"),
    bad("of-v1alpha1", "spec.size", "use spec.replicas", 2, seen_by="nobody"),
    *(
        bad(f"reserved-{path}", f"spec.{path}", "is reserved for a later version", {}, seen_by="nobody")
        for path in (
            "engine",
            "sentinel",
            "cluster",
            "tls",
            "auth.users",
            "auth.rotation",
            "auth.aclSecretRef",
            "configFrom",
            "modules",
            "network.announce",
            "connectionSecret",
            "update.maintenanceWindows",
            "bootstrap",
            "backup",
            "autotune",
            "pod.overrides",
            "persistence.accessModes",
            "replication.minReplicasToWrite",
        )
    ),
    bad("peer-unknown", "spec.networkPolicy.allowFrom[0].pod", "is not a field", [{"podSelector": {}, "pod": {}}], at="networkPolicy.allowFrom", seen_by="nobody"),
)  # fmt: skip

SIZES = (
    bad("memory-small", "spec.memory", "is less than 32Mi or more than 1Ti: write for example 512Mi", "31Mi"),
    bad("memory-large", "spec.memory", "more than 1Ti", "1025Gi"),
    bad("memory-number", "spec.memory", "is less than 32Mi", 1024),
    bad("memory-negative", "spec.memory", "is less than 32Mi", "-1Gi"),
    bad("storage-negative", "spec.storage", "is neither 0 nor from 64Mi", "-1Gi"),
    bad("storage-small", "spec.storage", "write 0 for no volume", "63Mi"),
    bad("storage-tiny", "spec.storage", "is neither 0 nor from 64Mi", "1n"),
    bad("storage-huge", "spec.storage", "is neither 0 nor from 64Mi to 1Pi", "2Pi"),
    bad("share-96", "spec.tuning.maxmemory", "is more than 95% of memory", "96%"),
    bad("share-as-size", "spec.tuning.maxmemory", "is more than 95% of memory", {"memory": "100Mi", "tuning": {"maxmemory": "96Mi"}}, at="spec"),
    bad("share-as-number", "spec.tuning.maxmemory", "is more than 95% of memory", {"memory": 104857600, "tuning": {"maxmemory": 99614721}}, at="spec"),
    bad("share-zero", "spec.tuning.maxmemory", "is less than 1% or 1Mi, and Redis takes 0 for no limit", "0%"),
    bad("maxmemory-zero", "spec.tuning.maxmemory", "Redis takes 0 for no limit", 0),
    bad("share-90", "spec.tuning.maxmemory", "is 90% of memory or more", "90%", level="warning", seen_by="nobody"),
    bad("backlog-small", "spec.tuning.replicationBacklog", "is less than 16Ki", "16383"),
    bad("backlog-large", "spec.tuning.replicationBacklog", "more than memory", {"memory": "64Mi", "tuning": {"replicationBacklog": "65Mi"}}, at="spec"),
    bad("none-with-storage", "spec.persistence.mode", "the volumes hold no data", "None", level="warning", seen_by="nobody"),
    *(
        bad(f"storage-none-{mode}", "spec.storage", "goes with the pod", {"storage": 0, "persistence": {"mode": mode}}, at="spec", level="warning", seen_by="nobody")
        for mode in ("AOF", "RDB", "Both")
    ),
    bad("liveness-timeout", "spec.probes.liveness.timeout", "is less than a second", "900ms"),
    bad("liveness-period", "spec.probes.liveness.period", "is less than a second", "0"),
    bad("sync-timeout", "spec.update.syncTimeout", "is less than a second", "0s"),
    bad("route-lead", "spec.update.routeLead", "is more than 10s", "10001ms"),
    bad("interval", "spec.monitoring.podMonitor.interval", "is less than a second", "500ms"),
    bad("memory-request", "spec.pod.resources.requests[memory]", "use spec.memory", {"memory": "1Gi"}, at="pod.resources.requests"),
    bad("memory-limit", "spec.pod.resources.limits[memory]", "use spec.memory", {"memory": "1Gi"}, at="pod.resources.limits"),
    bad("resource-unknown", "spec.pod.resources.limits[gpu]", "gpu is not a resource that can be set here", {"gpu": 1}, at="pod.resources.limits"),
    bad("resource-negative", "spec.pod.resources.limits[cpu]", "cpu is less than nothing", {"cpu": "-1"}, at="pod.resources.limits"),
    bad("requests-over-limits", "spec.pod.resources.requests", "more than limits allow", {"requests": {"cpu": "1.5"}, "limits": {"cpu": "1499m"}}, at="pod.resources"),
    bad("exporter-requests", "spec.monitoring.exporter.resources.requests", "more than limits allow", {"requests": {"memory": "2Gi"}, "limits": {"memory": "1Gi"}}, at="monitoring.exporter.resources"),
)  # fmt: skip

SPEC = (
    bad("standalone-of-two", "spec.mode", "Standalone, which is one pod", {"mode": "Standalone", "replicas": 2}, at="spec"),
    bad("version-text", "spec.version", "is not a version of Redis", "seven"),
    bad("version-text-and-config", "spec.version", "is not a version of Redis", {"version": "seven", "config": {"maxclient": "1"}}, at="spec"),
    bad("version-zeros", "spec.version", "is not a version of Redis", "07.0"),
    bad("version-four", "spec.version", "is not a version of Redis", "7.0.1.2"),
    bad("version-old", "spec.version", "is older than 6.2", {"version": "6.0", "image": "redis:6.0"}, at="spec"),
    bad("version-5", "spec.version", "is older than 6.2", {"version": "5", "image": "redis:5.0.3"}, at="spec"),
    bad("image-old", "spec.image", "is older than Redis 6.2", "redis:5.0-alpine"),
    bad("versions-differ", "spec.version", "is not the version that the tag of the image says", {"version": "7.2", "image": "redis:7.0-alpine"}, at="spec"),
    bad("versions-differ-7-70", "spec.version", "is not the version", {"version": "7", "image": "redis:70.0"}, at="spec"),
    bad("image-upper", "spec.image", "is not the name of an image", "Redis:7.0"),
    bad("image-space", "spec.image", "is not the name of an image", "redis :7.0"),
    bad("image-digest", "spec.image", "is not the name of an image", "redis:7.0@sha256:abc"),
    bad("image-tag-empty", "spec.image", "is not the name of an image", "redis:"),
    bad("image-scheme", "spec.image", "is not the name of an image", "docker://redis:7.0"),
    bad("monitor-without-exporter", "spec.monitoring.podMonitor.enabled", "no pod has the port", True, level="warning", seen_by="nobody"),
    bad("exporter-image", "spec.monitoring.exporter.image", "is not the name of an image", "exporter:"),
    Bad("version-unsaid", "spec.version", "this is Redis 6.2", {**document(), "spec": {}}, "warning", "nobody"),
    bad("image-unsaid", "spec.image", "says no version in its tag", "redis:alpine", level="warning", seen_by="nobody"),
    bad("config-key", "spec.config[Max_Clients]", "cannot be a key of redis.conf", {"Max_Clients": "1"}, at="config"),
    bad("config-nul", "spec.config[syslog-ident]", "has a NUL character", {"syslog-ident": "a\0b"}, at="config"),
    bad("config-typo", "spec.config[maxclient]", "did you mean maxclients?", {"maxclient": "1"}, at="config", level="warning", seen_by="nobody"),
    bad("config-too-new", "spec.config[locale-collate]", "is not known for Redis 7.0", {"locale-collate": ""}, at="config", level="warning", seen_by="nobody"),
    *(
        bad(f"config-owned-{key}", f"spec.config[{key}]", instead, {key: "1"}, at="config")
        for key, instead in {
            "port": "port 6379",
            "bind": "port 6379",
            "dir": "fixed places",
            "logfile": "fixed places",
            "replicaof": "while Redis runs",
            "slaveof": "while Redis runs",
            "replica-priority": "while Redis runs",
            "replica-announce-ip": "while Redis runs",
            "slave-announce-port": "while Redis runs",
            "requirepass": "use spec.auth.secretRef",
            "masterauth": "use spec.auth.secretRef",
            "masteruser": "later version",
            "user": "later version",
            "aclfile": "later version",
            "tls-port": "TLS is reserved",
            "cluster-enabled": "cluster mode is reserved",
            "maxmemory": "use spec.tuning.maxmemory",
            "maxmemory-policy": "use spec.tuning.maxmemoryPolicy",
            "repl-backlog-size": "use spec.tuning.replicationBacklog",
            "save": "use spec.persistence.save",
            "appendonly": "use spec.persistence.mode",
            "appendfsync": "use spec.persistence.appendfsync",
            "min-replicas-to-write": "use spec.replication.policy",
            "min-slaves-max-lag": "use spec.replication.policy",
            "tcp-keepalive": "rely on it",
            "daemonize": "container's process",
            "include": "read other files",
            "loadmodule": "load code",
            "rename-command": "hide commands",
            "enable-debug-command": "hide commands",
            "sentinel": "Sentinel is reserved",
            "slave-lazy-flush": "with replica",
        }.items()
    ),
    bad("secret-name", "spec.auth.secretRef.name", "is not a name for a Secret", "My Secret"),
    bad("secret-key", "spec.auth.secretRef.key", "cannot be a key of a Secret", {"name": "a", "key": "pass word"}, at="auth.secretRef"),
    bad("storage-class", "spec.persistence.storageClassName", "is not a name for a StorageClass", "Fast Disk"),
)  # fmt: skip

METADATA = (
    bad("pod-label-app", "spec.pod.labels[app]", "app is reserved", {"app": "shop"}, at="pod.labels"),
    bad("pod-label-cr", "spec.pod.labels[redis-cr]", "is reserved", {"redis-cr": "other"}, at="pod.labels"),
    bad("pod-label-recommended", "spec.pod.labels[app.kubernetes.io/name]", "is reserved", {"app.kubernetes.io/name": "shop"}, at="pod.labels"),
    bad("pod-label-ours", "spec.pod.labels[redisop.example.com/x]", "is reserved", {"redisop.example.com/x": ""}, at="pod.labels"),
    bad("pod-label-kubernetes", "spec.pod.labels[kubernetes.io/x]", "is reserved", {"kubernetes.io/x": ""}, at="pod.labels"),
    bad("pod-label-stateful-set", "spec.pod.labels[statefulset.kubernetes.io/pod-name]", "is reserved", {"statefulset.kubernetes.io/pod-name": "a"}, at="pod.labels"),
    bad("pod-label-key", "spec.pod.labels[a b]", "a b cannot be a key", {"a b": ""}, at="pod.labels"),
    bad("pod-label-domain", "spec.pod.labels[A.b/c]", "cannot be a key", {"A.b/c": ""}, at="pod.labels"),
    bad("pod-label-value", "spec.pod.labels[a]", "has a value that a label cannot have", {"a": "-"}, at="pod.labels"),
    bad("pod-annotation", "spec.pod.annotations[kubectl.kubernetes.io/restartedAt]", "is reserved", {"kubectl.kubernetes.io/restartedAt": ""}, at="pod.annotations"),
    bad("pod-annotation-key", "spec.pod.annotations[a/b/c]", "cannot be a key", {"a/b/c": ""}, at="pod.annotations"),
    bad("service-label", "spec.services.primary.labels[app]", "is reserved", {"app": "a"}, at="services.primary.labels"),
    bad("read-label-value", "spec.services.read.labels[a]", "has a value", {"a": "b c"}, at="services.read.labels"),
    bad("service-annotation", "spec.services.read.annotations[redisop.example.com/a]", "is reserved", {"redisop.example.com/a": ""}, at="services.read.annotations"),
    bad("monitor-label", "spec.monitoring.podMonitor.labels[app]", "is reserved", {"app": "a"}, at="monitoring.podMonitor.labels"),
    bad("node-selector-key", "spec.scheduling.nodeSelector[a b]", "cannot be a key", {"a b": ""}, at="scheduling.nodeSelector"),
    bad("node-selector-value", "spec.scheduling.nodeSelector[a]", "has a value", {"a": "b c"}, at="scheduling.nodeSelector"),
    bad("inherit-key", "spec.metadata.inherit.labels[0]", "cannot be a key", ["a b"], at="metadata.inherit.labels"),
    bad("inherit-app", "spec.metadata.inherit.labels[0]", "leave it out", ["app"], at="metadata.inherit.labels"),
    bad("inherit-instance", "spec.metadata.inherit.labels[0]", "leave it out", ["app.kubernetes.io/instance"], at="metadata.inherit.labels"),
    bad("inherit-argo", "spec.metadata.inherit.annotations[1]", "Argo CD", ["a", "argocd.argoproj.io/tracking-id"], at="metadata.inherit.annotations"),
    bad("inherit-flux", "spec.metadata.inherit.labels[0]", "Flux", ["kustomize.toolkit.fluxcd.io/name"], at="metadata.inherit.labels"),
    bad("inherit-kubectl", "spec.metadata.inherit.annotations[0]", "kubectl", ["kubectl.kubernetes.io/last-applied-configuration"], at="metadata.inherit.annotations"),
    bad("inherit-helm", "spec.metadata.inherit.annotations[0]", "Helm", ["meta.helm.sh/release-name"], at="metadata.inherit.annotations"),
    bad("inherit-annotation-twice", "spec.metadata.inherit.annotations", "stands twice", ["a", "a"], seen_by="schema"),
    bad("inherit-twice", "spec.metadata.inherit.labels", "stands twice", ["team", "team"], seen_by="schema"),
)  # fmt: skip

NETWORK = (
    bad("node-port-inside", "spec.services.primary.nodePort", "not of type NodePort or LoadBalancer", 30379),
    bad("traffic-policy-inside", "spec.services.read.externalTrafficPolicy", "not of type NodePort or LoadBalancer", "Local"),
    bad("class-without-balancer", "spec.services.read.loadBalancerClass", "not of type LoadBalancer", {"type": "NodePort", "loadBalancerClass": "a/b"}, at="services.read"),
    bad("ranges-without-balancer", "spec.services.primary.loadBalancerSourceRanges", "not of type LoadBalancer", ["10.0.0.0/8"]),
    bad("range-syntax", "spec.services.primary.loadBalancerSourceRanges[1]", "for example 10.0.0.0/8", {"type": "LoadBalancer", "loadBalancerSourceRanges": ["10.0.0.0/8", "10.0.0.0"]}, at="services.primary"),
    bad("range-zeros", "spec.services.read.loadBalancerSourceRanges[0]", "is not a range of addresses", {"type": "LoadBalancer", "loadBalancerSourceRanges": ["10.0.0.0/08"]}, at="services.read"),
    bad("range-zone", "spec.services.read.loadBalancerSourceRanges[0]", "is not a range of addresses", {"type": "LoadBalancer", "loadBalancerSourceRanges": ["fe80::%1/64"]}, at="services.read"),
    bad("range-mapped", "spec.services.read.loadBalancerSourceRanges[0]", "is not a range of addresses", {"type": "LoadBalancer", "loadBalancerSourceRanges": ["::ffff:10.0.0.0/104"]}, at="services.read"),
    bad("range-long", "spec.services.read.loadBalancerSourceRanges[0]", "is not a range of addresses", {"type": "LoadBalancer", "loadBalancerSourceRanges": ["10.0.0.0/33"]}, at="services.read"),
    bad("ranges-same", "spec.services.read.loadBalancerSourceRanges", "stands twice", {"type": "LoadBalancer", "loadBalancerSourceRanges": ["::/0", "::/0"]}, at="services.read", seen_by="schema"),
    bad("class-syntax", "spec.services.primary.loadBalancerClass", "is not the name of a load balancer class", {"type": "LoadBalancer", "loadBalancerClass": "a b"}, at="services.primary"),
    bad("node-ports-same", "spec.services.read.nodePort", "is that of the primary, too", {name: {"type": "NodePort", "nodePort": 30379} for name in ("primary", "read")}, at="services"),
    bad("families-of-single-stack", "spec.network.ipFamilyPolicy", "ipFamilies names two", {"ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv4", "IPv6"]}, at="network"),
    bad("operator-namespace", "spec.networkPolicy.operatorNamespace", "is not a name for a namespace", "My"),
    bad("policy-without-clients", "spec.networkPolicy.allowFrom", "only members and the operator's namespace may connect, and Prometheus cannot reach the exporter", {"enabled": True}, at="networkPolicy", level="warning", seen_by="nobody"),
    bad("peer-empty", "spec.networkPolicy.allowFrom[0]", "must have either ipBlock, or podSelector", [{}], at="networkPolicy.allowFrom"),
    bad("peer-both", "spec.networkPolicy.allowFrom[0]", "must have either ipBlock, or podSelector", [{"ipBlock": {"cidr": "::/0"}, "podSelector": {}}], at="networkPolicy.allowFrom"),
    bad("peer-cidr", "spec.networkPolicy.allowFrom[0].ipBlock.cidr", "is not a range of addresses", [{"ipBlock": {"cidr": "10.0.0.256/8"}}], at="networkPolicy.allowFrom"),
    bad("peer-except", "spec.networkPolicy.allowFrom[0].ipBlock.except", "a smaller range inside cidr", [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["11.0.0.0/16"]}}], at="networkPolicy.allowFrom"),
    bad("peer-except-all", "spec.networkPolicy.allowFrom[0].ipBlock.except", "a smaller range inside cidr", [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.0.0.0/8"]}}], at="networkPolicy.allowFrom"),
)  # fmt: skip

STANDARD = "restricted Pod Security Standard"


def security(id: str, path: str, text: str, value: Any, seen_by: SeenBy = "cel") -> tuple[Bad, ...]:  # noqa: A002
    """Return the same mistake in each place where a container's security context stands."""
    return (
        bad(f"redis-{id}", f"spec.pod.containerSecurityContext.{path}", text, value, at="pod.containerSecurityContext", seen_by=seen_by),
        bad(f"sidecar-{id}", f"spec.pod.sidecars[0].securityContext.{path}", text, secured(**value), at="pod.sidecars", seen_by=seen_by),
        bad(f"init-{id}", f"spec.pod.initContainers[0].securityContext.{path}", text, secured(**value), at="pod.initContainers", seen_by=seen_by),
    )  # fmt: skip


PODS = (
    *security("root", "runAsUser", "is 0, which is root", {"runAsUser": 0}),
    *security("may-be-root", "runAsNonRoot", STANDARD, {"runAsNonRoot": False}),
    *security("seccomp", "seccompProfile", "neither RuntimeDefault nor Localhost", {"seccompProfile": {"type": "Unconfined"}}),
    *security("apparmor", "appArmorProfile", "neither RuntimeDefault nor Localhost", {"appArmorProfile": {"type": "Unconfined"}}),
    *security("selinux-user", "seLinuxOptions", "sets user, role", {"seLinuxOptions": {"user": "root"}}),
    *security("selinux-type", "seLinuxOptions", "unusual type", {"seLinuxOptions": {"type": "spc_t"}}),
    *security("host-process", "windowsOptions", "has hostProcess", {"windowsOptions": {"hostProcess": True}}, "nobody"),
    *security("privileged", "privileged", STANDARD, {"privileged": True}),
    *security("escalation", "allowPrivilegeEscalation", STANDARD, {"allowPrivilegeEscalation": True}),
    *security("capability", "capabilities.add", "has more than NET_BIND_SERVICE", {"capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE", "SYS_ADMIN"]}}),
    *security("keeps-capabilities", "capabilities", "does not drop ALL", {"capabilities": {"add": ["NET_BIND_SERVICE"]}}),
    *security("proc-mount", "procMount", "is not Default", {"procMount": "Unmasked"}),
    bad("pod-root", "spec.pod.securityContext.runAsUser", "is 0, which is root", 0),
    bad("pod-may-be-root", "spec.pod.securityContext.runAsNonRoot", STANDARD, False),
    bad("pod-seccomp", "spec.pod.securityContext.seccompProfile", "neither RuntimeDefault nor Localhost", {"type": "Unconfined"}),
    bad("pod-seccomp-untyped", "spec.pod.securityContext.seccompProfile", "neither RuntimeDefault", {"localhostProfile": "a"}),
    bad("pod-apparmor", "spec.pod.securityContext.appArmorProfile", "neither RuntimeDefault", {"type": "Unconfined"}),
    bad("pod-selinux", "spec.pod.securityContext.seLinuxOptions", "sets user, role", {"role": "sysadm_r"}),
    bad("pod-host-process", "spec.pod.securityContext.windowsOptions", "has hostProcess", {"hostProcess": True}, seen_by="nobody"),
    bad("pod-sysctl", "spec.pod.securityContext.sysctls", "reaches beyond the pod", [{"name": "kernel.msgmax", "value": "1"}]),
    bad("sidecar-insecure", "spec.pod.sidecars[0].securityContext", "write securityContext: {allowPrivilegeEscalation: false", [{"name": "log", "image": "busybox"}], at="pod.sidecars"),
    bad("sidecar-half-secure", "spec.pod.sidecars[0].securityContext", "lacks what the restricted", container(securityContext={"allowPrivilegeEscalation": False}), at="pod.sidecars"),
    bad("sidecar-host-port", "spec.pod.sidecars[0].ports", "has a hostPort", container(ports=[{"containerPort": 80, "hostPort": 80}]), at="pod.sidecars"),
    bad("sidecar-probe-host", "spec.pod.sidecars[0]", "names a host", container(livenessProbe={"httpGet": {"host": "169.254.169.254", "port": 80}}), at="pod.sidecars", seen_by="nobody"),
    bad("init-hook-host", "spec.pod.initContainers[0]", "names a host", container(lifecycle={"preStop": {"tcpSocket": {"host": "a", "port": 80}}}), at="pod.initContainers", seen_by="nobody"),
    bad("sidecar-redis", "spec.pod.sidecars[0].name", "redisop's own", container(name="redis"), at="pod.sidecars"),
    bad("init-exporter", "spec.pod.initContainers[0].name", "redisop's own", container(name="exporter"), at="pod.initContainers"),
    bad("sidecar-name", "spec.pod.sidecars[0].name", "is not a name for a container", container(name="My"), at="pod.sidecars"),
    bad("sidecar-image", "spec.pod.sidecars[0].image", "is not the name of an image", container(image="busy box"), at="pod.sidecars"),
    bad("names-shared", "spec.pod.initContainers", "the name of a sidecar", {"sidecars": container(), "initContainers": container()}, at="pod"),
    bad("volume-host-path", "spec.pod.volumes[0].hostPath", STANDARD, [{"name": "a", "hostPath": {"path": "/"}}], at="pod.volumes"),
    bad("volume-nfs", "spec.pod.volumes[0]", "use one of configMap", [{"name": "a", "nfs": {"server": "a", "path": "/"}}], at="pod.volumes"),
    bad("volume-sourceless", "spec.pod.volumes[0]", "use one of configMap", [{"name": "a"}], at="pod.volumes"),
    bad("volume-data", "spec.pod.volumes[0].name", "redisop's own", [{"name": "data", "emptyDir": {}}], at="pod.volumes"),
    bad("volume-name", "spec.pod.volumes[0].name", "is not a name for a volume", [{"name": "a.b", "emptyDir": {}}], at="pod.volumes"),
    bad("mount-unknown", "spec.pod.volumeMounts", "not among spec.pod.volumes", [{"name": "a", "mountPath": "/a"}]),
    *(
        bad(
            f"mount-{path}",
            "spec.pod.volumeMounts[0].mountPath",
            text,
            {"volumes": [{"name": "a", "emptyDir": {}}], "volumeMounts": [{"name": "a", "mountPath": path}]},
            at="pod",
        )
        for path, text in {
            "scratch": "is not the full path",
            "/a/": "is not the full path",
            "/a:b": "is not the full path",
            "/a/../data": "is not the full path",
            "/": "is not the full path",
            "/data": "something of its own",
            "/data/sub": "something of its own",
            "/etc": "something of its own",
            "/run/redisop": "something of its own",
            "/etc/redisop-auth/x": "something of its own",
        }.items()
    ),
    bad("env-syntax", "spec.pod.env[0].name", "is not a name for a variable", [{"name": "1A"}], at="pod.env"),
    bad("env-name", "spec.pod.env[0].name", "redisop's own", [{"name": "NAME", "value": "a"}], at="pod.env"),
    bad("env-password", "spec.pod.env[0].name", "redisop's own", [{"name": "REDISCLI_AUTH", "value": "a"}], at="pod.env"),
    bad("env-prefix", "spec.pod.env[0].name", "redisop's own", [{"name": "REDISOP_DATA", "value": "/"}], at="pod.env"),
    bad("account-name", "spec.pod.serviceAccountName", "is not a name for a ServiceAccount", "My"),
    bad("pull-secret-name", "spec.pod.imagePullSecrets[0].name", "is not a name for a Secret", [{"name": "My"}], at="pod.imagePullSecrets"),
    bad("priority-class", "spec.scheduling.priorityClassName", "is not a name for a PriorityClass", "My"),
)  # fmt: skip

TRANSITIONS = (
    bad("storage-shrinks", "spec.storage", "volumes do not shrink", "1Gi", old="2Gi"),
    bad("storage-shrinks-unsaid", "spec.storage", "volumes do not shrink", {}, at="spec", old={"storage": "2Gi"}),
    bad("storage-ends", "spec.storage", "cannot go from 0 to a size or back", 0, old="1Gi"),
    bad("storage-begins", "spec.storage", "cannot go from 0 to a size or back", "1Gi", old="0"),
    bad("class-changes", "spec.persistence.storageClassName", "cannot change", "fast", old="slow"),
    bad("class-appears", "spec.persistence.storageClassName", "cannot change", {"storageClassName": "fast"}, at="persistence", old={"mode": "AOF"}),
    bad("class-vanishes", "spec.persistence.storageClassName", "cannot change", {"mode": "AOF"}, at="persistence", old={"storageClassName": "slow"}),
)  # fmt: skip

ALL = (*IDENTITY, *SHAPES, *UNKNOWN, *SIZES, *SPEC, *METADATA, *NETWORK, *PODS, *TRANSITIONS)
