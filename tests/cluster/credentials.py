"""Certificates, tokens and kubeconfig files of a test cluster."""

import json
from collections.abc import Mapping
from pathlib import Path

import trustme

ADMINISTRATORS = "system:masters"


class Credentials:
    """The files under ``folder`` by which a cluster's parts and people know each other.

    ``users`` maps the name of a kubeconfig file to (user name, group or ""); the token of NAME is ``NAME-token``.
    """

    def __init__(self, folder: Path, server: str, host_names: list[str], users: Mapping[str, tuple[str, str]]) -> None:
        self.folder = folder
        self.server = server
        folder.mkdir(parents=True)
        authority = trustme.CA()
        self.authority = folder / "ca.crt"
        authority.cert_pem.write_to_path(self.authority)
        serving = authority.issue_cert(*host_names)
        self.serving_key = folder / "serving.key"
        serving.private_key_pem.write_to_path(self.serving_key)
        self.serving_certificate = folder / "serving.crt"
        self.serving_certificate.write_bytes(b"".join(pem.bytes() for pem in serving.cert_chain_pems))
        self.account_key = folder / "service-account.key"
        authority.issue_cert("service-accounts").private_key_pem.write_to_path(self.account_key)
        self.tokens = folder / "tokens.csv"
        self.tokens.write_text(
            "".join(f'{token(name)},{user},{name},"{group}"\n' for name, (user, group) in users.items())
        )
        for name in users:
            self.write_kubeconfig(name, token(name))

    def kubeconfig(self, name: str) -> Path:
        """Return the path of NAME's kubeconfig file."""
        return self.folder / f"{name}.kubeconfig"

    def write_kubeconfig(self, name: str, bearer_token: str) -> Path:
        """Write a kubeconfig file that presents ``bearer_token``; return its path."""
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [
                {"name": "test", "cluster": {"server": self.server, "certificate-authority": str(self.authority)}}
            ],
            "users": [{"name": name, "user": {"token": bearer_token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": name, "namespace": "default"}}],
        }
        self.kubeconfig(name).write_text(json.dumps(content))
        return self.kubeconfig(name)


def token(name: str) -> str:
    """Return the bearer token of the kubeconfig NAME."""
    return f"{name}-token"
