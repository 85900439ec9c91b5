"""What the client makes of refusals, and of a network and an API server that have a bad day."""

import contextlib
import json
import socket
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trustme

from redisop import names
from redisop.failures import (
    AlreadyExists,
    Denied,
    Failure,
    Forbidden,
    Invalid,
    NamespaceNotFound,
    NamespaceTerminating,
    NotConfigured,
    OutOfTime,
    Stale,
    Unauthorized,
    Unavailable,
    UnknownKind,
    Unreachable,
    Untrusted,
)
from redisop.live.kube import Kube
from redisop.live.retry import TRIES
from redisop.manifest import Key, Manifest
from tests.cluster.api_server import ApiServer
from tests.cluster.kubectl import Kubectl
from tests.convergence.clock import FakeClock
from tests.convergence.conftest import ADMIN_TOKEN, client, post
from tests.convergence.fault_proxy import FaultProxy, answer, cut, drop_reply, hold, in_pieces_of, reset
from tests.convergence.test_kube import CONFIG_MAP, POD_MONITOR, claim, config_map, event, key_of, stateful_set

PASSWORD = "hunter2 $'\"é"
INTERNAL_ERROR = {
    "kind": "Status",
    "apiVersion": "v1",
    "status": "Failure",
    "message": "Internal error occurred: rpc error: etcdserver: leader changed",
    "reason": "InternalError",
    "code": 500,
}
ALREADY_EXISTS = {
    "kind": "Status",
    "apiVersion": "v1",
    "status": "Failure",
    "message": 'configmaps "one" already exists',
    "reason": "AlreadyExists",
    "details": {"name": "one", "kind": "configmaps"},
    "code": 409,
}


def status_of(kubectl: Kubectl) -> Manifest:
    return {name: value for name, value in stateful_set(kubectl).items() if name != "spec"} | {
        "status": {"replicas": 0}
    }


# What the API server refuses


@pytest.mark.parametrize(
    ("verb", "resource", "call"),
    [
        ("get", "configmaps", lambda kube, kubectl: kube.get(key_of(kubectl))),
        ("list", "configmaps", lambda kube, kubectl: kube.list(CONFIG_MAP, kubectl.namespace)),
        ("watch", "configmaps", lambda kube, kubectl: next(kube.watch(CONFIG_MAP, kubectl.namespace, None, "1", 5))),
        ("create", "configmaps", lambda kube, kubectl: kube.create(config_map(kubectl))),
        ("patch", "configmaps", lambda kube, kubectl: kube.apply(config_map(kubectl), force=True)),
        ("patch", "configmaps", lambda kube, kubectl: kube.patch(key_of(kubectl), {"data": {"a": "1"}})),
        ("patch", "statefulsets/status", lambda kube, kubectl: kube.apply_status(status_of(kubectl))),
        ("delete", "configmaps", lambda kube, kubectl: kube.delete(key_of(kubectl), "some-uid")),
    ],
)
def test_a_missing_right_is_named_as_a_role_would_grant_it(
    proxy: FaultProxy,
    clock: FakeClock,
    kubectl: Kubectl,
    tmp_path: Path,
    verb: str,
    resource: str,
    call: Callable[[Kube, Kubectl], object],
) -> None:
    kube = client(proxy.kubeconfig(tmp_path, account(kubectl)), clock)
    with pytest.raises(Forbidden) as caught:
        call(kube, kubectl)
    failure = caught.value
    assert (failure.verb, failure.resource, failure.namespace) == (verb, resource, kubectl.namespace)
    assert f"system:serviceaccount:{kubectl.namespace}:ci may not {verb} {resource}" in str(failure)
    assert (kube.requests, clock.slept) == (1, [])


def test_the_right_to_create_is_named_when_an_apply_lacks_only_that(
    proxy: FaultProxy, clock: FakeClock, kubectl: Kubectl, tmp_path: Path
) -> None:
    kubectl("create", "role", "ci", "--verb=patch", "--resource=configmaps")
    kubectl("create", "rolebinding", "ci", "--role=ci", f"--serviceaccount={kubectl.namespace}:ci")
    kube = client(proxy.kubeconfig(tmp_path, account(kubectl)), clock)
    with pytest.raises(Forbidden) as caught:
        kube.apply(config_map(kubectl), force=True)
    assert caught.value.verb == "create"
    kubectl.apply(config_map(kubectl, a="1"))
    assert not kube.apply(config_map(kubectl, a="1"), force=True).created


def test_a_missing_right_to_list_everywhere_says_everywhere(
    proxy: FaultProxy, clock: FakeClock, kubectl: Kubectl, tmp_path: Path
) -> None:
    kube = client(proxy.kubeconfig(tmp_path, account(kubectl)), clock)
    with pytest.raises(
        Forbidden, match=r'^ConfigMap: .* may not list configmaps in all namespaces; grant the verb "list"'
    ):
        kube.list(CONFIG_MAP, None)


def account(kubectl: Kubectl) -> str:
    """Make the ServiceAccount `ci`, which has no right by itself; return its token."""
    kubectl("create", "serviceaccount", "ci")
    return kubectl("create", "token", "ci").strip()


def test_a_namespace_that_does_not_exist_is_named(kube: Kube, kubectl: Kubectl) -> None:
    manifest = config_map(kubectl)
    manifest["metadata"]["namespace"] = "absent"
    for call in (lambda: kube.apply(manifest, force=True), lambda: kube.create(manifest)):
        with pytest.raises(
            NamespaceNotFound, match="there is no namespace absent; create it: kubectl create namespace"
        ):
            call()
    kube.delete(Key("ConfigMap", "absent", "one"), "some-uid")
    assert kube.requests == 3


def test_a_namespace_that_is_being_deleted_takes_nothing_new(kube: Kube, kubectl: Kubectl) -> None:
    kubectl("delete", "namespace", kubectl.namespace, "--wait=false")
    with pytest.raises(NamespaceTerminating, match=f"the namespace {kubectl.namespace} is being deleted; wait"):
        kube.apply(config_map(kubectl), force=True)
    assert kube.requests == 1


def test_a_kind_that_is_not_installed_is_not_an_absent_object(kube: Kube, kubectl: Kubectl, clock: FakeClock) -> None:
    metadata = {"name": "one", "namespace": kubectl.namespace}
    monitor = {"apiVersion": POD_MONITOR.api_version, "kind": "PodMonitor", "metadata": metadata}
    for call in (
        lambda: kube.list(POD_MONITOR, kubectl.namespace),
        lambda: kube.get(Key("PodMonitor", kubectl.namespace, "one")),
        lambda: kube.apply(monitor, force=True),
        lambda: kube.delete(Key("PodMonitor", kubectl.namespace, "one"), "some-uid"),
    ):
        with pytest.raises(UnknownKind, match=r"^PodMonitor/.*no podmonitors in monitoring.coreos.com/v1; install"):
            call()
    with pytest.raises(UnknownKind, match=r"^Redis/.* install its CRD: redisop crd \| kubectl apply"):
        kube.list(names.REDIS._replace(api_version="example.com/v1alpha1"), kubectl.namespace)


def test_what_is_invalid_is_told_field_by_field(kube: Kube, kubectl: Kubectl) -> None:
    manifest = stateful_set(kubectl)
    manifest["spec"] |= {"replicas": -1, "selector": {"matchLabels": {"app": "other"}}}
    with pytest.raises(Invalid) as caught:
        kube.apply(manifest, force=True)
    assert {cause.field for cause in caught.value.causes} == {"spec.replicas", "spec.template.metadata.labels"}
    assert "spec.replicas: Invalid value: -1: must be greater than or equal to 0" in str(caught.value)


def test_an_immutable_field_is_named(kube: Kube, kubectl: Kubectl) -> None:
    kube.apply(stateful_set(kubectl), force=True)
    manifest = stateful_set(kubectl)
    manifest["spec"]["serviceName"] = "other"
    with pytest.raises(Invalid) as caught:
        kube.apply(manifest, force=True)
    assert [cause.field for cause in caught.value.causes] == ["spec"]
    assert "updates to statefulset spec for fields other than" in str(caught.value)


def test_a_field_that_the_kind_does_not_have_is_invalid_and_not_tried_again(kube: Kube, kubectl: Kubectl) -> None:
    with pytest.raises(Invalid, match=r"ConfigMap/.*/one: .*\.colour: field not declared in schema"):
        kube.apply(config_map(kubectl) | {"colour": "red"}, force=True)
    with pytest.raises(Invalid, match="unknown field"):
        kube.create(config_map(kubectl) | {"colour": "red"})
    assert kube.requests == 2


def test_a_long_answer_is_cut_where_it_does_not_matter(kube: Kube, kubectl: Kubectl) -> None:
    kubectl.apply(config_map(kubectl, text="x" * 5000))
    with pytest.raises(Invalid, match='unknown field "colour"') as caught:
        kube.patch(key_of(kubectl), {"colour": "red"})
    assert len(str(caught.value)) < 700


def test_a_quota_that_is_used_up_is_quoted(kube: Kube, kubectl: Kubectl) -> None:
    kubectl("create", "quota", "small", "--hard=count/configmaps=0")
    counted = {"status": {"hard": {"count/configmaps": "0"}, "used": {"count/configmaps": "0"}}}
    kubectl("patch", "quota", "small", "--subresource=status", "--type=merge", f"--patch={json.dumps(counted)}")
    kubectl.wait_for("the quota counts", lambda: refusal(lambda: kube.apply(config_map(kubectl), True, dry_run=True)))
    with pytest.raises(Denied, match=r"ConfigMap/.*/one: .* exceeded quota: small, requested: count/configmaps=1"):
        kube.apply(config_map(kubectl), force=True)


def test_a_policy_that_says_no_is_quoted(kube: Kube, kubectl: Kubectl, api_server: ApiServer) -> None:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    selector = {"matchLabels": {"kubernetes.io/metadata.name": kubectl.namespace}}
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": kubectl.namespace},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": "false", "message": "not on a Friday"}],
        },
    }
    binding = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": kubectl.namespace},
        "spec": {
            "policyName": kubectl.namespace,
            "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": selector},
        },
    }
    api_server.kubectl.apply([policy, binding])
    kubectl.wait_for("the policy rules", lambda: refusal(lambda: kube.apply(config_map(kubectl), True, dry_run=True)))
    with pytest.raises(Denied, match="not on a Friday"):
        kube.apply(config_map(kubectl), force=True)


def test_a_webhook_that_says_no_is_quoted_and_one_that_is_down_is_tried_again(
    kube: Kube, kubectl: Kubectl, api_server: ApiServer, proxy: FaultProxy
) -> None:
    webhook = {
        "name": "no.example.com",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": kubectl.namespace}},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}],
    }
    configuration = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": kubectl.namespace},
        "webhooks": [webhook],
    }
    api_server.kubectl.apply(configuration)
    kubectl.wait_for("the webhook is asked", lambda: refusal(lambda: kube.apply(config_map(kubectl), True, True)))
    before = kube.requests
    with pytest.raises(Unavailable, match=r'failed calling webhook "no\.example\.com"'):
        kube.apply(config_map(kubectl), force=True)
    assert kube.requests - before == TRIES
    no = {  # of staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/errors/statuserror.go
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": 'admission webhook "no.example.com" denied the request: not on a Friday',
        "code": 400,
    }
    proxy.inject(answer(400, no))
    with pytest.raises(Denied, match="not on a Friday"):
        kube.apply(config_map(kubectl), force=True)


def refusal(call: Callable[[], object]) -> Failure | None:
    try:
        call()
    except Failure as failure:
        return failure
    return None


@pytest.mark.parametrize(
    "data", [{"password": PASSWORD}, {"password": {"x": "hunter2"}}, {PASSWORD[:1] + " ": "aHVudGVy"}]
)
@pytest.mark.parametrize("send", [Kube.create, partial(Kube.apply, force=True)], ids=["create", "apply"])
def test_the_value_of_a_secret_is_in_no_error(
    kube: Kube, kubectl: Kubectl, data: dict[str, Any], send: Callable[[Kube, Manifest], object]
) -> None:
    metadata = {"name": "one", "namespace": kubectl.namespace}
    manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}
    with pytest.raises(Invalid) as caught:
        send(kube, manifest)
    shown = f"{caught.value} {caught.value!r} {caught.value.__context__!r}"
    assert not [value for value in ("hunter", "aHVudGVy") if value in shown]
    assert str(caught.value).startswith(f"Secret/{kubectl.namespace}/one: ")


def test_the_value_of_a_secret_is_taken_out_of_what_a_webhook_says(
    kube: Kube, kubectl: Kubectl, proxy: FaultProxy
) -> None:
    metadata = {"name": "one", "namespace": kubectl.namespace}
    manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"password": "aHVudGVyMg=="}}
    message = 'admission webhook "x" denied the request: weak: aHVudGVyMg== is hunter2'
    proxy.inject(answer(403, {"kind": "Status", "message": message, "code": 403}))
    with pytest.raises(Denied, match=r"weak: \*\*\* is \*\*\*;"):
        kube.apply(manifest, force=True)


# Who asks


def test_a_token_file_that_was_rewritten_is_read_again_when_the_old_token_is_refused(
    proxy: FaultProxy, clock: FakeClock, kubectl: Kubectl, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text(f"{ADMIN_TOKEN}\n")
    kube = client(proxy.kubeconfig(tmp_path, tokenFile=str(file)), clock)
    assert kube.get(key_of(kubectl)) is None
    proxy.inject(lambda exchange: exchange.answer(401, {}, b"Unauthorized"), when=bearer(ADMIN_TOKEN), times=99)
    new = account(kubectl)
    kubectl("create", "role", "ci", "--verb=get", "--resource=configmaps")
    kubectl("create", "rolebinding", "ci", "--role=ci", f"--serviceaccount={kubectl.namespace}:ci")
    file.write_text(new)
    assert kube.get(key_of(kubectl)) is None
    assert kube.get(key_of(kubectl)) is None
    assert (kube.requests, clock.slept) == (4, [])


def bearer(token: str) -> Callable[[Any], bool]:
    return lambda seen: seen.headers["Authorization"] == f"Bearer {token}"


def test_credentials_that_stay_refused_are_an_error_after_one_more_try(
    proxy: FaultProxy, clock: FakeClock, kubectl: Kubectl, tmp_path: Path
) -> None:
    kube = client(proxy.kubeconfig(tmp_path, "expired"), clock)
    with pytest.raises(Unauthorized, match=r"ConfigMap/.*/one: the API server does not accept the credentials; log in"):
        kube.get(key_of(kubectl))
    assert (kube.requests, clock.slept) == (2, [])


def test_many_threads_whose_token_expired_read_the_new_one_once(
    proxy: FaultProxy, clock: FakeClock, kubectl: Kubectl, tmp_path: Path
) -> None:
    plugin = Plugin(tmp_path)
    plugin.says("expired")
    kube = client(proxy.kubeconfig(tmp_path) and plugin.kubeconfig(proxy), clock)
    plugin.says(ADMIN_TOKEN)
    found: list[Manifest | None] = []
    threads = [threading.Thread(target=lambda: found.append(kube.get(key_of(kubectl)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [None] * 4
    assert plugin.runs() == 2


class Plugin:
    """A program that gets credentials for a kubeconfig."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._program = folder / "plugin"
        self._log = folder / "plugin.log"

    def says(self, token: str, **more: str) -> None:
        credential = {
            "apiVersion": "client.authentication.k8s.io/v1",
            "kind": "ExecCredential",
            "status": {"token": token} | more,
        }
        self._write(f"cat <<'EOF'\n{json.dumps(credential)}\nEOF\n")

    def fails(self, text: str) -> None:
        self._write(f"echo '{text}' >&2\nexit 7\n")

    def _write(self, text: str) -> None:
        self._program.write_text(f"#!/bin/sh\necho run >>{self._log}\n{text}")
        self._program.chmod(0o755)

    def runs(self) -> int:
        return self._log.read_text().count("run")

    def kubeconfig(self, proxy: FaultProxy) -> Path:
        how = {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": str(self._program),
            "interactiveMode": "Never",
        }
        path = proxy.kubeconfig(self.folder)
        content = json.loads(path.read_text())
        content["users"][0]["user"] = {"exec": how}
        path.write_text(json.dumps(content))
        return path


def test_a_plugin_gives_the_token_and_is_asked_again_before_it_expires(
    proxy: FaultProxy, clock: FakeClock, kubectl: Kubectl, tmp_path: Path
) -> None:
    plugin = Plugin(tmp_path)
    plugin.says("not used", expirationTimestamp="2020-01-01T00:00:00Z")
    kube = client(plugin.kubeconfig(proxy), clock)
    plugin.says(ADMIN_TOKEN, expirationTimestamp="2999-01-01T00:00:00Z")
    assert kube.get(key_of(kubectl)) is None
    assert kube.get(key_of(kubectl)) is None
    assert (kube.requests, plugin.runs()) == (2, 2)


def test_a_plugin_that_fails_is_quoted(proxy: FaultProxy, clock: FakeClock, tmp_path: Path) -> None:
    plugin = Plugin(tmp_path)
    plugin.fails("run: aws sso login")
    with pytest.raises(
        NotConfigured, match=r"proxy.kubeconfig: the plugin /.*/plugin of the user proxy failed: .*aws sso"
    ):
        client(plugin.kubeconfig(proxy), clock)


def test_a_server_that_the_kubeconfig_does_not_trust_is_not_spoken_to(
    api_server: ApiServer, clock: FakeClock, kubectl: Kubectl, tmp_path: Path
) -> None:
    with FaultProxy(api_server.url, api_server.credentials.authority, trustme.CA(), "other.example") as proxy:
        kube = client(proxy.kubeconfig(tmp_path, ADMIN_TOKEN), clock)
        with pytest.raises(
            Untrusted, match=r"cannot be trusted .*mismatch.*; check the certificates in the kubeconfig"
        ):
            kube.get(key_of(kubectl))
        assert proxy.seen == []
        assert clock.slept == []


def test_a_server_that_hangs_up_during_the_handshake_is_down_and_not_untrusted(
    api_server: ApiServer, clock: FakeClock, tmp_path: Path
) -> None:
    greeted: list[bytes] = []

    def hang_up(listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                greeted.append(connection.recv(4096))
                connection.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=hang_up, args=(listener,), daemon=True).start()
        path = tmp_path / "config"
        server = f"https://127.0.0.1:{listener.getsockname()[1]}"
        path.write_text(api_server.kubeconfig.read_text().replace(api_server.url, server))
        with pytest.raises(Unreachable):
            client(path, clock).list(CONFIG_MAP, None)
    assert len(greeted) == TRIES


def test_an_authority_that_was_replaced_is_read_again(
    api_server: ApiServer, clock: FakeClock, kubectl: Kubectl, tmp_path: Path
) -> None:
    old, new = trustme.CA(), trustme.CA()
    with FaultProxy(api_server.url, api_server.credentials.authority, old) as proxy:
        stale = proxy.kubeconfig(tmp_path, ADMIN_TOKEN).read_text()
    with FaultProxy(api_server.url, api_server.credentials.authority, new) as proxy:
        path = proxy.kubeconfig(tmp_path, ADMIN_TOKEN)
        fresh = path.read_text()
        content = json.loads(fresh)
        content["clusters"][0]["cluster"] |= {
            "certificate-authority-data": json.loads(stale)["clusters"][0]["cluster"]["certificate-authority-data"]
        }
        path.write_text(json.dumps(content))
        kube = client(path, clock)
        path.write_text(fresh)
        assert kube.get(key_of(kubectl)) is None
        assert clock.slept == []


# A bad day of the network or the server

CALLS: dict[str, Callable[[Kube, Kubectl], object]] = {
    "get": lambda kube, kubectl: kube.get(key_of(kubectl)),
    "list": lambda kube, kubectl: kube.list(CONFIG_MAP, kubectl.namespace),
    "watch": lambda kube, kubectl: next(kube.watch(CONFIG_MAP, kubectl.namespace, None, "0", 60)),
    "create": lambda kube, kubectl: kube.create(config_map(kubectl, "new")),
    "apply": lambda kube, kubectl: kube.apply(config_map(kubectl, a="2"), force=True),
    "patch": lambda kube, kubectl: kube.patch(key_of(kubectl), {"data": {"a": "2"}}),
    "delete": lambda kube, kubectl: kube.delete(key_of(kubectl), "some-uid"),
}


@pytest.fixture
def one(api_server: ApiServer, kubectl: Kubectl) -> None:
    post(api_server, f"/api/v1/namespaces/{kubectl.namespace}/configmaps?fieldManager=redisop", config_map(kubectl))


@pytest.mark.usefixtures("one")
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "fault",
    [
        answer(429, "Too many requests, please try again later.", retry_after=3),
        answer(500, INTERNAL_ERROR),
        answer(502, "<html>bad gateway</html>"),
        answer(503),
        answer(504),
        reset,
    ],
    ids=["429", "500", "502", "503", "504", "reset"],
)
def test_a_bad_moment_is_outlived(
    kube: Kube, kubectl: Kubectl, proxy: FaultProxy, clock: FakeClock, fault: Any, call: str
) -> None:
    proxy.inject(fault, times=2)
    try:
        CALLS[call](kube, kubectl)
    except Stale:  # as good an answer to a delete as any
        assert call == "delete"
    assert (kube.requests, len(clock.slept)) == (3, 2)


def test_the_server_is_left_alone_as_long_as_it_asks_and_a_little_longer_each_time_otherwise(
    kube: Kube, kubectl: Kubectl, proxy: FaultProxy, clock: FakeClock
) -> None:
    proxy.inject(answer(429, retry_after=30), times=2)
    proxy.inject(answer(503, {"kind": "Status", "details": {"retryAfterSeconds": 20}}), at=3)
    proxy.inject(answer(503), at=4, times=2)
    kube.get(key_of(kubectl))
    first, second, third, fourth, fifth = clock.slept
    assert 30 <= first <= 30.25
    assert 30 <= second <= 30.5
    assert 20 <= third <= 21
    assert 0 <= fourth <= 2
    assert 0 <= fifth <= 4
    assert len({first - 30, second - 30, third - 20, fourth, fifth}) == 5


@pytest.mark.parametrize(
    ("fault", "kind", "text"),
    [
        (answer(429, "slow down"), Unavailable, r"cannot serve it now \(429 slow down\); try again later"),
        (answer(503), Unavailable, r"cannot serve it now \(503\)"),
        (answer(200, "<html>log in</html>"), Unreachable, "gives an answer that is not whole JSON"),
        (reset, Unreachable, "the API server http://127.0.0.1:.* of the context proxy broke the connection"),
        (cut(10), Unreachable, "broke the connection"),
        (cut(10, cleanly=True), Unreachable, "not whole JSON"),
    ],
)
def test_a_bad_day_is_told_after_a_bounded_number_of_tries(
    kube: Kube, kubectl: Kubectl, proxy: FaultProxy, fault: Any, kind: type[Failure], text: str
) -> None:
    proxy.inject(fault, times=99)
    with pytest.raises(kind, match=f"^ConfigMap/{kubectl.namespace}/one: .*{text}"):
        kube.get(key_of(kubectl))
    assert kube.requests == len(proxy.seen) == TRIES


def test_a_server_that_comes_back_is_found_and_one_that_does_not_is_told(
    kube: Kube, kubectl: Kubectl, proxy: FaultProxy, clock: FakeClock
) -> None:
    assert kube.get(key_of(kubectl)) is None
    with proxy.down():
        with pytest.raises(Unreachable, match=r"takes no connection \(Connection refused\); check that it runs"):
            kube.get(key_of(kubectl))
        assert kube.requests == 1 + TRIES
    clock.slept.clear()
    outage = proxy.down()
    outage.__enter__()
    clock.meanwhile = lambda: len(clock.slept) == 3 and outage.__exit__(None, None, None)
    assert kube.get(key_of(kubectl)) is None
    assert len(clock.slept) == 3


def test_a_name_that_cannot_be_resolved_is_told(clock: FakeClock, proxy: FaultProxy, tmp_path: Path) -> None:
    path = proxy.kubeconfig(tmp_path, ADMIN_TOKEN)
    path.write_text(path.read_text().replace("127.0.0.1", "api.invalid"))
    with pytest.raises(Unreachable, match=r"http://api\.invalid:.* has a name that cannot be resolved"):
        client(path, clock).list(CONFIG_MAP, None)


def test_what_is_no_kubernetes_is_told_and_its_redirects_are_not_followed(
    kube: Kube, kubectl: Kubectl, proxy: FaultProxy
) -> None:
    proxy.inject(lambda exchange: exchange.answer(302, {"Location": proxy.url + "/login"}, b""))
    with pytest.raises(Failure, match=r"does not do this \(302\); is it a Kubernetes API server"):
        kube.get(key_of(kubectl))
    assert len(proxy.seen) == 1


# Replies that were lost: the write is done, and nobody knows


@pytest.mark.parametrize("fault", [drop_reply, cut(20), in_pieces_of(1)])
def test_an_apply_whose_reply_was_lost_is_done_once(
    kube: Kube, kubectl: Kubectl, proxy: FaultProxy, fault: Any
) -> None:
    proxy.inject(fault)
    applied = kube.apply(config_map(kubectl, a="1"), force=False)
    [found] = kubectl.list("configmap")
    assert found["data"] == applied.manifest["data"] == {"a": "1"}
    assert found["metadata"]["resourceVersion"] == applied.manifest["metadata"]["resourceVersion"]


def test_a_create_whose_reply_was_lost_says_that_the_object_exists(
    kube: Kube, kubectl: Kubectl, proxy: FaultProxy
) -> None:
    proxy.inject(drop_reply)
    with pytest.raises(AlreadyExists):
        kube.create(config_map(kubectl, a="1"))
    assert [each["data"] for each in kubectl.list("configmap")] == [{"a": "1"}]
    assert kube.requests == 2


def test_a_delete_whose_reply_was_lost_is_done(kube: Kube, kubectl: Kubectl, proxy: FaultProxy) -> None:
    stored = kube.create(config_map(kubectl))
    proxy.inject(drop_reply)
    kube.delete(key_of(kubectl), stored["metadata"]["uid"])
    assert kubectl.list("configmap") == []
    assert kube.requests == 3


def test_a_patch_whose_reply_was_lost_is_done(kube: Kube, kubectl: Kubectl, proxy: FaultProxy) -> None:
    kubectl.apply(claim(kubectl))
    proxy.inject(drop_reply)
    which = Key("PersistentVolumeClaim", kubectl.namespace, "data-one-0")
    assert kube.patch(which, {"metadata": {"labels": {"a": "1"}}})["metadata"]["labels"] == {"a": "1"}


def test_a_status_whose_reply_was_lost_is_done(kube: Kube, kubectl: Kubectl, proxy: FaultProxy) -> None:
    kube.apply(stateful_set(kubectl), force=True)
    proxy.inject(drop_reply)
    assert kube.apply_status(status_of(kubectl))["status"]["replicas"] == 0


def test_an_event_whose_reply_was_lost_is_not_made_twice(kube: Kube, kubectl: Kubectl, proxy: FaultProxy) -> None:
    proxy.inject(drop_reply)
    kube.event(event(kubectl))
    assert kube.requests == len(kubectl.list("events.events.k8s.io")) == 1


def test_an_apply_that_another_one_overtakes_becomes_an_update(kube: Kube, kubectl: Kubectl, proxy: FaultProxy) -> None:
    proxy.inject(answer(409, ALREADY_EXISTS))
    assert kube.apply(config_map(kubectl, a="1"), force=False).manifest["data"] == {"a": "1"}
    assert kube.requests == 2


# Time


def test_nothing_is_sent_after_the_deadline(kube: Kube, kubectl: Kubectl, proxy: FaultProxy, clock: FakeClock) -> None:
    with pytest.raises(OutOfTime, match=r"ConfigMap/.*/one: no time is left for this; give more with --timeout"):
        kube.until(clock.now).get(key_of(kubectl))
    assert (kube.requests, proxy.seen) == (0, [])
    assert kube.get(key_of(kubectl)) is None


def test_no_wait_goes_beyond_the_deadline(kube: Kube, kubectl: Kubectl, proxy: FaultProxy, clock: FakeClock) -> None:
    proxy.inject(answer(503, retry_after=4), times=99)
    start = clock.now
    with pytest.raises(Unavailable):
        kube.until(start + 10).get(key_of(kubectl))
    assert clock.now <= start + 10
    assert kube.requests == 3
    with pytest.raises(Unavailable):
        kube.until(clock.now + 4).get(key_of(kubectl))
    assert kube.requests == 4


def test_a_server_that_stays_silent_is_left_at_the_deadline(
    proxy: FaultProxy, kubectl: Kubectl, tmp_path: Path
) -> None:
    clock = FakeClock()
    kube = client(proxy.kubeconfig(tmp_path, ADMIN_TOKEN), clock, request_timeout=3600)
    proxy.inject(hold, times=99)
    clock.now = 0.0
    with pytest.raises(Unreachable, match="does not answer in time"):
        kube.until(0.2).get(key_of(kubectl))


def test_a_server_that_stays_silent_is_left_after_the_request_timeout(
    proxy: FaultProxy, clock: FakeClock, kubectl: Kubectl, tmp_path: Path
) -> None:
    kube = client(proxy.kubeconfig(tmp_path, ADMIN_TOKEN), clock, request_timeout=0.2)
    proxy.inject(hold)
    assert kube.apply(config_map(kubectl, a="1"), force=False).manifest["data"] == {"a": "1"}
    assert kube.requests == 2
