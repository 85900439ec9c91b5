"""Who the controller is. Its token is mounted into the pods that ask for it, and the Deployment's do."""

from __future__ import annotations

from redisop.install.options import NAME, Options, metadata
from redisop.manifest import Manifest


def service_account(options: Options) -> list[Manifest]:
    """Return the ServiceAccount."""
    return [
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": metadata(NAME, options.namespace),
            "automountServiceAccountToken": False,
        }
    ]


def subject(options: Options) -> Manifest:
    """Return the account as a binding names it."""
    return {"kind": "ServiceAccount", "name": NAME, "namespace": options.namespace}
