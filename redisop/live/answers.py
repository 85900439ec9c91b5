"""What an answer of the API server means when it is not success.

The server's codes alone do not say enough: a 403 is a missing right, a quota or a dying namespace, a 404 an absent
object, kind or namespace, and a 500 may be a field that the kind does not have, for ever.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from redisop import names
from redisop.failures import (
    AlreadyExists,
    Cause,
    Conflict,
    Denied,
    Expired,
    Failure,
    Forbidden,
    Invalid,
    NamespaceNotFound,
    NamespaceTerminating,
    NotFound,
    Owned,
    Stale,
    Unauthorized,
    Unavailable,
    UnknownKind,
)
from redisop.live.request import Request
from redisop.manifest import Manifest

LONGEST_QUOTE: Final = 400
_WITHHELD: Final = "(its words are withheld, they may hold a value)"
_NO_RIGHT: Final = re.compile(r'User "(.*?)" cannot (\S+) resource "(\S+?)" .*?(?:in the namespace "(.*?)"|scope)')
_NEVER_VALID: Final = re.compile(r"failed to (create typed|convert new) ")
_DENIED: Final = re.compile("denied (the )?request")  # a webhook, with any code it likes, or a policy
_MANAGER: Final = re.compile(r'conflict with "((?:[^"\\]|\\.)*)"')


class _Cause(msgspec.Struct, frozen=True):
    reason: str = ""
    message: str = ""
    field: str = ""


class _Details(msgspec.Struct, frozen=True):
    name: str = ""
    kind: str = ""
    retryAfterSeconds: float = 0.0
    causes: tuple[_Cause, ...] = ()


class Status(msgspec.Struct, frozen=True):
    """`meta/v1.Status`, as far as it is read."""

    code: int = 0
    reason: str = ""
    message: str = ""
    details: _Details = _Details()


def failure(request: Request, code: int, headers: Mapping[str, str], body: bytes) -> Failure:
    """Return what an answer that is no success (its HTTP status `code` is 300 or above) means for `request`.

    Raises msgspec.DecodeError for JSON that is not whole: nothing may be concluded from half an answer.
    """
    if headers.get("Content-Type", "").startswith("application/json"):
        status = msgspec.json.decode(body, type=Status)
    else:  # of a proxy on the way, or of the server itself where it has no such path
        status = Status(message=" ".join(body.decode(errors="replace").split()))
    asked = headers.get("Retry-After", "")
    retry_after = float(asked) if asked.isdecimal() else status.details.retryAfterSeconds
    details = msgspec.structs.replace(status.details, retryAfterSeconds=retry_after)
    return meaning(request, msgspec.structs.replace(status, code=code, details=details))


def meaning(request: Request, status: Status) -> Failure:
    """Return what a `Status` means for `request`."""
    return next(found for look in _MEANINGS if (found := look(request, status)))


def _unauthorized(request: Request, status: Status) -> Failure | None:
    if status.code != 401:
        return None
    return Unauthorized(
        request.key, "the API server does not accept the credentials; log in again or choose another context"
    )


def _namespace_terminating(request: Request, status: Status) -> Failure | None:
    if all(cause.reason != "NamespaceTerminating" for cause in status.details.causes):
        return None
    return NamespaceTerminating(
        request.key, f"the namespace {request.key.namespace} is being deleted; wait until it is gone, then create it"
    )


def _forbidden(request: Request, status: Status) -> Failure | None:
    match = _NO_RIGHT.search(status.message) if status.code == 403 else None
    return Forbidden(request.key, match[1], match[2], match[3], match[4]) if match else None


def _denied(request: Request, status: Status) -> Failure | None:
    if status.code != 403 and not _DENIED.search(status.message):
        return None
    prefix, found, reason = status.message.partition("is forbidden: ")
    return Denied(request.key, _quote(request, reason if found else prefix))


def _namespace_not_found(request: Request, status: Status) -> Failure | None:
    if status.code != 404 or status.details.kind != "namespaces":
        return None
    namespace = request.key.namespace
    return NamespaceNotFound(
        request.key, f"there is no namespace {namespace}; create it: kubectl create namespace {namespace}"
    )


def _not_found(request: Request, status: Status) -> Failure | None:
    if status.code != 404 or not request.key.name or status.details.name != request.key.name:
        return None
    return NotFound(request.key, "it does not exist in the cluster; apply it first")


def _unknown_kind(request: Request, status: Status) -> Failure | None:
    if status.code != 404:
        return None
    if request.kind.kind == names.REDIS.kind:
        advice = "install its CRD: redisop crd | kubectl apply --server-side -f -"
    else:
        advice = "install the CRD that brings it"
    return UnknownKind(request.key, f"the API server has no {request.resource} in {request.kind.api_version}; {advice}")


def _already_exists(request: Request, status: Status) -> Failure | None:
    if status.code != 409 or status.reason != "AlreadyExists":
        return None
    return AlreadyExists(request.key, "there is already an object of this name; look at it before going on")


def _conflict(request: Request, status: Status) -> Failure | None:
    owned = tuple(
        Owned(re.sub(r"\\(.)", r"\1", match[1]) if match else "somebody", cause.field)
        for cause in status.details.causes
        if cause.reason == "FieldManagerConflict"
        for match in [_MANAGER.search(cause.message)]
    )
    return Conflict(request.key, owned) if owned else None


def _stale(request: Request, status: Status) -> Failure | None:
    other_uid = any(cause.field == "metadata.uid" for cause in status.details.causes)
    if status.code != 409 and not (status.code == 422 and other_uid):
        return None
    return Stale(request.key, "it has changed since it was read, or was replaced; look at it again")


def _expired(request: Request, status: Status) -> Failure | None:
    if status.code != 410:
        return None
    return Expired(request.key, "the API server no longer remembers the moment to go on from; list again")


def _invalid(request: Request, status: Status) -> Failure | None:
    if status.code not in (400, 413, 422) and not (status.code == 500 and _NEVER_VALID.match(status.message)):
        return None
    causes = [(cause.field, cause.message) for cause in status.details.causes] or [("", status.message)]
    if request.kind.kind == "Secret":  # the message may quote the value, in any encoding
        causes = [(where, _WITHHELD) for where, _ in causes]
    quoted = tuple(dict.fromkeys(Cause(where, _quote(request, message)) for where, message in causes))
    return Invalid(request.key, quoted)


def _unavailable(request: Request, status: Status) -> Failure | None:
    if status.code != 429 and status.code < 500:
        return None
    said = f"{status.code} {_quote(request, status.message)}".strip()
    text = f"the API server cannot serve it now ({said}); try again later"
    return Unavailable(request.key, text, status.details.retryAfterSeconds)


def _other(request: Request, status: Status) -> Failure:
    said = f"{status.code} {_quote(request, status.message)}".strip()
    return Failure(request.key, f"the API server does not do this ({said}); is it a Kubernetes API server?")


_MEANINGS: Final[tuple[Callable[[Request, Status], Failure | None], ...]] = (
    _unauthorized,
    _namespace_terminating,
    _forbidden,
    _denied,
    _namespace_not_found,
    _not_found,
    _unknown_kind,
    _already_exists,
    _conflict,
    _stale,
    _expired,
    _invalid,
    _unavailable,
    _other,
)


def _quote(request: Request, text: str) -> str:
    """Return `text` without the values of the Secret that was sent, and the middle of a long one left out.

    The server puts the object that it does not like in front of what it does not like about it.
    """
    for value in _secret_values(request.manifest):
        text = text.replace(value, "***")
    half = LONGEST_QUOTE // 2
    return text if len(text) <= LONGEST_QUOTE else f"{text[:half]} … {text[-half:]}"


def _secret_values(manifest: Manifest | None) -> Iterator[str]:
    if manifest is None or manifest.get("kind") != "Secret":
        return
    values: list[Any] = [*manifest.get("data", {}).values(), *manifest.get("stringData", {}).values()]
    for value in filter(None, map(str, values)):
        yield value
        try:
            yield base64.b64decode(value, validate=True).decode()
        except ValueError:
            continue
