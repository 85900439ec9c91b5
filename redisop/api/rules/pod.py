"""Rules about what users add to pods: our own names are taken, and the *restricted* Pod Security Standard holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from redisop import names
from redisop.api.rules import syntax
from redisop.api.rules.rule import Rule, Scope
from redisop.api.v1 import Pod

_Part = dict[str, Any]

_OWN_CONTAINERS: Final = (names.REDIS_CONTAINER, names.EXPORTER_CONTAINER)
_OWN_VOLUMES: Final = (names.DATA_VOLUME, names.CONFIG_VOLUME, names.AUTH_VOLUME, names.RUN_VOLUME)
_OWN_PATHS: Final = (names.DATA_PATH, names.CONFIG_PATH, names.AUTH_PATH, names.RUN_PATH)
# The entry script reads the first ones; redis-cli, which it calls, reads the last.
_OWN_VARIABLES: Final = (names.NAME_VARIABLE, names.POD_IP_VARIABLE, "HOSTNAME", "REDISCLI_AUTH")
_OWN_VARIABLE_PREFIX: Final = "REDISOP_"
_VOLUME_SOURCES: Final = (
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "persistentVolumeClaim",
    "projected",
    "secret",
)
_PROFILES: Final = ("RuntimeDefault", "Localhost")
_SELINUX_TYPES: Final = ("", "container_t", "container_init_t", "container_kvm_t", "container_engine_t")
_SAFE_SYSCTLS: Final = (
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ping_group_range",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_wmem",
)
_RESTRICTED: Final = "the restricted Pod Security Standard forbids it"


def _own(field: str, taken: tuple[str, ...], kind: str) -> Rule:
    return Rule(
        field=field,
        wrong=f"is the name of a {kind} of redisop's own",
        right="use another name",
        holds=lambda part: part[field] not in taken,
        cel=f"!({syntax.among(f'self.{field}', taken)})",
    )


def _refused(field: str, wrong: str, holds: Callable[[_Part], bool], cel: str) -> Rule:
    return Rule(field=field, wrong=wrong, right=_RESTRICTED, holds=holds, cel=cel)


def _is_not(field: str, value: bool) -> Rule:
    """The rule that `field` is not `value`; it may be absent."""
    spelled = str(value).lower()
    return _refused(
        field,
        f"is {spelled}",
        lambda part: part.get(field) is not value,
        f"!has(self.{field}) || self.{field} != {spelled}",
    )


def _inner(part: Any, *steps: str) -> Any:
    """Return what stands at `steps`, or None; what no shape was asked of may be anything."""
    for step in steps:
        part = part.get(step) if isinstance(part, dict) else None
    return part


def _profile(field: str) -> Rule:
    return _refused(
        field,
        "is neither RuntimeDefault nor Localhost",
        lambda part: field not in part or part[field].get("type") in _PROFILES,
        f"!has(self.{field}) || has(self.{field}.type) && {syntax.among(f'self.{field}.type', _PROFILES)}",
    )


_ALLOWED_SELINUX: Final = _refused(
    "seLinuxOptions",
    "sets user, role or an unusual type",
    lambda part: (
        not _inner(part, "seLinuxOptions", "user")
        and not _inner(part, "seLinuxOptions", "role")
        and (_inner(part, "seLinuxOptions", "type") or "") in _SELINUX_TYPES
    ),
    "!has(self.seLinuxOptions) "
    "|| (!has(self.seLinuxOptions.user) || self.seLinuxOptions.user == '') "
    "&& (!has(self.seLinuxOptions.role) || self.seLinuxOptions.role == '') "
    f"&& (!has(self.seLinuxOptions.type) || {syntax.among('self.seLinuxOptions.type', _SELINUX_TYPES)})",
)
_NOT_ROOT: Final = _refused(
    "runAsUser",
    "is 0, which is root",
    lambda part: part.get("runAsUser") != 0,
    "!has(self.runAsUser) || self.runAsUser != 0",
)
_NO_HOST_PROCESS: Final = Rule(
    field="windowsOptions",
    wrong="has hostProcess",
    right=_RESTRICTED,
    holds=lambda part: not _inner(part, "windowsOptions", "hostProcess"),
)
_EITHER_LEVEL: Final = (
    _NOT_ROOT,
    _is_not("runAsNonRoot", False),
    _profile("seccompProfile"),
    _profile("appArmorProfile"),
    _ALLOWED_SELINUX,
    _NO_HOST_PROCESS,
)
_POD_SECURITY: Final = (
    *_EITHER_LEVEL,
    _refused(
        "sysctls",
        "has a parameter that reaches beyond the pod",
        lambda part: all(sysctl["name"] in _SAFE_SYSCTLS for sysctl in part.get("sysctls", ())),
        f"!has(self.sysctls) || self.sysctls.all(sysctl, {syntax.among('sysctl.name', _SAFE_SYSCTLS)})",
    ),
)
_CONTAINER_SECURITY: Final = (
    *_EITHER_LEVEL,
    _is_not("privileged", True),
    _is_not("allowPrivilegeEscalation", True),
    _refused(
        "capabilities.add",
        "has more than NET_BIND_SERVICE",
        lambda part: all(name == "NET_BIND_SERVICE" for name in _inner(part, "capabilities", "add") or ()),
        "!has(self.capabilities) || !has(self.capabilities.add) "
        "|| self.capabilities.add.all(name, name == 'NET_BIND_SERVICE')",
    ),
    Rule(
        field="capabilities",
        wrong="does not drop ALL, as the restricted Pod Security Standard asks",
        right="write capabilities: {drop: [ALL]}",
        holds=lambda part: "capabilities" not in part or "ALL" in (_inner(part, "capabilities", "drop") or ()),
        cel="!has(self.capabilities) || has(self.capabilities.drop) && 'ALL' in self.capabilities.drop",
    ),
    _refused(
        "procMount",
        "is not Default",
        lambda part: part.get("procMount", "Default") == "Default",
        "!has(self.procMount) || self.procMount == 'Default'",
    ),
)


def _meets_the_standard(container: _Part) -> bool:
    security = container.get("securityContext", {})
    return security.get("allowPrivilegeEscalation") is not None and "capabilities" in security


_SAYS_SO: Final = Rule(
    field="securityContext",
    wrong="lacks what the restricted Pod Security Standard asks of each container",
    right="write securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}",
    holds=_meets_the_standard,
    cel="has(self.securityContext) && has(self.securityContext.allowPrivilegeEscalation) "
    "&& has(self.securityContext.capabilities)",
)
_NO_HOST_PORT: Final = _refused(
    "ports",
    "has a hostPort",
    lambda container: all(not port.get("hostPort") for port in container.get("ports", ())),
    "!has(self.ports) || self.ports.all(port, !has(port.hostPort) || port.hostPort == 0)",
)
_HANDLERS: Final = (
    ("livenessProbe",),
    ("readinessProbe",),
    ("startupProbe",),
    ("lifecycle", "postStart"),
    ("lifecycle", "preStop"),
)


def _asks_no_other_host(container: _Part) -> bool:
    ways = ("httpGet", "tcpSocket")
    return not any(_inner(container, *handler, way, "host") for handler in _HANDLERS for way in ways)


_CONTAINER: Final = (
    syntax.label_name("name", "container"),
    _own("name", _OWN_CONTAINERS, "container"),
    syntax.image(),
    _SAYS_SO,
    _NO_HOST_PORT,
    # Not in CEL: the schema of all these handlers, for each list of containers, would be a tenth of the CRD.
    Rule(wrong="has a probe or hook that names a host", right=_RESTRICTED, holds=_asks_no_other_host),
)

# -- volumes, mounts, variables ---------------------------------------------------------------------------------------

_VOLUME: Final = (
    syntax.label_name("name", "volume"),
    _own("name", _OWN_VOLUMES, "volume"),
    _refused("hostPath", "is a part of the node", lambda volume: "hostPath" not in volume, "!has(self.hostPath)"),
    Rule(
        wrong="is of no kind that the restricted Pod Security Standard allows",
        right=f"use one of {', '.join(_VOLUME_SOURCES)}",
        holds=lambda volume: "hostPath" in volume or any(source in volume for source in _VOLUME_SOURCES),
        cel=" || ".join(f"has(self.{source})" for source in ("hostPath", *_VOLUME_SOURCES)),
    ),
)


_is_path = syntax.matcher(syntax.MOUNT_PATH)


def _is_own_path(path: str) -> bool:
    return any(f"{path}/".startswith(f"{own}/") or f"{own}/".startswith(f"{path}/") for own in _OWN_PATHS)


_MOUNT: Final = (
    Rule(
        field="mountPath",
        wrong="is not the full path of a folder",
        right="write for example /scratch, without a slash at the end, a colon or ..",
        holds=lambda mount: _is_path(mount["mountPath"]) and ".." not in mount["mountPath"].split("/"),
        cel=f"self.mountPath.matches({syntax.quoted(syntax.MOUNT_PATH)}) && !('..' in self.mountPath.split('/'))",
    ),
    Rule(
        field="mountPath",
        wrong="is where redisop mounts something of its own, or inside or above it",
        right="use another path",
        holds=lambda mount: not _is_own_path(mount["mountPath"]),
        cel=" && ".join(
            f"!(self.mountPath + '/').startsWith('{own}/') && !'{own}/'.startsWith(self.mountPath + '/')"
            for own in _OWN_PATHS
        ),
    ),
)
_VARIABLE: Final = (
    syntax.spelled(
        "name",
        syntax.VARIABLE,
        "is not a name for a variable",
        "write letters, digits, dashes, dots and underscores, no digit first",
    ),
    Rule(
        field="name",
        wrong="is a variable of redisop's own",
        right="use another name",
        holds=lambda variable: (
            variable["name"] not in _OWN_VARIABLES and not variable["name"].startswith(_OWN_VARIABLE_PREFIX)
        ),
        cel=f"!({syntax.among('self.name', _OWN_VARIABLES)}) && !self.name.startsWith('{_OWN_VARIABLE_PREFIX}')",
    ),
)

# -- the lists against each other -------------------------------------------------------------------------------------


def _mounts_known_volumes(pod: Pod) -> bool:
    known = {volume["name"] for volume in pod.volumes}
    return all(mount["name"] in known for mount in pod.volumeMounts)


def _containers_differ(pod: Pod) -> bool:
    sidecars = {container["name"] for container in pod.sidecars}
    return all(container["name"] not in sidecars for container in pod.initContainers)


def _unique(field: str, key: str) -> Rule:
    """The rule that no two entries have the same key; the API server holds it by the type of the list."""

    def holds(pod: Pod) -> bool:
        entries = getattr(pod, field)
        return len({syntax.get(entry, key) for entry in entries}) == len(entries)

    return Rule(field=field, wrong=f"has two entries with the same {key}", right="remove or rename one", holds=holds)


_LISTS: Final = (
    ("imagePullSecrets", "name"),
    ("sidecars", "name"),
    ("initContainers", "name"),
    ("volumes", "name"),
    ("volumeMounts", "mountPath"),
    ("env", "name"),
)
_POD: Final = (
    syntax.object_name("serviceAccountName", "ServiceAccount"),
    *(_unique(field, key) for field, key in _LISTS),
    Rule(
        field="initContainers",
        wrong="has a container with the name of a sidecar",
        right="rename one",
        holds=_containers_differ,
        cel="!has(self.initContainers) || !has(self.sidecars) || self.initContainers.all(first, "
        "self.sidecars.all(second, first.name != second.name))",
    ),
    Rule(
        field="volumeMounts",
        wrong="names a volume that is not among spec.pod.volumes",
        right="add the volume, or correct the name",
        holds=_mounts_known_volumes,
        cel="!has(self.volumeMounts) || self.volumeMounts.all(mount, "
        "has(self.volumes) && self.volumes.exists(volume, volume.name == mount.name))",
    ),
)


def _containers(path: str) -> tuple[Scope, ...]:
    return Scope(f"{path}[*]", _CONTAINER), Scope(f"{path}[*].securityContext", _CONTAINER_SECURITY)


SCOPES: Final = (
    Scope("spec.pod", _POD),
    Scope("spec.pod.securityContext", _POD_SECURITY),
    Scope("spec.pod.containerSecurityContext", _CONTAINER_SECURITY),
    Scope("spec.pod.imagePullSecrets[*]", (syntax.object_name("name", "Secret"),)),
    *_containers("spec.pod.sidecars"),
    *_containers("spec.pod.initContainers"),
    Scope("spec.pod.volumes[*]", _VOLUME),
    Scope("spec.pod.volumeMounts[*]", _MOUNT),
    Scope("spec.pod.env[*]", _VARIABLE),
    Scope("spec.scheduling", (syntax.object_name("priorityClassName", "PriorityClass"),)),
)
