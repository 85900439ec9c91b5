"""Fixtures for tests on a real Kubernetes. `pytest tests/cluster`, as root, sets everything up that they need.

For the session
- ``cluster``      a Cluster of three nodes: ``cluster.kill("n2")``, ``start``, ``freeze``, ``thaw``, ``cut``, ``join``.
                   What a test broke is healed after it. The test process lives in the control plane's network: pods and
                   Services are reached from it. A node is lost after 16 s of silence, its pods are evicted 10 s later.
- ``audit``        ``since = audit.bookmark()``; ``audit.writes(since, user=…, namespace=…)`` tells who wrote what
- ``api_server``   etcd and kube-apiserver alone, started in 2 s, without root: ``.kubectl``, ``.kubeconfig``, ``.url``,
                   ``.audit``

For each test
- ``kubectl``      in a fresh namespace that enforces the restricted Pod Security Standard: ``kubectl("get", "pods")``,
                   ``.apply(manifests or YAML)``, ``.get(kind, name)``, ``.list(kind, selector)``, ``.namespace``,
                   ``.wait_for("two pods", lambda: …, seconds)``
- ``pods``         ``.wait_until_ready(*names)``, ``.are_ready(*names)``, ``.address(name)``, ``.node(name)``,
                   ``.restarts(name)``, ``.delete(name, force=False)``, ``.kill_container(name)``
- ``redis_cli``    ``redis_cli("my-redis-0", "GET", "key")`` or ``("svc/my-redis-master", …)``, ``.info(target)``,
                   ``.client(target)`` for redis-py; the password is that of the Secret which the pod mounts
- ``managed``      ``shop = managed(replicas=2)``, then ``shop.up()`` has redisop bring it up, and see ``managed.py``
- ``proxy``        a `FaultProxy` before the API server; ``proxy.kubeconfig(folder, "admin-token")`` leads through it
- ``writer``       ``w = writer("svc/my-redis-master", rate=100)``; then ``w.stop()``, ``w.longest_gap(since)``,
                   ``w.lost(client.keys())``

Tests marked ``full`` run with ``--full`` only. A failed test shows pods, events and logs of its namespace. Tests in
other folders that want ``api_server`` import it from here.
"""

import re
import secrets
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.cluster import network
from tests.cluster.api_server import ApiServer
from tests.cluster.audit import AuditLog
from tests.cluster.cluster import Cluster
from tests.cluster.instance import IMAGES, redisop
from tests.cluster.kubectl import Kubectl
from tests.cluster.managed import Managed
from tests.cluster.pods import Pods
from tests.cluster.redis_cli import RedisCli
from tests.cluster.writer import Writer
from tests.convergence.fault_proxy import FaultProxy

NODE_LOST_SECONDS = 16
EVICT_SECONDS = 10


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_itemcollected(item: pytest.Item) -> None:
    if "api_server" in getattr(item, "fixturenames", ()):
        item.add_marker(pytest.mark.xdist_group("api-server"))


_shared: list[Cluster] = []


def pytest_sessionstart(session: pytest.Session) -> None:
    """Start the one cluster that the workers share, before there are workers."""
    if session.config.getoption("numprocesses", None) and not session.config.getoption("collectonly"):
        _shared.append(new_cluster())
        _shared[0].up()


def pytest_sessionfinish(session: pytest.Session) -> None:
    while _shared:
        _shared.pop().down()


def new_cluster() -> Cluster:
    return Cluster(node_lost_after=NODE_LOST_SECONDS, evict_after=EVICT_SECONDS)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    report = yield
    kubectl = getattr(item, "funcargs", {}).get("kubectl")
    if report.failed and report.when == "call" and isinstance(kubectl, Kubectl):
        report.sections.append((f"namespace {kubectl.namespace}", kubectl.dump()))
    return report


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    cluster = new_cluster()
    if hasattr(request.config, "workerinput"):
        cluster.enter()
        yield cluster
        cluster.leave()
        return
    with cluster:
        cluster.enter()
        yield cluster


@pytest.fixture(autouse=True)
def _healed(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "cluster" in request.fixturenames:
        request.getfixturevalue("cluster").heal()


@pytest.fixture(scope="session")
def audit(cluster: Cluster) -> AuditLog:
    return cluster.audit


@pytest.fixture(scope="session")
def api_server(request: pytest.FixtureRequest) -> Iterator[ApiServer]:
    # With a cluster in the same session this process moves into its network, where another loopback is.
    if any("cluster" in getattr(item, "fixturenames", ()) for item in request.session.items):
        request.getfixturevalue("cluster")
    with ApiServer() as server:
        yield server


@pytest.fixture(scope="session")
def crd(cluster: Cluster) -> None:
    """The kind `Redis`."""
    cluster.kubectl.apply(redisop("crd"))
    wait = ("wait", "--for=condition=Established", "crd/redises.example.com")
    cluster.kubectl.wait_for("the CRD is established", lambda: cluster.kubectl(*wait))  # just made, it has no status


@pytest.fixture
def kubectl(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Kubectl]:
    words = re.sub("[^a-z0-9]+", "-", request.node.name.lower().removeprefix("test_"))
    name = f"{words[:40]}-{secrets.token_hex(2)}".lstrip("-")
    kubectl = cluster.kubectl.in_namespace(name)
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    cluster.kubectl.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
    kubectl.wait_for("its service account", lambda: kubectl.get("serviceaccount", "default"))
    yield kubectl
    # Deleted namespaces take no new pods; those that are there need not say goodbye.
    cluster.kubectl("delete", "namespace", name, "--wait=false")
    kubectl("delete", "pods", "--all", "--grace-period=0", "--force", "--wait=false")


@pytest.fixture
def pods(kubectl: Kubectl) -> Pods:
    return Pods(kubectl)


@pytest.fixture
def redis_cli(cluster: Cluster, kubectl: Kubectl) -> Iterator[RedisCli]:
    redis_cli = RedisCli(cluster, kubectl)
    yield redis_cli
    redis_cli.close()


@pytest.fixture
def writer(cluster: Cluster, redis_cli: RedisCli) -> Iterator[Callable[..., Writer]]:
    writers: list[Writer] = []

    def start(target: str, node: str | None = None, rate: float = 100) -> Writer:
        writers.append(Writer(cluster, redis_cli.address(target), redis_cli.password(target), node, rate))
        return writers[-1]

    yield start
    for each in writers:
        each.stop()


@pytest.fixture
def managed(crd: None, kubectl: Kubectl, pods: Pods, redis_cli: RedisCli) -> Callable[..., Managed]:
    def make(name: str = "shop", **spec: Any) -> Managed:
        document = {
            "apiVersion": "example.com/v1",
            "kind": "Redis",
            "metadata": {"name": name},
            "spec": {"image": IMAGES["7.0"], "memory": "64Mi", **spec},
        }
        return Managed(kubectl, pods, redis_cli, document)

    return make


@pytest.fixture
def proxy(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultProxy]:
    for name in ("http_proxy", "https_proxy", "all_proxy"):  # what leads out of this machine does not lead here
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    with FaultProxy(network.API_URL, cluster.kubeconfig.parent / "ca.crt") as proxy:
        yield proxy
