"""The pod template: the Redis container, the exporter, and what the user adds.

Nothing here may depend on a fact that moves (an address, the primary, the number of members, redisop's version): a
changed template restarts every member. Choices that are redisop's own come from the table of defaults.
"""

from __future__ import annotations

from typing import Any

from redisop import names
from redisop.api.derived import Derived
from redisop.api.meta import Meta
from redisop.api.scalars import Quantity
from redisop.api.v1 import RedisSpec
from redisop.manifest import Manifest
from redisop.render.redis_conf import restart_digest


def pod_template(meta: Meta, spec: RedisSpec, derived: Derived) -> Manifest:
    """Return the template of the StatefulSet's pods."""
    metadata: Manifest = {"labels": {**spec.pod.labels, **names.labels(meta.name)}}
    annotations = dict(spec.pod.annotations)
    if digest := restart_digest(spec, derived):
        annotations[names.RESTART_CONFIG] = digest
    if annotations:
        metadata["annotations"] = annotations
    return {"metadata": metadata, "spec": _pod(meta, spec, derived)}


def _pod(meta: Meta, spec: RedisSpec, derived: Derived) -> Manifest:
    containers = [_redis(meta, spec, derived)]
    if spec.monitoring.exporter.enabled:
        containers.append(_exporter(spec, derived))
    containers += spec.pod.sidecars
    pod: Manifest = {
        "serviceAccountName": spec.pod.serviceAccountName or meta.name,
        "automountServiceAccountToken": False,
        # Variables for every Service of the namespace are noise, and thousands of them stop a container from starting.
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": derived.grace_period,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 999,
            "runAsGroup": 1000,
            "fsGroup": 1000,
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
            **spec.pod.securityContext,
        },
        **_scheduling(meta, spec),
    }
    if spec.pod.imagePullSecrets:
        pod["imagePullSecrets"] = [{"name": secret.name} for secret in spec.pod.imagePullSecrets]
    if spec.pod.initContainers:
        pod["initContainers"] = list(spec.pod.initContainers)
    pod["containers"] = containers
    pod["volumes"] = [*_volumes(meta, spec, derived), *spec.pod.volumes]
    return pod


def _redis(meta: Meta, spec: RedisSpec, derived: Derived) -> Manifest:
    return {
        "name": names.REDIS_CONTAINER,
        "image": derived.image,
        "imagePullPolicy": spec.pod.imagePullPolicy,
        "command": ["sh", f"{names.CONFIG_PATH}/entry.sh"],
        "env": [
            {"name": names.NAME_VARIABLE, "value": meta.name},
            {
                "name": names.POD_IP_VARIABLE,
                "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}},
            },
            *spec.pod.env,
        ],
        "ports": [{"name": names.REDIS_PORT_NAME, "containerPort": names.REDIS_PORT, "protocol": "TCP"}],
        "resources": {
            "requests": {**_amounts(spec.pod.resources.requests), "memory": spec.memory.canonical()},
            "limits": {**_amounts(spec.pod.resources.limits), "memory": spec.memory.canonical()},
        },
        "securityContext": {**_container_security(), **spec.pod.containerSecurityContext},
        "lifecycle": {"preStop": {"exec": {"command": ["sh", f"{names.CONFIG_PATH}/handover.sh"]}}},
        **_probes(spec, derived),
        "volumeMounts": [*_mounts(spec), *spec.pod.volumeMounts],
    }


def _probes(spec: RedisSpec, derived: Derived) -> Manifest:
    defaults = derived.defaults
    ready = {"exec": {"command": ["sh", f"{names.CONFIG_PATH}/ready.sh"]}, "timeoutSeconds": defaults.probe_timeout}
    liveness = spec.probes.liveness
    return {
        # Asks often until the member has a role for the first time; from then on an exec every few seconds would cost
        # more processor time than Redis at rest. It must never end a member that holds, hence the threshold.
        "startupProbe": {
            **ready,
            "periodSeconds": defaults.startup_period,
            "failureThreshold": defaults.startup_failures,
        },
        "readinessProbe": {**ready, "periodSeconds": defaults.readiness_period},
        # Whether the process lives, nothing else: a probe that asks Redis would kill one that loads or is busy.
        "livenessProbe": {
            "tcpSocket": {"port": names.REDIS_PORT},
            "periodSeconds": liveness.period.seconds,
            "timeoutSeconds": liveness.timeout.seconds,
            "failureThreshold": liveness.failures,
        },
    }


def _exporter(spec: RedisSpec, derived: Derived) -> Manifest:
    container: Manifest = {
        "name": names.EXPORTER_CONTAINER,
        "image": derived.exporter_image,
        "imagePullPolicy": spec.pod.imagePullPolicy,
        "env": [{"name": "REDIS_ADDR", "value": f"redis://localhost:{names.REDIS_PORT}"}],
        "ports": [{"name": names.METRICS_PORT_NAME, "containerPort": names.METRICS_PORT, "protocol": "TCP"}],
        "resources": _exporter_resources(spec, derived),
        "securityContext": _container_security(),
    }
    if spec.auth.enabled:
        # The exporter takes a password from its environment or its arguments, and neither from a file as it is in the
        # Secret; `$(cat)` also drops the newline that Redis does not see as part of the password.
        start = f'REDIS_PASSWORD="$(cat {names.AUTH_PATH}/{names.PASSWORD_FILE})" exec /redis_exporter'
        container["command"] = ["sh", "-c", start]
        container["volumeMounts"] = [_auth_mount()]
    return container


def _exporter_resources(spec: RedisSpec, derived: Derived) -> Manifest:
    """Return what was asked for; a memory of which only one is given is both, else the table's."""
    wanted = spec.monitoring.exporter.resources
    requests, limits = _amounts(wanted.requests), _amounts(wanted.limits)
    limit = limits.get("memory") or requests.get("memory") or derived.defaults.exporter_memory
    return {
        "requests": {**requests, "memory": requests.get("memory", limit)},
        "limits": {**limits, "memory": limit},
    }


def _mounts(spec: RedisSpec) -> list[Manifest]:
    mounts: list[Manifest] = [
        {"name": names.DATA_VOLUME, "mountPath": names.DATA_PATH},
        {"name": names.CONFIG_VOLUME, "mountPath": names.CONFIG_PATH, "readOnly": True},
        {"name": names.RUN_VOLUME, "mountPath": names.RUN_PATH},
    ]
    return [*mounts, _auth_mount()] if spec.auth.enabled else mounts


def _auth_mount() -> Manifest:
    return {"name": names.AUTH_VOLUME, "mountPath": names.AUTH_PATH, "readOnly": True}


def _volumes(meta: Meta, spec: RedisSpec, derived: Derived) -> list[Manifest]:
    volumes: list[Manifest] = [
        {"name": names.CONFIG_VOLUME, "configMap": {"name": names.config_map(meta.name)}},
        # The configuration with the password in it: memory only.
        {"name": names.RUN_VOLUME, "emptyDir": {"medium": "Memory", "sizeLimit": derived.defaults.run_volume_size}},
    ]
    if spec.auth.enabled:
        item = {"key": derived.secret_key, "path": names.PASSWORD_FILE}
        volumes.append({"name": names.AUTH_VOLUME, "secret": {"secretName": derived.secret_name, "items": [item]}})
    if not spec.storage.value:
        volumes.append({"name": names.DATA_VOLUME, "emptyDir": {}})
    return volumes


def _scheduling(meta: Meta, spec: RedisSpec) -> Manifest:
    wanted = spec.scheduling
    constraints = [*_spread(meta, spec), *wanted.topologySpreadConstraints]
    chosen = {
        "affinity": wanted.affinity,
        "tolerations": list(wanted.tolerations),
        "nodeSelector": wanted.nodeSelector,
        "topologySpreadConstraints": constraints,
        "priorityClassName": wanted.priorityClassName,
        "schedulerName": wanted.schedulerName,
    }
    return {field: value for field, value in chosen.items() if value}


def _spread(meta: Meta, spec: RedisSpec) -> list[Manifest]:
    # Also with one member: a template that knew the number of members would restart them all when it changes.
    wishes = (
        ("kubernetes.io/hostname", spec.scheduling.spread.node),
        ("topology.kubernetes.io/zone", spec.scheduling.spread.zone),
    )
    return [
        {
            "maxSkew": 1,
            "topologyKey": topology,
            "whenUnsatisfiable": "DoNotSchedule" if wish == "Required" else "ScheduleAnyway",
            "labelSelector": {"matchLabels": names.selector(meta.name)},
        }
        for topology, wish in wishes
        if wish != "Disabled"
    ]


def _container_security() -> dict[str, Any]:
    return {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def _amounts(resources: dict[Any, Quantity]) -> dict[str, str]:
    return {name: amount.canonical() for name, amount in resources.items()}
