"""What others change in our children is corrected once or reported, and what they add stays."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from redisop.live.kube import KINDS
from redisop.live.request import APPLY, Request
from redisop.manifest import Manifest
from tests.cluster.kubectl import Kubectl
from tests.convergence.fault_proxy import Seen
from tests.convergence.site import Site


def dry_runs(site: Site) -> list[Seen]:
    return [seen for seen in site.proxy.seen if "dryRun" in seen.query]


DRIFTS: list[tuple[str, str, Manifest, str]] = [
    ("Service", "r-read", {"spec": {"type": "NodePort"}}, "spec.type"),
    ("PodDisruptionBudget", "r", {"spec": {"maxUnavailable": 3}}, "spec.maxUnavailable"),
    ("StatefulSet", "r", {"spec": {"minReadySeconds": 77}}, "spec.minReadySeconds"),
    ("ConfigMap", "r-config", {"data": {"max-lag": "1"}}, "data.max-lag"),
    ("ServiceAccount", "r", {"automountServiceAccountToken": True}, "automountServiceAccountToken"),
]


@pytest.mark.parametrize(("kind", "name", "edit", "field"), DRIFTS, ids=[each[3] for each in DRIFTS])
def test_drift_is_corrected_with_one_write_and_no_dry_run(
    site: Site, kind: str, name: str, edit: Manifest, field: str
) -> None:
    site.up(replicas=2)
    wanted = site.get(kind, name)
    site.edit(kind, name, edit)
    outcome = site.run()
    (change,) = outcome.changes
    assert [(one.field, one.manager) for one in change.differences] == [(field, "somebody")]
    assert (len(site.writes), dry_runs(site), outcome.settled) == (1, [], True)
    assert _plain(site.get(kind, name)) == _plain(wanted)
    site.run()
    assert site.written == []


@pytest.mark.parametrize(("kind", "name", "edit", "field"), DRIFTS, ids=[each[3] for each in DRIFTS])
def test_drift_is_reported_and_left_where_the_user_wants_that(
    site: Site, kind: str, name: str, edit: Manifest, field: str
) -> None:
    site.up(replicas=2, drift="Report")
    site.edit(kind, name, edit)
    drifted = site.get(kind, name)
    outcome = site.run()
    assert site.written == ["PATCH redises/r/status"]
    assert _plain(site.get(kind, name)) == _plain(drifted)
    assert [change.verb for change in outcome.changes] == ["leave"]
    assert outcome.settled
    assert outcome.status["drift"] == [
        {"object": f"{kind}/{site.namespace}/{name}", "fields": [field], "manager": "somebody"}
    ]
    told = site.condition("DriftDetected")
    assert told
    assert (told["status"], f"somebody owns {field}" in told["message"]) == ("True", True)
    site.run()
    assert site.written == []
    site.up(replicas=2)
    assert site.condition("DriftDetected") is None
    assert "drift" not in site.get("Redis", "r")["status"]


def test_our_own_changes_are_made_beside_what_is_left_to_others(site: Site) -> None:
    site.up(replicas=2, drift="Report")
    site.edit("StatefulSet", "r", {"spec": {"minReadySeconds": 77}})
    site.up(replicas=3, memory="512Mi", drift="Report")
    spec = site.get("StatefulSet", "r")["spec"]
    limits = spec["template"]["spec"]["containers"][0]["resources"]["limits"]
    assert (spec["replicas"], spec["minReadySeconds"], limits["memory"]) == (3, 77, "512Mi")
    managers = [entry["manager"] for entry in site.get("StatefulSet", "r")["metadata"]["managedFields"]]
    assert "somebody" in managers
    owners = {
        entry["manager"]
        for entry in site.get("StatefulSet", "r")["metadata"]["managedFields"]
        if "f:minReadySeconds" in entry["fieldsV1"].get("f:spec", {})
    }
    assert owners == {"somebody"}
    site.up(replicas=3, memory="512Mi")
    assert site.get("StatefulSet", "r")["spec"]["minReadySeconds"] == 5


@pytest.mark.parametrize("drift", ["Correct", "Report"])
def test_what_leads_to_the_primary_is_always_corrected(site: Site, drift: str) -> None:
    site.up(replicas=2, drift=drift)
    site.edit("Service", "r-master", {"spec": {"selector": {"statefulset.kubernetes.io/pod-name": "r-1"}}})
    site.edit("ConfigMap", "r-config", {"data": {"home": "1"}})
    site.run()
    assert site.get("Service", "r-master")["spec"]["selector"] == {"statefulset.kubernetes.io/pod-name": "r-0"}
    assert site.get("ConfigMap", "r-config")["data"]["home"] == "0"
    assert sorted(site.written) == ["PATCH configmaps/r-config", "PATCH services/r-master"]


@pytest.mark.parametrize("how", ["apply", "edit"])
def test_labels_and_annotations_of_others_survive(site: Site, how: str) -> None:
    site.up(replicas=2)
    marks = {"labels": {"team": "x"}, "annotations": {"argocd.argoproj.io/tracking-id": "y"}}
    marked = [key for key in site.objects() if key.kind not in {"Pod", "PersistentVolumeClaim", "Secret"}]
    for key in marked:
        site.edit(key.kind, key.name, {"metadata": marks})
    site.run()
    assert site.written == []
    site.up(replicas=2, metadata={"inherit": {"labels": ["a"]}}, memory="512Mi", networkPolicy={"enabled": True})
    for key in marked:
        metadata = site.get(key.kind, key.name)["metadata"]
        assert metadata["labels"]["team"] == "x"
        assert metadata["annotations"]["argocd.argoproj.io/tracking-id"] == "y"


def test_what_somebody_deleted_comes_back(site: Site) -> None:
    site.up(replicas=2)
    for kind, name in [("Service", "r-master"), ("ConfigMap", "r-config"), ("StatefulSet", "r")]:
        site.behind.delete(site.key(kind, name), site.get(kind, name)["metadata"]["uid"])
    outcome = site.run()
    assert [change.verb for change in outcome.changes] == ["create"] * 3
    site.run()
    assert site.written == []


# -- kubectl and GitOps tools ------------------------------------------------------------------------------------------


def scale(kubectl: Kubectl) -> None:
    kubectl("scale", "statefulset", "r", "--replicas=3")


def edit(kubectl: Kubectl) -> None:
    """Send what `kubectl edit` sends."""
    patch = '{"spec":{"replicas":3}}'
    kubectl("patch", "statefulset", "r", "-p", patch, "--field-manager=kubectl-edit")


@pytest.mark.parametrize(("by", "manager"), [(scale, "kubectl"), (edit, "kubectl-edit")])
def test_what_kubectl_changed_is_set_back_with_one_write(
    site: Site, kubectl: Kubectl, by: Callable[[Kubectl], None], manager: str
) -> None:
    site.up(replicas=2)
    by(kubectl)
    outcome = site.run()
    (change,) = outcome.changes
    assert [(one.field, one.live, one.manager) for one in change.differences] == [("spec.replicas", 3, manager)]
    assert site.written == ["PATCH statefulsets/r"]
    assert site.get("StatefulSet", "r")["spec"]["replicas"] == 2
    site.run()
    assert site.written == []


@pytest.mark.parametrize(("by", "manager"), [(scale, "kubectl"), (edit, "kubectl-edit")])
def test_what_kubectl_changed_is_told_and_left_where_the_user_wants_that(
    site: Site, kubectl: Kubectl, by: Callable[[Kubectl], None], manager: str
) -> None:
    site.up(replicas=2, drift="Report")
    by(kubectl)
    outcome = site.run(wait=False)
    assert site.written == ["PATCH redises/r/status"]
    assert [change.verb for change in outcome.changes] == ["leave"]
    assert f"{manager} owns spec.replicas" in (site.condition("DriftDetected") or {})["message"]
    assert site.get("StatefulSet", "r")["spec"]["replicas"] == 3


ROUNDS = 3


def take_over(site: Site) -> None:
    """Apply as Argo CD does server-side: labels and annotations of its own, and fields that are ours."""
    marks = {"labels": {"argocd.argoproj.io/instance": "shop"}, "annotations": {"argocd.argoproj.io/tracking-id": "y"}}
    for kind, name, api_version, rest in (
        ("StatefulSet", "r", "apps/v1", {"spec": {"minReadySeconds": 77}}),
        ("ConfigMap", "r-config", "v1", {"data": {"max-lag": "1"}}),
    ):
        metadata = {"name": name, "namespace": site.namespace, **marks}
        manifest = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}
        query = {"fieldManager": "argocd-controller", "force": "true"}
        request = Request("patch", KINDS[kind], site.key(kind, name), "", query, APPLY, manifest)
        site.behind._session.exchange(site.behind._session.login, request, 60.0)


def test_a_tool_that_applies_for_ever_costs_one_write_an_object_each_time_and_its_marks_stay(site: Site) -> None:
    site.up(replicas=2)
    for _ in range(ROUNDS):
        take_over(site)
        outcome = site.run()
        assert sorted(site.written) == ["PATCH configmaps/r-config", "PATCH statefulsets/r"]
        managers = {one.manager for change in outcome.changes for one in change.differences}
        assert managers == {"argocd-controller"}
        site.run()
        assert site.written == []
        stateful_set = site.get("StatefulSet", "r")
        assert stateful_set["spec"]["minReadySeconds"] == 5
        assert stateful_set["metadata"]["labels"]["argocd.argoproj.io/instance"] == "shop"


def test_a_tool_that_applies_for_ever_is_left_its_fields_and_told_once_where_the_user_wants_that(site: Site) -> None:
    site.up(replicas=2, drift="Report")
    written = []
    for _ in range(ROUNDS):
        take_over(site)
        outcome = site.run()
        written += site.written
        assert [change.verb for change in outcome.changes] == ["leave", "leave"]
    assert written == ["PATCH redises/r/status"]
    told = (site.condition("DriftDetected") or {})["message"]
    assert "argocd-controller owns spec.minReadySeconds" in told
    assert "argocd-controller owns data.max-lag" in told


# -- how the server spells --------------------------------------------------------------------------------------------

SPELLED: dict[str, Any] = {
    "pod": {
        "resources": {"requests": {"cpu": "0.5"}, "limits": {"cpu": "1000m", "ephemeral-storage": "1024Mi"}},
        "sidecars": [
            {
                "name": "side",
                "image": "busybox",
                "resources": {"requests": {"memory": "0.5Gi", "cpu": "0.1"}, "limits": {"memory": "1024Mi"}},
                "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
                "ports": [{"containerPort": 80}],
                "env": [{"name": "A", "value": ""}, {"name": "B"}],
                "livenessProbe": {"httpGet": {"port": 80, "path": ""}},
            }
        ],
        "volumes": [{"name": "scratch", "emptyDir": {"sizeLimit": "1024Ki"}}],
    },
    "scheduling": {
        "tolerations": [{"key": "a", "tolerationSeconds": 5, "effect": "NoExecute", "operator": "Exists"}],
        "topologySpreadConstraints": [
            {"maxSkew": 2, "topologyKey": "rack", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}
        ],
        "affinity": {"nodeAffinity": {}},
    },
    "networkPolicy": {"enabled": True, "allowFrom": [{"podSelector": {}}]},
}


def test_what_the_server_only_spells_otherwise_costs_no_write(site: Site) -> None:
    site.up(replicas=2, **SPELLED)
    outcome = site.run()
    assert (site.written, outcome.changes, outcome.settled) == ([], (), True)
    assert len(dry_runs(site)) <= 1


def test_a_real_difference_of_ours_is_applied_after_the_dry_run(site: Site) -> None:
    """As after an upgrade of redisop: the document is the same, and something else is made of it."""
    site.up(replicas=2)
    (sent,) = [json.loads(seen.body) for seen in site.writes if seen.path.endswith("/statefulsets/r")]
    del sent["metadata"]["resourceVersion"]
    site.behind.apply(sent | {"spec": sent["spec"] | {"minReadySeconds": 1}}, force=True)
    site.run()
    assert (site.written, len(dry_runs(site))) == (["PATCH statefulsets/r"], 1)
    assert site.get("StatefulSet", "r")["spec"]["minReadySeconds"] == 5


def _plain(manifest: Manifest) -> Manifest:
    metadata = {
        name: value
        for name, value in manifest["metadata"].items()
        if name not in {"managedFields", "resourceVersion", "generation"}
    }
    spec = {
        name: value
        for name, value in manifest.get("spec", {}).items()
        if name not in {"ports", "externalTrafficPolicy"}
    }
    return manifest | {"metadata": metadata, "spec": spec, "status": None}
