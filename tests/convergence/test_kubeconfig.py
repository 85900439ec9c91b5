"""Which cluster the client takes, as whom, and what it says when that cannot be known."""

import base64
import json
import secrets
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml

from redisop.failures import NotConfigured, Unauthorized
from redisop.live.kube import connect
from redisop.live.kubeconfig import IN_CLUSTER
from redisop.manifest import Key
from tests.cluster.api_server import ApiServer
from tests.convergence.clock import FakeClock
from tests.convergence.conftest import ADMIN_TOKEN, client
from tests.convergence.fault_proxy import Exchange, FaultProxy
from tests.convergence.test_kube import CONFIG_MAP

SOME = Key("ConfigMap", "default", "some")
TOKEN = "very-secret-token"


def kubeconfig(**changes: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "a",
        "clusters": [{"name": "one", "cluster": {"server": "https://192.0.2.1"}}],
        "users": [{"name": "me", "user": {"token": TOKEN}}],
        "contexts": [
            {"name": "a", "context": {"cluster": "one", "user": "me"}},
            {"name": "b", "context": {"cluster": "one", "user": "me", "namespace": "prod"}},
        ],
    } | changes


@pytest.fixture(autouse=True)
def _nothing_around(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(kubeconfig()))
    return path


def test_the_named_context_decides_and_else_the_current_one(file: Path) -> None:
    current, named = connect(str(file), None, 5), connect(str(file), "b", 5)
    assert (current.context, current.namespace) == ("a", "default")
    assert (named.context, named.namespace) == ("b", "prod")


def test_the_kubeconfig_is_looked_for_where_kubectl_does(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    only_user = [{"name": "me", "user": {"token": TOKEN}}]
    other.write_text(json.dumps(kubeconfig(contexts=[], clusters=[], users=only_user) | {"current-context": "b"}))
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/absent:{file}:{other}")
    assert connect(None, None, 5).context == "b"
    monkeypatch.delenv("KUBECONFIG")
    home = tmp_path / "home" / ".kube"
    home.mkdir(parents=True)
    (home / "config").write_text(file.read_text())
    assert connect(None, None, 5).context == "a"


@pytest.mark.parametrize(
    ("content", "context", "text"),
    [
        (None, None, r"^no kubeconfig at FILE: name one with --kubeconfig or \$KUBECONFIG$"),
        ("", None, "^FILE"),
        ("{", None, "^FILE:[12] is not YAML: correct it or name another kubeconfig$"),
        ("a: b\nc: [\n", None, "^FILE:[23] is not YAML"),
        ("just text", None, "^FILE is not a kubeconfig: correct it or name another one$"),
        ("[]", None, "^FILE is not a kubeconfig"),
        ("clusters: 1", None, "^FILE is not a kubeconfig"),
        (kubeconfig(), "c", "^FILE has no entry c in contexts: choose one of a, b$"),
        (kubeconfig() | {"current-context": ""}, None, "^FILE has no current-context: name a context with --context$"),
        (kubeconfig(clusters=[]), None, "^FILE has no entry one in clusters: choose one of none$"),
        (kubeconfig(users=[]), None, "^FILE has no entry me in users"),
        (kubeconfig(users=[{"name": "me", "token": TOKEN}]), None, "^FILE is not a kubeconfig"),
        (
            kubeconfig(users=[{"name": "me", "user": {"token": TOKEN, "exec": {}, "auth-provider": {"name": "oidc"}}}]),
            None,
            None,
        ),
        (
            kubeconfig(
                users=[{"name": "me", "user": {"auth-provider": {"name": "oidc", "config": {"refresh-token": TOKEN}}}}]
            ),
            None,
            "^FILE: Invalid kube-config file. Expected key id-token$",
        ),
        (
            kubeconfig(users=[{"name": "me", "user": {"tokenFile": "/absent/token"}}]),
            None,
            "^/absent/token cannot be read: No such file or directory$",
        ),
        (
            kubeconfig(
                users=[{"name": "me", "user": {"client-certificate": "absent.crt", "client-key": "absent.key"}}]
            ),
            None,
            r"^FILE: File does not exist: /.*/absent\.crt$",
        ),
    ],
)
def test_a_kubeconfig_that_cannot_be_used_is_told_without_what_is_secret_in_it(
    tmp_path: Path, content: Any, context: str | None, text: str | None
) -> None:
    path = tmp_path / "config"
    if content is not None:
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    if text is None:
        assert connect(str(path), context, 5).context == "a"
        return
    with pytest.raises(NotConfigured, match=text.replace("FILE", str(path))) as caught:
        connect(str(path), context, 5)
    assert TOKEN not in "".join(traceback.format_exception(caught.value))


def test_a_kubeconfig_that_is_a_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotConfigured, match=f"^{tmp_path} cannot be read: Is a directory$"):
        connect(str(tmp_path), None, 5)


def test_a_kubeconfig_that_wants_no_trust_gets_none_and_no_warning(api_server: ApiServer, tmp_path: Path) -> None:
    content = json.loads(api_server.kubeconfig.read_text())
    content["clusters"][0]["cluster"] = {"server": api_server.url, "insecure-skip-tls-verify": True}
    (tmp_path / "config").write_text(json.dumps(content))
    assert connect(str(tmp_path / "config"), None, 60).get(SOME) is None


def test_without_kubeconfig_and_outside_a_pod_it_is_said_where_was_looked(tmp_path: Path) -> None:
    with pytest.raises(NotConfigured, match=f"^no kubeconfig at {tmp_path}/home/.kube/config: name one"):
        connect(None, None, 5)


@pytest.fixture
def pod(api_server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that a pod's ServiceAccount is mounted at."""
    from kubernetes.config import incluster_config

    from redisop.live import kubeconfig as module

    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", api_server.url.rpartition(":")[2])
    (tmp_path / "token").write_text(ADMIN_TOKEN)
    (tmp_path / "ca.crt").write_bytes(api_server.credentials.authority.read_bytes())
    (tmp_path / "namespace").write_text("kube-public")
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(tmp_path / "ca.crt"))
    monkeypatch.setattr(module, "IN_CLUSTER_NAMESPACE", tmp_path / "namespace")
    return tmp_path


def test_in_a_pod_its_service_account_is_taken_and_its_token_read_again_when_refused(pod: Path) -> None:
    (pod / "token").write_text("expired")
    kube = connect(None, None, 60)
    (pod / "token").write_text(ADMIN_TOKEN)
    assert kube.get(SOME) is None
    assert (kube.namespace, kube.context, kube.requests) == ("kube-public", IN_CLUSTER, 2)


def test_in_a_pod_without_a_token_it_is_said_what_to_mount(pod: Path) -> None:
    (pod / "token").unlink()
    with pytest.raises(NotConfigured, match=r"the pod's ServiceAccount cannot be used .*mount the token"):
        connect(None, None, 5)


def test_a_token_that_vanishes_while_running_is_told(pod: Path) -> None:
    (pod / "token").write_text("expired")
    kube = connect(None, None, 60)
    (pod / "token").unlink()
    with pytest.raises(NotConfigured, match="the pod's ServiceAccount cannot be used"):
        kube.get(SOME)


def test_in_a_pod_a_kubeconfig_goes_first(pod: Path, file: Path) -> None:
    assert connect(str(file), None, 5).context == "a"
    with pytest.raises(NotConfigured, match="no kubeconfig"):
        connect(None, "b", 5)


def test_the_kubernetes_package_is_not_imported_before_there_is_a_client() -> None:
    code = "import sys, redisop.live.kube; print('kubernetes' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


# A server of its own that takes client certificates and forgets quickly


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def other_server(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    file = tmp_path_factory.mktemp("authority") / "ca.crt"
    authority.cert_pem.write_to_path(file)
    forgetful = ("--etcd-compaction-interval=1s", "--feature-gates=ListFromCacheSnapshot=false")
    with ApiServer([f"--client-ca-file={file}", *forgetful]) as server:
        yield server


def test_a_client_certificate_says_who_asks(other_server: ApiServer, authority: trustme.CA, tmp_path: Path) -> None:
    def path(cert: trustme.LeafCert) -> Path:
        content = json.loads(other_server.kubeconfig.read_text())
        pems = {"client-certificate-data": cert.cert_chain_pems[0], "client-key-data": cert.private_key_pem}
        data = {name: base64.b64encode(pem.bytes()).decode() for name, pem in pems.items()}
        content["users"][0]["user"] = data
        (tmp_path / "config").write_text(json.dumps(content))
        return tmp_path / "config"

    known = authority.issue_cert("me.example", common_name="me", organization_name="system:masters")
    assert client(path(known), FakeClock()).get(SOME) is None
    unknown = client(
        path(trustme.CA().issue_cert("me.example", common_name="me", organization_name="system:masters")), FakeClock()
    )
    with pytest.raises(Unauthorized):
        unknown.get(SOME)


def test_a_list_outlives_a_server_that_forgets_while_it_is_read(other_server: ApiServer, tmp_path: Path) -> None:
    manifests = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}
        for name in "abcde"
    ]
    other_server.kubectl.apply(manifests)
    with FaultProxy(other_server.url, other_server.credentials.authority) as proxy:
        kube = client(proxy.kubeconfig(tmp_path, ADMIN_TOKEN), FakeClock(), page=2)

        def forgotten(exchange: Exchange) -> bool:
            other_server.kubectl("create", "configmap", secrets.token_hex(4), "--namespace=kube-public")  # time goes on
            return b'"code":410' in exchange.commit().data

        def once_forgotten(exchange: Exchange) -> None:
            other_server.kubectl.wait_for("the server forgets", lambda: forgotten(exchange))
            exchange.pass_on()

        proxy.inject(once_forgotten, when=lambda seen: "continue" in seen.query)
        found = kube.list(CONFIG_MAP, "default")
    assert [each["metadata"]["name"] for each in found] == list("abcde")
    assert kube.requests == 3
