"""The parts of a pod template that users hand through, as far as rules look into them.

A value of these types stays the plain map that the user wrote: only the named fields are looked at, everything else is
passed on unseen, and the API server judges it when it sees the pod template. Field names are Kubernetes' own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NotRequired

from pydantic import ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema
from typing_extensions import TypedDict  # pydantic refuses typing's own before Python 3.12

_OPEN = ConfigDict(extra="allow", strict=True)
_CLOSED = ConfigDict(extra="forbid", strict=True)

Anything = dict[str, Any]
Word = Annotated[str, Field(max_length=253)]
_Words = Annotated[list[Word], Field(max_length=32)]


@dataclass(frozen=True)
class _ShapedAs:
    """Makes pydantic check a plain map as if it were a `TypedDict`."""

    shape: type

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return handler.generate_schema(self.shape)


class _Typed(TypedDict):
    """Something that has a type."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]
    type: NotRequired[Word]


class _SELinux(TypedDict):
    """SELinux labels."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]
    type: NotRequired[Word]
    user: NotRequired[Word]
    role: NotRequired[Word]


class _Sysctl(TypedDict):
    """A kernel parameter."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]
    name: Word


class _PodSecurity(TypedDict):
    """As in a Pod."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]
    runAsUser: NotRequired[int]
    runAsNonRoot: NotRequired[bool]
    seccompProfile: NotRequired[_Typed]
    appArmorProfile: NotRequired[_Typed]
    seLinuxOptions: NotRequired[_SELinux]
    sysctls: NotRequired[Annotated[list[_Sysctl], Field(max_length=16)]]


class _Capabilities(TypedDict):
    """Linux capabilities."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]
    add: NotRequired[_Words]
    drop: NotRequired[_Words]


class _ContainerSecurity(TypedDict):
    """As in a container."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]
    allowPrivilegeEscalation: NotRequired[bool]
    appArmorProfile: NotRequired[_Typed]
    capabilities: NotRequired[_Capabilities]
    privileged: NotRequired[bool]
    procMount: NotRequired[Word]
    runAsNonRoot: NotRequired[bool]
    runAsUser: NotRequired[int]
    seLinuxOptions: NotRequired[_SELinux]
    seccompProfile: NotRequired[_Typed]


class _Port(TypedDict):
    """A port of a container."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]
    hostPort: NotRequired[int]


class _Container(TypedDict):
    """A container as in a Pod; it must meet the *restricted* Pod Security Standard by itself."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]
    name: Word
    image: Annotated[str, Field(min_length=1, max_length=512)]
    ports: NotRequired[Annotated[list[_Port], Field(max_length=32)]]
    securityContext: NotRequired[_ContainerSecurity]


class _Volume(TypedDict):
    """A volume as in a Pod, of the kinds that the *restricted* Pod Security Standard allows."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]
    name: Word
    configMap: NotRequired[Anything]
    csi: NotRequired[Anything]
    downwardAPI: NotRequired[Anything]
    emptyDir: NotRequired[Anything]
    ephemeral: NotRequired[Anything]
    hostPath: NotRequired[Anything]
    persistentVolumeClaim: NotRequired[Anything]
    projected: NotRequired[Anything]
    secret: NotRequired[Anything]


class _Mount(TypedDict):
    """Where the Redis container sees a volume."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]
    name: Word
    mountPath: Annotated[str, Field(max_length=1024)]


class _Variable(TypedDict):
    """An environment variable of the Redis container."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]
    name: Word


_Range = Annotated[str, Field(max_length=64)]
_AddressBlock = TypedDict(  # `except` is a word of Python's own
    "_AddressBlock", {"cidr": _Range, "except": NotRequired[Annotated[list[_Range], Field(max_length=32)]]}
)
_AddressBlock.__pydantic_config__ = _CLOSED  # type: ignore[attr-defined]


class _Peer(TypedDict):
    """A peer as in a NetworkPolicy."""

    __pydantic_config__ = _CLOSED  # type: ignore[misc]
    ipBlock: NotRequired[_AddressBlock]
    namespaceSelector: NotRequired[Anything]
    podSelector: NotRequired[Anything]


PodSecurity = Annotated[Anything, _ShapedAs(_PodSecurity)]
ContainerSecurity = Annotated[Anything, _ShapedAs(_ContainerSecurity)]
Container = Annotated[Anything, _ShapedAs(_Container)]
Volume = Annotated[Anything, _ShapedAs(_Volume)]
Mount = Annotated[Anything, _ShapedAs(_Mount)]
Variable = Annotated[Anything, _ShapedAs(_Variable)]
Peer = Annotated[Anything, _ShapedAs(_Peer)]
