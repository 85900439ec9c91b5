"""Fixtures for tests on a real API server, which starts in some seconds and needs no root.

- ``api_server``  etcd and kube-apiserver, for the session: ``.kubectl``, ``.kubeconfig``, ``.url``, ``.credentials``
- ``kubectl``     bound to a fresh namespace, ``kubectl.namespace``
- ``proxy``       a `FaultProxy` before the API server
- ``clock``       a `FakeClock`
- ``kube``        a client through ``proxy`` whose retries wait on ``clock``
- ``site``        a namespace for a `Redis`, with controllers; ``still_site`` without
"""

import secrets
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import urllib3

from redisop.api.crd import crd
from redisop.live.kube import Kube, connect
from redisop.live.kubeconfig import access
from redisop.live.session import Session
from redisop.manifest import Manifest
from tests.cluster.api_server import ApiServer
from tests.cluster.kubectl import Kubectl
from tests.convergence.clock import FakeClock
from tests.convergence.controllers import Controllers
from tests.convergence.fault_proxy import FaultProxy
from tests.convergence.site import Site

ADMIN_TOKEN = "admin-token"


@pytest.fixture(scope="session")
def api_server() -> Iterator[ApiServer]:
    with ApiServer() as server:
        yield server


@pytest.fixture
def kubectl(api_server: ApiServer) -> Kubectl:
    name = f"t-{secrets.token_hex(4)}"
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    post(api_server, "/api/v1/namespaces", namespace)
    return api_server.kubectl.in_namespace(name)


def post(api_server: ApiServer, path: str, manifest: Manifest) -> None:
    """Create an object, much faster than kubectl starts."""
    with urllib3.PoolManager(ca_certs=str(api_server.credentials.authority)) as http:
        headers = {"Authorization": f"Bearer {ADMIN_TOKEN}"}
        answer = http.request("POST", api_server.url + path, json=manifest, headers=headers)
        assert answer.status == 201, answer.data


@pytest.fixture(autouse=True)
def _no_foreign_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy that this machine needs to get out does not lead to loopback."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def proxy(api_server: ApiServer) -> Iterator[FaultProxy]:
    with FaultProxy(api_server.url, api_server.credentials.authority) as proxy:
        yield proxy


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def kube(proxy: FaultProxy, clock: FakeClock, tmp_path: Path) -> Kube:
    return client(proxy.kubeconfig(tmp_path, ADMIN_TOKEN), clock)


def client(kubeconfig: Path, clock: FakeClock, request_timeout: float = 60.0, page: int = 500) -> Kube:
    """Return a client that waits between its tries on `clock`."""
    return Kube(Session(partial(access, str(kubeconfig), None), request_timeout), page, clock)


@pytest.fixture(scope="session")
def crds(api_server: ApiServer) -> None:
    """The kind `Redis`, and two storage classes, one of which lets volumes grow."""
    api_server.kubectl.apply([crd(), storage_class("grows", True), storage_class("fixed", False)])
    wait = ("wait", "--for=condition=Established", "crd/redises.example.com")
    api_server.kubectl.wait_for(
        "the CRD is established", lambda: api_server.kubectl(*wait)
    )  # just made, it has no status


def storage_class(name: str, grows: bool) -> Manifest:
    """Return a storage class without a provisioner."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": "example.com/none",
        "allowVolumeExpansion": grows,
    }


@pytest.fixture
def site(crds: None, kubectl: Kubectl, api_server: ApiServer, proxy: FaultProxy, tmp_path: Path) -> Iterator[Site]:
    """A namespace in which controllers are at work."""
    with Controllers(api_server, kubectl.namespace):
        yield make_site(api_server, kubectl.namespace, proxy, tmp_path)


@pytest.fixture
def still_site(crds: None, kubectl: Kubectl, api_server: ApiServer, proxy: FaultProxy, tmp_path: Path) -> Site:
    """A namespace in which no controller is at work."""
    return make_site(api_server, kubectl.namespace, proxy, tmp_path)


def make_site(api_server: ApiServer, namespace: str, proxy: FaultProxy, folder: Path, token: str = ADMIN_TOKEN) -> Site:
    """Return a site whose loop comes with `token`."""
    behind = Kube(Session(partial(access, str(api_server.kubeconfig), None), 60.0))
    return Site(namespace, connect(str(proxy.kubeconfig(folder, token)), None, 60.0), behind, proxy)
