"""The commands that work on a cluster, against a real API server. No pods run; tests that need one say it is Ready.

What is stored is asked of kubectl, what was sent of the proxy.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from redisop.manifest import Manifest
from redisop.reconcile.rights import rules
from redisop.snapshot.vitals import Target, Vitals
from tests.cli.run import Ended, redisop
from tests.cluster.api_server import ApiServer
from tests.cluster.kubectl import Kubectl
from tests.convergence.conftest import ADMIN_TOKEN, post
from tests.convergence.controllers import Controllers
from tests.convergence.fault_proxy import FaultProxy, answer, is_write
from tests.world import ScriptedMembers

SPEC = {"replicas": 2, "memory": "512Mi", "storage": "2Gi", "version": "7.0"}


@pytest.fixture(scope="session")
def _crd(api_server: ApiServer) -> None:
    install_crd(api_server.kubectl, yaml.safe_load(redisop("crd").stdout))


def install_crd(kubectl: Kubectl, crd: Manifest) -> None:
    kubectl.apply(crd)
    wait = ("wait", "--for=condition=Established", "crd/redises.example.com")
    kubectl.wait_for("the CRD is established", lambda: kubectl.run(*wait).returncode == 0)


class Cli:
    """`cli("diff", …)` calls redisop in the namespace of the test, through the proxy."""

    def __init__(self, kubeconfig: Path, namespace: str, proxy: FaultProxy) -> None:
        self.kubeconfig, self.namespace, self.proxy = kubeconfig, namespace, proxy

    def __call__(self, *arguments: str, documents: str = "", kubeconfig: Path | None = None) -> Ended:
        files = ("-f", "-") if documents else ()
        where = () if {"-n", "-A"} & set(arguments) else ("-n", self.namespace)
        access = ("--kubeconfig", str(kubeconfig or self.kubeconfig))
        return redisop(*arguments, *files, *where, *access, stdin=documents)

    def reconcile(self, *arguments: str, documents: str = "") -> Ended:
        """Reconcile without waiting for pods that nobody makes."""
        return self("reconcile", "--once", "--no-wait", *arguments, documents=documents)

    def writes(self, since: int = 0) -> list[str]:
        """Return what was sent to be stored; dry runs are none."""
        return [str(seen) for seen in self.proxy.seen[since:] if is_write(seen) and "dryRun" not in seen.query]


@pytest.fixture
def cli(_crd: None, proxy: FaultProxy, kubectl: Kubectl, tmp_path: Path) -> Cli:
    return Cli(proxy.kubeconfig(tmp_path, ADMIN_TOKEN), kubectl.namespace, proxy)


def document(name: str = "one", labels: dict[str, str] | None = None, **spec: Any) -> str:
    metadata = {"name": name} | ({"labels": labels} if labels else {})
    whole = {"apiVersion": "example.com/v1", "kind": "Redis", "metadata": metadata, "spec": SPEC | spec}
    return json.dumps(whole) + "\n"


def documents(*names: str) -> str:
    return "---\n".join(map(document, names))


def put(api_server: ApiServer, kubectl: Kubectl, manifest: Manifest) -> None:
    """Store a Redis as another client would."""
    post(api_server, f"/apis/example.com/v1/namespaces/{kubectl.namespace}/redises", manifest)


def kinds(kubectl: Kubectl, kind: str) -> list[str]:
    return [each["metadata"]["name"] for each in kubectl.list(kind)]


# -- reconcile --once -------------------------------------------------------------------------------------------------


def test_a_document_becomes_objects_and_a_second_run_writes_nothing(cli: Cli, kubectl: Kubectl) -> None:
    first = cli.reconcile(documents=document())
    assert first.code == 0
    assert first.stdout.startswith(f"Redis/{kubectl.namespace}/one is Creating: ")
    assert first.stdout.endswith("(9 changes)\n")
    assert f"Redis/{kubectl.namespace}/one: created StatefulSet/{kubectl.namespace}/one" in first.lines
    assert kinds(kubectl, "redis") == kinds(kubectl, "statefulset") == ["one"]
    assert kinds(kubectl, "service") == ["one-headless", "one-master", "one-read"]
    before = len(cli.proxy.seen)
    second = cli.reconcile(documents=document())
    assert (second.code, cli.writes(before)) == (0, [])
    assert second.stdout.endswith("(nothing to do)\n")


def test_fields_that_are_null_or_in_the_older_version_are_written_once(cli: Cli, kubectl: Kubectl) -> None:
    early = {
        "apiVersion": "example.com/v1alpha1",
        "kind": "Redis",
        "metadata": {"name": "early"},
        "spec": {"size": 1, "storage": "1Gi", "version": "7.0", "redisConfig": ["maxclients 100"]},
    }
    both = f"{json.dumps(early)}\n---\n{document(image=None, storage=0, persistence={})}"
    assert cli.reconcile(documents=both).code == 0
    assert kubectl.get("redis", "early")["spec"]["config"] == {"maxclients": "100"}
    assert kubectl.get("redis", "one")["spec"]["storage"] == 0
    before = len(cli.proxy.seen)
    assert (cli.reconcile(documents=both).code, cli.writes(before)) == (0, [])


def test_a_field_that_left_the_document_leaves_the_object(cli: Cli, kubectl: Kubectl) -> None:
    cli.reconcile(documents=document(config={"maxclients": "100", "hz": "20"}))
    assert cli.reconcile(documents=document(config={"hz": "20"})).code == 0
    assert kubectl.get("redis", "one")["spec"]["config"] == {"hz": "20"}
    assert "maxclients" not in kubectl.get("configmap", "one-config")["data"]["redis.conf"]


def test_a_dry_run_says_everything_and_writes_nothing(cli: Cli, kubectl: Kubectl) -> None:
    ended = cli("reconcile", "--once", "--dry-run", documents=document())
    assert (ended.code, ended.stderr, cli.writes()) == (1, "", [])
    assert ended.stdout.splitlines()[:3] == [
        f"Redis/{kubectl.namespace}/one:",
        f"  create Redis/{kubectl.namespace}/one",
        f"  create Secret/{kubectl.namespace}/one-auth",
    ]
    assert kinds(kubectl, "redis") == []
    cli.reconcile(documents=document())
    again = cli("reconcile", "--once", "--dry-run", documents=document())
    assert (again.code, again.stdout) == (0, f"Redis/{kubectl.namespace}/one: nothing to change\n")


def test_objects_in_the_cluster_are_meant_by_name_label_and_namespace(
    cli: Cli, api_server: ApiServer, kubectl: Kubectl
) -> None:
    for name in ("one", "two", "three"):
        put(api_server, kubectl, json.loads(document(name, labels={"tier": name})))
    by_name = cli.reconcile("one")
    assert [line.split()[0] for line in by_name.stdout.splitlines()] == [f"Redis/{kubectl.namespace}/one"]
    by_label = cli.reconcile("-l", "tier in (two, four)")
    assert [line.split()[0] for line in by_label.stdout.splitlines()] == [f"Redis/{kubectl.namespace}/two"]
    assert kinds(kubectl, "statefulset") == ["one", "two"]
    assert cli.reconcile().code == 0  # -n alone
    assert kinds(kubectl, "statefulset") == ["one", "three", "two"]


def test_nothing_that_is_meant_is_no_error(cli: Cli, kubectl: Kubectl) -> None:
    ended = cli.reconcile("-l", "a=b")
    assert (ended.code, ended.stdout) == (0, "")
    assert ended.lines == [f"note: no Redis in the namespace {kubectl.namespace} is meant by this"]


def test_json_has_the_outcomes_and_no_value_of_a_secret(cli: Cli, kubectl: Kubectl) -> None:
    ended = cli.reconcile("-o", "json", documents=documents("one", "two"))
    first, second = json.loads(ended.stdout)["outcomes"]
    assert (first["redis"]["name"], second["redis"]["name"]) == ("one", "two")
    assert (first["exitCode"], first["settled"], first["failures"]) == (0, False, [])
    assert [change["object"]["kind"] for change in first["changes"]][:2] == ["Redis", "Secret"]
    assert first["status"]["phase"] == "Creating"
    password = kubectl.get("secret", "one-auth")["data"]["password"]
    assert password not in ended.stdout + ended.stderr


def test_pods_that_are_ready_end_the_wait(cli: Cli, kubectl: Kubectl) -> None:
    cli.reconcile(documents=document(replicas=1))
    ready_pod(kubectl, "one-0")
    ended = cli("reconcile", "--once", "--timeout", "20s", documents=document(replicas=1))
    assert (ended.code, ended.stdout.split()[:3]) == (0, [f"Redis/{kubectl.namespace}/one", "is", "Running:"])
    assert kubectl("wait", "--for=condition=Ready", "redis/one", "--timeout=1s")


def ready_pod(kubectl: Kubectl, name: str) -> None:
    """Do what the StatefulSet's controller and a kubelet would; the pod has no address, so nobody can ask it."""
    stateful_set = kubectl.get("statefulset", name.rpartition("-")[0])
    labels = stateful_set["spec"]["template"]["metadata"]["labels"]
    container = {"name": "redis", "image": "redis"}
    kubectl.apply(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "labels": labels},
            "spec": {"containers": [container]},
        }
    )
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    kubectl("patch", "pod", name, "--subresource=status", "--type=merge", "-p", json.dumps({"status": status}))


def test_what_is_not_ready_in_time_is_exit_1_and_says_what_it_waits_for(cli: Cli, kubectl: Kubectl) -> None:
    ended = cli("reconcile", "--once", "--timeout", "2s", documents=document())
    assert ended.code == 1
    assert ended.lines[-1] == f"Redis/{kubectl.namespace}/one: error: not Ready after 2 s: 0 of 2 pods exist"


def tell(api_server: ApiServer, kubectl: Kubectl, reason: str, note: str, **regarding: str) -> None:
    """Write an Event as a controller or kubelet does."""
    event = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"generateName": "e-"},
        "regarding": {"namespace": kubectl.namespace} | regarding,
        "type": "Warning",
        "reason": reason,
        "note": note,
        "action": "Create",
        "eventTime": "2024-01-02T03:04:05.000000Z",
        "reportingController": "controller",
        "reportingInstance": "n",
    }
    post(api_server, f"/apis/events.k8s.io/v1/namespaces/{kubectl.namespace}/events", event)


def test_why_pods_do_not_come_is_said_where_only_an_event_says_it(
    cli: Cli, api_server: ApiServer, kubectl: Kubectl
) -> None:
    tell(api_server, kubectl, "FailedCreate", "exceeded quota: few", kind="StatefulSet", name="one")
    run = ("reconcile", "--once", "--timeout", "6s")
    where = f"Redis/{kubectl.namespace}/one: note: "
    assert f"{where}FailedCreate: exceeded quota: few" in cli(*run, documents=document(replicas=1)).lines

    ready_pod(kubectl, "one-0")
    waiting = {"containerStatuses": [{**WAITS, "state": {"waiting": {"reason": "ContainerCreating"}}}]}
    status = {"phase": "Pending", "conditions": [{"type": "Ready", "status": "False"}], **waiting}
    kubectl("patch", "pod", "one-0", "--subresource=status", "--type=merge", "-p", json.dumps({"status": status}))
    uid = kubectl.get("pod", "one-0")["metadata"]["uid"]
    tell(api_server, kubectl, "FailedMount", 'secret "mine" not found', kind="Pod", name="one-0", uid=uid)
    tell(api_server, kubectl, "FailedMount", "of one that is gone", kind="Pod", name="one-0", uid="other")
    ended = cli(*run, documents=document(replicas=1))
    assert [line for line in ended.lines if "note: " in line] == [f'{where}FailedMount: secret "mine" not found']

    forbidden = {"kind": "Status", "apiVersion": "v1", "reason": "Forbidden", "message": "events is forbidden"}
    cli.proxy.inject(answer(403, forbidden), when=lambda seen: seen.path.endswith("/events"), times=9)
    unseen = cli(*run, documents=document(replicas=1))
    assert (unseen.code, [line for line in unseen.lines if "vents" in line or "Failed" in line]) == (1, [])


WAITS = {"name": "redis", "image": "x", "imageID": "", "ready": False, "restartCount": 0}


@pytest.mark.parametrize("replies", [0, 3, 7])
def test_credentials_that_expire_on_the_way_end_the_run_at_once(cli: Cli, kubectl: Kubectl, replies: int) -> None:
    cli.proxy.inject(answer(401, "Unauthorized"), at=1 + replies, times=99)
    ended = cli("reconcile", "--once", "--timeout", "30s", documents=document())
    assert ended.code == 4
    assert "the API server does not accept the credentials; log in" in ended.stderr
    assert all(f"/{kubectl.namespace}/one" in line for line in ended.lines if "error: " in line)
    cli.proxy.heal()
    assert cli.reconcile(documents=document()).code == 0
    assert kinds(kubectl, "secret") == ["one-auth"]


def test_rendered_manifests_that_are_applied_after_adoption_are_called_a_mistake(cli: Cli, kubectl: Kubectl) -> None:
    mistake = f"Redis/{kubectl.namespace}/one: warning: rendered manifests were applied over it"
    rendered = redisop("render", "-f", "-", "-n", kubectl.namespace, stdin=document()).stdout
    kubectl.apply(rendered, "--field-manager=redisop")
    assert mistake not in cli.reconcile(documents=document()).stderr
    for manager in ("redisop", "argocd-controller"):
        kubectl.apply(rendered, f"--field-manager={manager}", "--force-conflicts")
        for command in (("diff",), ("reconcile", "--once", "--no-wait")):
            assert mistake in cli(*command, documents=document()).stderr
        assert kubectl.get("statefulset", "one")["spec"]["updateStrategy"]["type"] == "OnDelete"
        again = cli.reconcile(documents=document())
        assert (again.stdout.endswith("(nothing to do)\n"), mistake in again.stderr) == (True, False)


def test_a_secret_that_is_not_there_or_lacks_the_key_is_named(cli: Cli, kubectl: Kubectl) -> None:
    text = document(auth={"secretRef": {"name": "mine", "key": "word"}})
    where = f"Redis/{kubectl.namespace}/one: warning: "
    assert f"{where}SecretNotFound: there is no Secret mine; create it" in cli.reconcile(documents=text).lines
    kubectl("create", "secret", "generic", "mine", "--from-literal=password=x")
    said = "KeyNotFound: Secret mine has no key word; add it, or correct spec.auth.secretRef.key"
    assert f"{where}{said}" in cli.reconcile(documents=text).lines


def test_an_interruption_is_exit_130_and_the_next_run_goes_on(cli: Cli, kubectl: Kubectl) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "redisop", "reconcile", "--once", "-f", "-", "-n", kubectl.namespace],
        env={**os.environ, "KUBECONFIG": str(cli.kubeconfig)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin
    assert process.stderr
    process.stdin.write(document())
    process.stdin.close()
    while "0 of 2 pods exist" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    begun = time.monotonic()
    assert process.wait(timeout=30) == 130
    assert time.monotonic() - begun < 30
    assert "Traceback" not in process.stderr.read()
    process.stderr.close()
    assert process.stdout
    process.stdout.close()
    before = len(cli.proxy.seen)
    assert cli.reconcile(documents=document()).code == 0
    assert [write for write in cli.writes(before) if "/status" not in write] == []


# -- what goes wrong costs the others nothing -------------------------------------------------------------------------


def test_a_bad_document_and_an_object_that_is_not_valid_stop_nobody_else(
    cli: Cli, api_server: ApiServer, kubectl: Kubectl
) -> None:
    text = f"{document('good')}---\n{document('bad', memory='lots')}"
    ended = cli.reconcile(documents=text)
    assert ended.code == 3
    assert "stdin:" in ended.stderr
    assert kinds(kubectl, "statefulset") == ["good"]


def test_an_object_that_no_longer_validates_is_told_with_its_violations(cli: Cli, kubectl: Kubectl) -> None:
    cli.reconcile(documents=documents("good", "odd"))
    with StoredLongAgo(cli.proxy, "odd", lambda spec: spec | {"memory": "lots"}):
        ended = cli.reconcile()
    assert ended.code == 3
    key = f"Redis/{kubectl.namespace}/odd"
    assert f'{key}: error: spec.memory: "lots" is not a quantity: write for example 512Mi or 2Gi' in ended.lines
    assert f"Redis/{kubectl.namespace}/good is" in ended.stdout


class StoredLongAgo:
    """Let the proxy answer as a server would that stored a Redis before the CRD had its rules."""

    def __init__(self, proxy: FaultProxy, name: str, change: Callable[[Manifest], Manifest]) -> None:
        self.proxy, self.name, self.change = proxy, name, change

    def __enter__(self) -> None:
        def old(exchange: Any) -> None:
            reply = exchange.commit()
            found = json.loads(reply.data)
            for item in found["items"]:
                if item["metadata"]["name"] == self.name:
                    item["spec"] = self.change(item["spec"])
            exchange.answer(200, {"Content-Type": "application/json"}, json.dumps(found).encode())

        self.proxy.inject(old, when=lambda seen: seen.path.endswith("/redises"))

    def __exit__(self, *_: object) -> None:
        self.proxy.heal()


def test_a_cluster_that_refuses_one_leaves_the_others_and_the_gravest_code_wins(cli: Cli, kubectl: Kubectl) -> None:
    denied = {"kind": "Status", "status": "Failure", "message": "exceeded quota: small", "reason": "Forbidden"}
    cli.proxy.inject(
        answer(403, denied), when=lambda seen: is_write(seen) and "/statefulsets/two" in seen.path, times=9
    )
    text = f"{documents('one', 'two')}---\n{document('three', memory='lots')}"
    ended = cli.reconcile(documents=text)
    assert ended.code == 4
    assert f"StatefulSet/{kubectl.namespace}/two" in ended.stderr
    assert "exceeded quota: small" in ended.stderr
    assert kinds(kubectl, "statefulset") == ["one"]
    assert kinds(kubectl, "configmap") == ["one-config", "two-config"]


def test_another_manager_of_a_field_is_named_and_gives_way_to_force(
    cli: Cli, api_server: ApiServer, kubectl: Kubectl
) -> None:
    kubectl.apply(document(replicas=1))
    ended = cli.reconcile(documents=document())
    assert (ended.code, ended.stdout) == (5, "")
    key = f"Redis/{kubectl.namespace}/one"
    assert ended.lines[0].startswith(f"error: {key}: other field managers own .spec.replicas (kubectl)")
    assert ended.lines[1] == "note: --force-conflicts takes over the fields that a document sets"
    assert cli("diff", documents=document()).code == 5
    assert cli.reconcile("--force-conflicts", documents=document()).code == 0
    assert kubectl.get("redis", "one")["spec"]["replicas"] == 2


def test_drift_that_is_left_to_others_is_exit_5_and_names_them(cli: Cli, kubectl: Kubectl) -> None:
    text = document(drift="Report")
    cli.reconcile(documents=text)
    kubectl("scale", "statefulset", "one", "--replicas=3")
    for _ in range(2):
        ended = cli.reconcile(documents=text)
        assert ended.code == 5
        space = kubectl.namespace
        assert (
            f"Redis/{space}/one: error: StatefulSet/{space}/one: spec.replicas is 3, should be 2; "
            "kubectl set it, and drift is Report"
        ) in ended.lines
    assert kubectl.get("statefulset", "one")["spec"]["replicas"] == 3
    assert cli.reconcile(documents=document()).code == 0
    assert kubectl.get("statefulset", "one")["spec"]["replicas"] == 2


def test_what_a_running_redis_cannot_become_has_the_line_of_the_document(cli: Cli, kubectl: Kubectl) -> None:
    cli.reconcile(documents=document())
    for command in (("reconcile", "--once", "--no-wait"), ("reconcile", "--once", "--dry-run"), ("diff",)):
        ended = cli(*command, documents=document(storage="1Gi"))
        assert (ended.code, ended.stdout) == (3, "")
        assert ended.lines[0].startswith("stdin:1: error: spec.storage: is less than before")


# -- bad surroundings -------------------------------------------------------------------------------------------------


def test_a_name_without_a_redis_says_how_to_make_one(cli: Cli, kubectl: Kubectl) -> None:
    for command in (("reconcile", "--once"), ("diff",), ("status",)):
        ended = cli(*command, "absent")
        assert (ended.code, ended.stdout) == (4, "")
        assert ended.lines[0].startswith(f"error: Redis/{kubectl.namespace}/absent: there is no such Redis; ")


def test_a_namespace_that_is_not_there_is_named(cli: Cli) -> None:
    for command in (("reconcile", "--once"), ("diff",)):
        ended = cli(*command, "-n", "absent", documents=document())
        assert (ended.code, ended.stdout) == (4, "")
        assert ended.lines == [
            "error: Redis/absent/one: there is no namespace absent; create it: kubectl create namespace absent"
        ]


def test_a_namespace_that_is_being_deleted_is_named(cli: Cli, kubectl: Kubectl) -> None:
    kubectl("delete", "namespace", kubectl.namespace, "--wait=false")
    ended = cli.reconcile(documents=document())
    assert (ended.code, ended.stdout) == (4, "")
    assert f"the namespace {kubectl.namespace} is being deleted; wait until it is gone" in ended.stderr


def test_a_redis_that_is_being_deleted_is_told_and_gets_nothing_new(cli: Cli, kubectl: Kubectl) -> None:
    cli.reconcile(documents=document())
    kubectl("patch", "redis", "one", "--type=merge", "-p", '{"metadata":{"finalizers":["example.com/hold"]}}')
    kubectl("delete", "redis", "one", "--wait=false")
    for arguments, text in ((("one",), ""), ((), document()), ((), document(memory="1Gi"))):
        ended = cli("reconcile", "--once", *arguments, documents=text)
        assert ended.code == 4
        assert f"error: Redis/{kubectl.namespace}/one: it is being deleted; wait until it is gone" in ended.stderr
    assert kubectl.get("redis", "one")["spec"]["memory"] == "512Mi"


def test_a_crd_that_is_not_installed_is_said_with_the_way_to_install_it(cli: Cli) -> None:
    cli.proxy.inject(answer(404, "404 page not found"), when=lambda seen: "/redises" in seen.path, times=99)
    for command in (("reconcile", "--once"), ("diff",), ("status",)):
        ended = cli(*command, "one")
        assert (ended.code, ended.stdout) == (4, "")
        assert "install its CRD: redisop crd | kubectl apply --server-side -f -" in ended.stderr


def test_a_crd_that_is_older_is_said_to_be_older(cli: Cli, api_server: ApiServer) -> None:
    crd = yaml.safe_load(redisop("crd").stdout)
    old = yaml.safe_load(redisop("crd").stdout)
    schema = old["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    del schema["properties"]["paused"], schema["default"]["paused"]

    def says_so() -> bool:
        ended = cli.reconcile(documents=document(paused=False))
        return ended.code == 3 and "its CRD is older than this redisop: redisop crd | kubectl apply" in ended.stderr

    install_crd(api_server.kubectl, old)
    try:
        api_server.kubectl.wait_for("the old CRD is in use", says_so)
    finally:
        install_crd(api_server.kubectl, crd)
        api_server.kubectl.wait_for(
            "the new CRD is in use", lambda: cli.reconcile(documents=document("two", paused=False)).code == 0
        )


@pytest.mark.parametrize("command", [("reconcile", "--once"), ("diff",), ("status",)])
def test_a_cluster_that_is_down_is_exit_4_in_one_line(cli: Cli, command: tuple[str, ...]) -> None:
    with cli.proxy.down():
        ended = cli(*command, "one")
    assert (ended.code, ended.stdout, len(ended.lines)) == (4, "", 1)
    assert ended.lines[0].startswith("error: ")
    assert "check that it runs and that this context means it" in ended.lines[0]


# -- diff -------------------------------------------------------------------------------------------------------------


def test_diff_shows_fields_with_both_values_and_the_consequence_and_writes_nothing(cli: Cli, kubectl: Kubectl) -> None:
    cli.reconcile(documents=document())
    before = len(cli.proxy.seen)
    ended = cli("diff", documents=document(memory="1Gi"))
    assert (ended.code, ended.stderr, cli.writes(before)) == (1, "", [])
    lines = ended.stdout.splitlines()
    space = kubectl.namespace
    assert lines[:3] == [
        f"Redis/{space}/one:",
        f"  update Redis/{space}/one (none: no Redis process notices)",
        "      spec.memory: 512Mi -> 1Gi",
    ]
    rolling = lines.index(f"  update StatefulSet/{space}/one (rolling: takes effect when the pods restart)")
    assert "      spec.template.spec.containers[redis].resources.limits.memory: 512Mi -> 1Gi" in lines[rolling:]
    assert "        + maxmemory 805306368" in lines


def test_diff_of_what_is_as_wanted_is_exit_0(cli: Cli, kubectl: Kubectl) -> None:
    cli.reconcile(documents=document())
    for arguments, text in ((("one",), ""), ((), ""), ((), document())):
        ended = cli("diff", *arguments, documents=text)
        assert (ended.code, ended.stdout) == (0, f"Redis/{kubectl.namespace}/one: nothing to change\n")
    unified = cli("diff", "-o", "diff")
    assert (unified.code, unified.stdout) == (0, "")


def test_diff_names_who_changed_a_field(cli: Cli, kubectl: Kubectl) -> None:
    cli.reconcile(documents=document())
    kubectl("patch", "pdb", "one", "--type=merge", "-p", '{"spec":{"maxUnavailable":2}}', "--field-manager=somebody")
    ended = cli("diff", "one")
    assert ended.code == 1
    assert "      spec.maxUnavailable: 2 -> 1  (set by somebody)" in ended.stdout.splitlines()


def test_diff_as_json_has_every_field(cli: Cli, kubectl: Kubectl) -> None:
    cli.reconcile(documents=document())
    ended = cli("diff", "-o", "json", documents=document(memory="1Gi"))
    [found] = json.loads(ended.stdout)["differences"]
    assert (found["exitCode"], found["failures"], found["redis"]["name"]) == (1, [], "one")
    changed = {change["object"]["kind"]: change for change in found["changes"]}
    assert changed["StatefulSet"]["consequence"] == "rolling"
    limits = "spec.template.spec.containers[redis].resources.limits.memory"
    fields = {one["field"]: (one["live"], one["desired"]) for one in changed["StatefulSet"]["differences"]}
    assert fields[limits] == ("512Mi", "1Gi")


def test_a_unified_diff_is_one_that_patch_understands(cli: Cli, kubectl: Kubectl, tmp_path: Path) -> None:
    cli.reconcile(documents=document())
    ended = cli("diff", "-o", "diff", documents=document(memory="1Gi"))
    assert ended.code == 1
    assert f"--- live/StatefulSet/{kubectl.namespace}/one\n" in ended.stdout
    assert "\n-            memory: 512Mi\n+            memory: 1Gi\n" in ended.stdout
    done = subprocess.run(["git", "apply", "--stat", "-"], input=ended.stdout, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("output", ["text", "json", "diff"])
def test_no_format_of_diff_shows_a_password(cli: Cli, output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secrets.token_urlsafe", lambda size: "never-to-be-seen")
    ended = cli("diff", "-o", output, documents=document())
    assert ended.code == 1
    assert "Secret/" in ended.stdout or '"Secret"' in ended.stdout
    for said in ("never-to-be-seen", "bmV2ZXItdG8tYmUtc2Vlbg"):  # as it is, and as base64
        assert said not in ended.stdout + ended.stderr


def test_diff_of_rendered_manifests_shows_what_adoption_needs(cli: Cli, kubectl: Kubectl) -> None:
    rendered = redisop("render", "-f", "-", "-n", kubectl.namespace, stdin=document()).stdout
    kubectl.apply(rendered, "--field-manager=redisop")
    ended = cli("diff", documents=document())
    assert ended.code == 1
    lines = ended.stdout.splitlines()
    assert f"  create Redis/{kubectl.namespace}/one" in lines
    assert "      spec.updateStrategy.type: RollingUpdate -> OnDelete" in lines


@pytest.mark.parametrize("command", [("diff",), ("reconcile", "--once", "--dry-run"), ("reconcile", "--once")])
def test_a_new_redis_sees_objects_of_its_names_that_belong_to_others(
    cli: Cli, kubectl: Kubectl, command: tuple[str, ...]
) -> None:
    kubectl("create", "configmap", "one-config", "--from-literal=a=b")
    kubectl("create", "serviceaccount", "one")
    ended = cli(*command, *(() if command == ("diff",) else ("--timeout", "2s")), documents=document())
    assert ended.code == 3
    space, said = kubectl.namespace, ended.stdout + ended.stderr
    for child in (f"ConfigMap/{space}/one-config", f"ServiceAccount/{space}/one"):
        assert f"create {child}" not in said
        assert f"{child} (refused" in said or f"{child}: belongs to somebody else" in said
    assert kubectl.get("configmap", "one-config")["data"] == {"a": "b"}


def test_a_newer_table_of_defaults_is_shown_only_when_asked(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from redisop.api import defaults

    cli.reconcile(documents=document())
    newer = replace(defaults.TABLES[1], revision=2, grace_base=defaults.TABLES[1].grace_base + 1)
    monkeypatch.setitem(defaults.TABLES, 2, newer)
    for module in ("redisop.render.NEWEST", "redisop.cli.diff.NEWEST"):
        monkeypatch.setattr(module, 2)
    assert cli("diff", "one").code == 0
    ended = cli("diff", "one", "--defaults", "newest")
    assert ended.code == 1
    assert "      spec.template.spec.terminationGracePeriodSeconds: 35 -> 36" in ended.stdout.splitlines()


# -- status -----------------------------------------------------------------------------------------------------------


def test_the_table_has_the_columns_of_kubectl(cli: Cli, kubectl: Kubectl) -> None:
    cli.reconcile(documents=documents("one", "two"))
    for output, wide in (("text", []), ("wide", ["-o", "wide"])):
        ended = cli("status", "-o", output)
        kubectls = kubectl("get", "rd", *wide).splitlines()
        ours = ended.stdout.splitlines()
        assert (ended.code, ended.stderr) == (0, "")
        assert ours[0].split() == kubectls[0].split()
        assert [line.split()[:4] for line in ours[1:]] == [line.split()[:4] for line in kubectls[1:]]
    everywhere = cli("status", "-A")
    assert everywhere.stdout.startswith("NAMESPACE ")
    assert any(line.split()[:2] == [kubectl.namespace, "two"] for line in everywhere.stdout.splitlines())


def test_one_name_is_shown_in_detail_and_says_whom_it_could_not_ask(cli: Cli, kubectl: Kubectl) -> None:
    cli.reconcile(documents=document(replicas=1))
    ready_pod(kubectl, "one-0")
    kubectl("patch", "sa", "one", "--type=json", "-p", '[{"op":"remove","path":"/metadata/ownerReferences"}]')
    uid = kubectl.get("pod", "one-0")["metadata"]["uid"]
    event = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e"},
        "regarding": {"kind": "Pod", "namespace": kubectl.namespace, "name": "one-0", "uid": uid},
        "type": "Warning",
        "reason": "BackOff",
        "note": "the image cannot be pulled",
        "action": "Pulling",
        "eventTime": "2024-01-02T03:04:05.000000Z",
        "reportingController": "kubelet",
        "reportingInstance": "n",
    }
    kubectl.apply(event)
    before = len(cli.proxy.seen)
    ended = cli("status", "one")
    assert (ended.code, cli.writes(before)) == (0, [])
    assert ended.lines == [f"note: Pod/{kubectl.namespace}/one-0 has no address yet"]
    lines = [" ".join(line.split()) for line in ended.stdout.splitlines()]
    assert "one-0 unknown yes" in lines
    assert f"update ServiceAccount/{kubectl.namespace}/one (none: no Redis process notices)" in lines
    assert any(line.endswith("Warning BackOff Pod/one-0 the image cannot be pulled") for line in lines)
    titles = [line for line in ended.stdout.splitlines() if line and not line.startswith(" ")]
    assert titles[1:] == ["Members", "Conditions", "Pending changes", "Last events"]


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_status_for_programs(cli: Cli, output: str) -> None:
    cli.reconcile(documents=documents("one", "two"))
    reader = {"json": json.loads, "yaml": yaml.safe_load}[output]
    both = reader(cli("status", "-o", output).stdout)["redises"]
    assert [(each["name"], each["status"]["phase"]) for each in both] == [("one", "Creating"), ("two", "Creating")]
    [one] = reader(cli("status", "one", "-o", output).stdout)["redises"]
    assert (one["changes"], one["unasked"]) == ([], [])
    # The API server writes Events of its own, "repairing" a fresh Service, when its bookkeeping is late.
    assert {event["object"].partition("/")[0] for event in one["events"]} <= {"Service"}


def test_what_may_not_be_looked_at_leaves_what_was_last_written(cli: Cli, kubectl: Kubectl, tmp_path: Path) -> None:
    cli.reconcile(documents=document())
    kubectl("create", "serviceaccount", "reader")
    kubectl("create", "role", "reader", "--verb=get,list", "--resource=redises.example.com")
    kubectl("create", "rolebinding", "reader", "--role=reader", f"--serviceaccount={kubectl.namespace}:reader")
    token = kubectl("create", "token", "reader").strip()
    ended = cli("status", "one", kubeconfig=cli.proxy.kubeconfig(tmp_path, token))
    assert ended.code == 4
    assert 'grant the verb "' in ended.stderr
    assert "so this is what was last written into its status" in ended.stderr
    assert ended.stdout.splitlines()[1].strip() == "0 of 2 pods exist"


# -- the page for users -----------------------------------------------------------------------------------------------

PAGE = (Path(__file__).parents[2] / "docs/reconcile.md").read_text()
SHOWN = re.compile(r"```(yaml|text)\n(.*?)```", re.DOTALL)
AGE = re.compile(r"\b[0-9]+[smhd]\b")


class Asked(ScriptedMembers):
    """Scripted members for whoever asks for live ones, with some data in them."""

    def probe(self, targets: Iterable[Target], password: bytes | None) -> tuple[Vitals, ...]:
        filled = {"used_memory": 1_468_006, "maxmemory": 384 * 2**20}
        return tuple(replace(member, **filled) for member in super().probe(targets, password))

    def close(self) -> None:
        """There is no connection."""


@pytest.fixture
def members(monkeypatch: pytest.MonkeyPatch) -> Asked:
    members = Asked()
    monkeypatch.setattr("redisop.live.once.Performer", lambda _: members)
    monkeypatch.setattr("redisop.cli.comparison.Members", lambda: members)
    return members


def test_members_that_cannot_be_reached_are_told_with_a_way_out(
    cli: Cli, api_server: ApiServer, kubectl: Kubectl, members: Asked
) -> None:
    no_way = "no member can be asked from here: "
    way_out = "run redisop where the addresses of the pods can be reached, inside the cluster for example"
    with Controllers(api_server, kubectl.namespace):
        assert cli("reconcile", "--once", documents=document()).code == 0
        members.silent = {"one-0", "one-1"}
        ended = cli("reconcile", "--once", "--timeout", "3s", documents=document(config={"timeout": "5"}))
        where = f"Redis/{kubectl.namespace}/one: error: not Ready after "
        assert ended.code == 1
        assert ended.lines[-1].startswith(where)
        assert no_way in ended.lines[-1]
        assert ended.lines[-1].endswith(way_out)
        shown = cli("status", "one")
        assert shown.code == 0
        said = shown.stdout.splitlines()[1]
        assert (no_way in said, said.endswith(way_out)) == (True, True)
        assert way_out in kubectl.get("redis", "one")["status"]["message"]


def test_what_is_done_again_for_a_member_that_does_not_answer_is_said_once(
    cli: Cli, api_server: ApiServer, kubectl: Kubectl, members: Asked
) -> None:
    with Controllers(api_server, kubectl.namespace):
        assert cli("reconcile", "--once", documents=document()).code == 0
        members.silent = {"one-1"}
        text = document(config={"timeout": "5"})
        ended = cli("reconcile", "--once", "--timeout", "3s", "-o", "json", documents=text)
    assert ended.code == 1
    assert len([action for action in members.performed if "timeout" in str(action)]) > 1
    assert len([line for line in ended.lines if "set timeout on one-0" in line]) == 1
    [outcome] = json.loads(ended.stdout)["outcomes"]
    assert [action["action"] for action in outcome["actions"]] == ["set timeout on one-0"]


def test_the_page_for_users_shows_what_happens(
    cli: Cli, api_server: ApiServer, kubectl: Kubectl, members: Asked, tmp_path: Path
) -> None:
    file = tmp_path / "my-redis.yaml"
    played = []
    with Controllers(api_server, kubectl.namespace):
        for language, text in SHOWN.findall(PAGE):
            if language == "yaml":
                file.write_text(text)
                continue
            command, _, output = text.partition("\n")
            words, code = re.fullmatch(r"\$ redisop (.*?) +# exits with ([0-9])", command).groups()
            ended = cli(*[str(file) if word == file.name else word for word in words.split()])
            assert (command, ended.code) == (command, int(code)), ended.stderr
            shown = as_shown(output, kubectl.namespace)
            printed = as_shown(ended.stdout, kubectl.namespace)
            assert [line for line in shown if line in printed] == printed, command
            assert [line for line in shown if line not in printed + as_shown(ended.stderr, kubectl.namespace)] == []
            played.append(words.split()[0])
    assert played == ["reconcile", "reconcile", "reconcile", "diff", "status", "status"]


def as_shown(text: str, namespace: str) -> list[str]:
    """Return the lines as the page has them: another namespace, and any age is as good as another."""
    return [" ".join(AGE.sub("1s", line.replace(namespace, "shop")).split()) for line in text.splitlines()]


def role_of_the_page() -> Manifest:
    return yaml.safe_load(next(text for _, text in SHOWN.findall(PAGE) if "kind: Role\n" in text))


def test_the_role_of_the_page_is_what_the_loop_needs_and_what_the_commands_ask_beside_it() -> None:
    beside = [
        {"apiGroups": ["example.com"], "resources": ["redises"], "verbs": ["create"]},
        {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["list"]},
    ]
    assert granted(role_of_the_page()["rules"]) == granted([*rules(), *beside])


def granted(rules: list[Manifest]) -> set[tuple[str, str, str]]:
    return {
        (group, resource, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_the_role_of_the_page_suffices_for_every_command(
    cli: Cli, api_server: ApiServer, kubectl: Kubectl, members: Asked, tmp_path: Path
) -> None:
    kubectl.apply(role_of_the_page())
    kubectl("create", "serviceaccount", "ci")
    kubectl("create", "rolebinding", "ci", "--role=redisop", f"--serviceaccount={kubectl.namespace}:ci")
    cli.kubeconfig = cli.proxy.kubeconfig(tmp_path, kubectl("create", "token", "ci").strip())
    with Controllers(api_server, kubectl.namespace):
        for text in (document(), document(memory="1Gi"), document(memory="1Gi", replicas=3)):
            assert cli("diff", documents=text).code == 1
            assert cli("reconcile", "--once", "--dry-run", documents=text).code == 1
            ended = cli("reconcile", "--once", documents=text)
            assert ended.code == 0, ended.stderr
        for command in (("reconcile", "--once", "one"), ("diff",), ("status",), ("status", "one")):
            ended = cli(*command)
            assert ended.code == 0, ended.stderr
