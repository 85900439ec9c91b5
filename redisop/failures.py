"""What a request to the API server can come to, other than success, as far as a decision depends on it.

Every text is one sentence that names the object and says what to do; none holds a value of a Secret. This module only
names and words; it must not know how an answer is read or when a request is sent again.
"""

from __future__ import annotations

from typing import NamedTuple

from redisop.manifest import Key


class Cause(NamedTuple):
    """One field that the API server does not accept, and why; the field is empty when it names none."""

    field: str
    message: str

    def __str__(self) -> str:
        return ": ".join(part for part in self if part)


class Owned(NamedTuple):
    """One field that another field manager owns, with the path as the API server writes it: `.spec.replicas`."""

    manager: str
    field: str

    def __str__(self) -> str:
        return f"{self.field} ({self.manager})"


class Failure(Exception):
    """A request failed, or none could be made. `key` is what it was about, None when it was about no object."""

    def __init__(self, key: Key | None, text: str) -> None:
        super().__init__(f"{key}: {text}" if key else text)
        self.key = key


class NotConfigured(Failure):
    """Nothing says which cluster is meant, or what says so cannot be used."""


class Unreachable(Failure):
    """No whole answer came: no connection, a broken one, or silence. A write may have been done."""


class Untrusted(Failure):
    """TLS fails, with credentials that were read anew: one side does not trust the other's certificate."""


class Unavailable(Failure):
    """The API server cannot serve the request now, and wants none again for `retry_after` seconds.

    A write may have been done.
    """

    def __init__(self, key: Key, text: str, retry_after: float = 0.0) -> None:
        super().__init__(key, text)
        self.retry_after = retry_after


class OutOfTime(Failure):
    """The time of the whole run was over before the request was sent."""


class Unauthorized(Failure):
    """The API server does not know who is asking, with credentials that were read anew."""


class Forbidden(Failure):
    """The user lacks a right: `verb` on `resource` (with its subresource, as in a Role) in `namespace`; None: all."""

    def __init__(self, key: Key, user: str, verb: str, resource: str, namespace: str | None) -> None:
        where = f"in the namespace {namespace}" if namespace else "in all namespaces"
        super().__init__(
            key, f'{user} may not {verb} {resource} {where}; grant the verb "{verb}" on "{resource}" there'
        )
        self.verb = verb
        self.resource = resource
        self.namespace = namespace


class Denied(Failure):
    """Admission said no: a quota, a webhook, a policy. `reason` is what it said."""

    def __init__(self, key: Key, reason: str) -> None:
        super().__init__(
            key, f"the cluster's admission does not let this in: {reason}; meet that rule, or have it changed"
        )
        self.reason = reason


class Invalid(Failure):
    """The API server does not accept what was sent; `causes` say which fields, and why."""

    def __init__(self, key: Key, causes: tuple[Cause, ...], advice: str = "correct the document") -> None:
        super().__init__(key, f"the API server refuses it as invalid: {'; '.join(map(str, causes))}; {advice}")
        self.causes = causes


class Conflict(Failure):
    """Other field managers own fields that were to be set without force."""

    def __init__(self, key: Key, fields: tuple[Owned, ...]) -> None:
        listed = ", ".join(map(str, fields))
        super().__init__(key, f"other field managers own {listed}; let them give the fields up, or apply with force")
        self.fields = fields

    @property
    def managers(self) -> tuple[str, ...]:
        """The other managers, each once, in the order of the fields."""
        return tuple(dict.fromkeys(owned.manager for owned in self.fields))


class Stale(Failure):
    """The object is not, or no longer, the one or the version that the request was meant for."""


class AlreadyExists(Failure):
    """There is an object of this name, made by whomever: after a lost reply it may be our own. Look at it."""


class NotFound(Failure):
    """There is no such object to change."""


class UnknownKind(Failure):
    """The API server has no such kind: its CRD is not installed, or not in this version."""


class NamespaceNotFound(Failure):
    """The namespace does not exist."""


class NamespaceTerminating(Failure):
    """The namespace is being deleted and takes nothing new."""


class Expired(Failure):
    """The moment that a watch was to start from is no longer remembered. List again."""
