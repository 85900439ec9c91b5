"""One request to the API server: what RBAC calls it, and what HTTP does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal
from urllib.parse import quote, urlencode

from redisop import names
from redisop.manifest import Key, Manifest

Verb = Literal["get", "list", "watch", "create", "patch", "delete"]

JSON: Final = "application/json"
APPLY: Final = "application/apply-patch+yaml"
MERGE: Final = "application/merge-patch+json"
_METHODS: Final[Mapping[Verb, str]] = {"create": "POST", "patch": "PATCH", "delete": "DELETE"}


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of one object, or of all of a kind where `key` has an empty name; `manifest` is what is sent."""

    verb: Verb
    kind: names.Kind
    key: Key
    subresource: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    content_type: str = JSON
    manifest: Manifest | None = field(default=None, repr=False)  # it may be a Secret

    @property
    def method(self) -> str:
        """The HTTP method."""
        return _METHODS.get(self.verb, "GET")

    @property
    def resource(self) -> str:
        """The resource as a Role names it, e.g. `redises/status`."""
        return "/".join(part for part in (self.kind.plural, self.subresource) if part)

    @property
    def target(self) -> str:
        """The path, from the root of the API, and the query."""
        group = "apis" if "/" in self.kind.api_version else "api"
        namespace = ("namespaces", self.key.namespace) if self.key.namespace else ()
        name = "" if self.verb == "create" else self.key.name
        parts = (group, *self.kind.api_version.split("/"), *namespace, self.kind.plural, name, self.subresource)
        path = "".join(f"/{quote(part, safe='')}" for part in parts if part)
        return f"{path}?{urlencode(self.query)}" if self.query else path
