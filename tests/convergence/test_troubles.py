"""What the API server refuses, delays, drops and breaks: the rest is done, and what is not is said with its Key."""

import threading
from pathlib import Path
from typing import Any

import pytest

from redisop import names
from redisop.failures import Denied, Forbidden, Invalid, NamespaceNotFound, OutOfTime, Unavailable, Unreachable
from redisop.live.kube import Kube, connect
from redisop.manifest import Manifest
from redisop.reconcile import Outcome
from redisop.reconcile.rights import rules
from tests.cluster.api_server import ApiServer
from tests.convergence.conftest import make_site
from tests.convergence.fault_proxy import answer, delay, drop_reply, is_write, reset
from tests.convergence.site import Site, until
from tests.rights import account
from tests.world import ScriptedMembers


def to(plural: str) -> Any:
    return lambda seen: is_write(seen) and f"/{plural}/" in f"{seen.path}/"


def refusal(reason: str, code: int, message: str) -> Any:
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code}
    return answer(code, status | {"message": message})


REFUSALS = {
    "quota": (refusal("Forbidden", 403, 'services "x" is forbidden: exceeded quota: few, requested: 1'), Denied),
    "webhook": (refusal("BadRequest", 400, 'admission webhook "w" denied the request: no'), Denied),
    "right": (
        refusal(
            "Forbidden",
            403,
            'services "x" is forbidden: User "me" cannot patch resource "services" in API group "" in the namespace '
            '"n"',
        ),
        Forbidden,
    ),
    "invalid": (refusal("Invalid", 422, "it is wrong"), Invalid),
    "busy": (answer(429, "later", retry_after=0), Unavailable),
    "broken": (reset, Unreachable),
}


@pytest.mark.parametrize("plural", ["services", "configmaps", "poddisruptionbudgets", "statefulsets", "secrets"])
def test_a_child_that_is_refused_holds_up_nothing_else(site: Site, plural: str) -> None:
    site.proxy.inject(REFUSALS["quota"][0], when=to(plural), times=1000)
    redis, created = site.put(replicas=2)
    outcome = site.run(redis, created)
    wanted = {"serviceaccounts", "secrets", "configmaps", "services", "poddisruptionbudgets", "statefulsets"}
    there = {kind.plural for kind in names.KINDS if any(key.kind == kind.kind for key in site.objects())}
    assert there == wanted - {plural}
    assert {type(failure) for failure in outcome.failures} == {Denied}
    assert not outcome.settled
    site.proxy.heal()
    assert site.run().settled


@pytest.mark.parametrize("what", REFUSALS)
def test_each_failure_is_told_in_the_status_with_its_key(site: Site, what: str) -> None:
    fault, kind = REFUSALS[what]
    site.proxy.inject(fault, when=to("services/r-read"), times=1000)
    outcome = site.run(*site.put(replicas=2))
    assert [type(failure) for failure in outcome.failures] == [kind]
    stalled, ready = site.condition("Stalled"), site.condition("Ready")
    assert stalled
    assert ready
    assert (stalled["status"], stalled["reason"]) == ("True", kind.__name__)
    assert f"Service/{site.namespace}/r-read" in stalled["message"]
    assert (ready["status"], outcome.status["phase"]) == ("False", "Failed")
    assert site.condition("Reconciling") is None
    site.proxy.heal()
    assert site.run().settled
    assert site.condition("Stalled") is None


def test_a_real_quota_is_told_and_the_rest_is_done(site: Site) -> None:
    spec = {"hard": {"count/services": "2"}}
    metadata = {"name": "few", "namespace": site.namespace}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": spec}
    request_to(site, "POST", f"/api/v1/namespaces/{site.namespace}/resourcequotas", quota)
    status = {"status": {"hard": spec["hard"], "used": {"count/services": "2"}}}
    request_to(site, "PATCH", f"/api/v1/namespaces/{site.namespace}/resourcequotas/few/status", status)
    outcome = site.run(*site.put(replicas=2))
    assert {type(failure) for failure in outcome.failures} == {Denied}
    assert all("few" in str(failure) for failure in outcome.failures)
    assert site.find("StatefulSet", "r")


def test_a_policy_that_refuses_one_child_is_told_in_its_own_words_and_the_rest_is_done(site: Site) -> None:
    group, named = "admissionregistration.k8s.io", f"no-budgets-{site.namespace}"
    budgets = {"apiGroups": ["policy"], "apiVersions": ["v1"], "resources": ["poddisruptionbudgets"]}
    here = f"object.metadata.namespace == '{site.namespace}'"
    policy = {
        "matchConstraints": {"resourceRules": [{**budgets, "operations": ["CREATE", "UPDATE"]}]},
        "matchConditions": [{"name": "here", "expression": here}],
        "validations": [{"expression": "false", "message": "budgets are made by the platform team"}],
    }
    binding = {"policyName": named, "validationActions": ["Deny"]}
    for kind, spec in (("ValidatingAdmissionPolicy", policy), ("ValidatingAdmissionPolicyBinding", binding)):
        plural = kind.lower().replace("policy", "policies") if kind.endswith("Policy") else f"{kind.lower()}s"
        manifest = {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": named}, "spec": spec}
        request_to(site, "POST", f"/apis/{group}/v1/{plural}", manifest)
    metadata = {"name": "probe", "namespace": site.namespace}
    probe = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": {}}
    until(lambda: is_denied(site, probe))

    outcome = site.run(*site.put(replicas=2))
    (denied,) = outcome.failures
    assert isinstance(denied, Denied)
    assert str(denied.key) == f"PodDisruptionBudget/{site.namespace}/r"
    assert "budgets are made by the platform team" in str(denied)
    assert [key.kind for key in site.objects()].count("Service") == 3
    assert site.find("StatefulSet", "r")


def is_denied(site: Site, manifest: Manifest) -> bool:
    try:
        site.behind.apply(manifest, force=True, dry_run=True)
    except Denied:
        return True
    return False


def request_to(site: Site, method: str, path: str, body: Manifest) -> None:
    login = site.behind._session.login
    headers = {**login.authorization(), "Content-Type": "application/json"}
    if method == "PATCH":
        headers["Content-Type"] = "application/merge-patch+json"
    done = login.pool.request(method, login.url(path), json=body, headers=headers)
    assert done.status < 300, done.data


# -- an API server that is slow, busy or broken -----------------------------------------------------------------------

FAULTS = {
    "429 in bursts": answer(429, "later", retry_after=0),
    "500 in bursts": answer(500, "sorry"),
    "503 in bursts, with a time to come back": answer(503, "later", retry_after=1),
    "resets": reset,
    "dropped replies": drop_reply,
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize("when", [is_write, lambda seen: not is_write(seen)], ids=["writes", "reads"])
def test_bursts_of_faults_are_lived_through(site: Site, fault: Any, when: Any) -> None:
    site.up(replicas=2)
    redis, _ = site.put(replicas=3, networkPolicy={"enabled": True}, config={"timeout": "5"}, memory="512Mi")
    for place in (1, 4, 6, 9):
        site.proxy.inject(fault, when=when, at=place, times=1)
    outcome = site.run(redis)
    assert (outcome.settled, outcome.failures) == (True, ())
    site.proxy.heal()
    site.run()
    assert site.written == []


@pytest.mark.parametrize("number", range(1, 10))
def test_a_new_instance_comes_up_whichever_reply_is_dropped(site: Site, number: int) -> None:
    site.proxy.inject(drop_reply, when=is_write, at=number)
    outcome = site.run(*site.put(replicas=2))
    assert (outcome.settled, outcome.failures) == (True, ())
    assert len([key for key in site.objects() if key.kind == "Secret"]) == 1
    site.run()
    assert site.written == []


@pytest.mark.full
def test_a_server_that_takes_two_seconds_for_each_answer_is_waited_for(site: Site) -> None:
    site.proxy.inject(delay(2.0), times=1000)
    assert site.run(*site.put(replicas=2)).settled


def test_a_server_that_answers_too_slowly_for_the_time_given_is_named(site: Site) -> None:
    site.proxy.inject(delay(1.0), times=1000)
    redis, _ = site.put(replicas=2)
    with pytest.raises((OutOfTime, Unreachable)) as failure:
        site.run(redis, seconds=2.5)
    assert failure.value.key
    assert site.namespace in str(failure.value)


def test_a_server_that_is_gone_is_named(site: Site) -> None:
    redis, _ = site.put()
    with site.proxy.down(), pytest.raises((OutOfTime, Unreachable), match=r"API server|no time"):
        site.run(redis, seconds=2)


def test_a_namespace_that_does_not_exist_is_named(site: Site) -> None:
    redis, _ = site.put()
    lost = redis.model_copy(update={"metadata": redis.metadata.model_copy(update={"namespace": "absent"})})
    failures = site.run(lost, created=True).failures
    assert isinstance(failures[0], NamespaceNotFound)
    assert "absent" in str(failures[0])


# -- rights -----------------------------------------------------------------------------------------------------------


def servant(api_server: ApiServer, site: Site, folder: Path, without: tuple[str, str] | None = None) -> Site:
    """Return the site as a ServiceAccount sees it that has the loop's rights, `without` one verb on one resource."""
    kubectl = api_server.kubectl.in_namespace(site.namespace)
    kubectl.apply(account(site.namespace, "loop", without))
    token = kubectl("create", "token", "loop").strip()
    return make_site(api_server, site.namespace, site.proxy, folder, token)


def everything(site: Site) -> list[Outcome]:
    """Let the loop do all that it ever does."""
    grows = {"storageClassName": "grows", "retention": {"whenDeleted": "Delete"}}
    documents: list[dict[str, Any]] = [
        {"replicas": 2, "networkPolicy": {"enabled": True}, "persistence": {"storageClassName": "grows"}},
        {"replicas": 3, "storage": "2Gi", "deletion": {"protected": True}, "persistence": grows},
        {"replicas": 1, "pod": {"serviceAccountName": "default"}, "storage": "2Gi", "persistence": grows},
    ]
    return [site.run(*site.put(**document), seconds=30) for document in documents] + [site.run()]


def test_the_derived_rights_are_enough(site: Site, api_server: ApiServer, tmp_path: Path) -> None:
    outcomes = everything(servant(api_server, site, tmp_path))
    assert [(outcome.settled, outcome.failures) for outcome in outcomes] == [(True, ())] * 4


# Everything else that the loop does is done in `everything`.
RARE = {
    *(("secrets", "get"), ("redises", "get"), ("redises", "list"), ("pods", "delete")),
    ("services", "get"),
    *(("podmonitors", verb) for verb in ("get", "create", "patch", "delete")),
}
RIGHTS = [(rule["resources"][0], verb) for rule in rules() for verb in rule["verbs"]]
SAMPLE = {("services", "list"), ("secrets", "create"), ("statefulsets", "patch"), ("redises/status", "patch")}


@pytest.mark.parametrize(
    ("resource", "verb"),
    [
        pytest.param(*right, marks=() if right in SAMPLE else pytest.mark.full, id=" ".join(right))
        for right in RIGHTS
        if right not in RARE
    ],
)
def test_a_right_that_is_missing_is_named(
    site: Site, api_server: ApiServer, tmp_path: Path, resource: str, verb: str
) -> None:
    servants = servant(api_server, site, tmp_path, without=(resource, verb))
    failures: list[Forbidden] = []
    try:
        for outcome in everything(servants):
            failures += [failure for failure in outcome.failures if isinstance(failure, Forbidden)]
    except Forbidden as failure:
        failures.append(failure)
    assert {(failure.resource, failure.verb) for failure in failures} == {(resource, verb)}
    assert f'the verb "{verb}" on "{resource}"' in str(failures[0])


# -- two at a time ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("storage", ["1Gi", "2Gi"])
@pytest.mark.parametrize("created", [True, False], ids=["new", "old"])
def test_two_runs_at_the_same_time_end_well(
    site: Site, api_server: ApiServer, tmp_path: Path, created: bool, storage: str
) -> None:
    spec: dict[str, Any] = {"replicas": 2, "persistence": {"storageClassName": "grows"}}
    if not created:
        site.up(**spec)
        spec |= {"storage": storage, "memory": "512Mi", "networkPolicy": {"enabled": True}}
    redis, _ = site.put(**spec)
    outcomes: list[Outcome | Exception] = []
    start = threading.Barrier(2)
    site.proxy.inject(delay(0.05), times=1000)

    def run(kube: Kube, members: ScriptedMembers) -> None:
        start.wait()
        try:
            outcomes.append(site.run(redis, created, kube=kube, members=members))
        except Exception as error:
            outcomes.append(error)

    other = connect(str(site.proxy.kubeconfig(tmp_path, "admin-token")), None, 60.0)
    threads = [threading.Thread(target=run, args=(kube, site.members)) for kube in (site.kube, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [(type(one), getattr(one, "settled", None), getattr(one, "failures", one)) for one in outcomes] == [
        (Outcome, True, ())
    ] * 2
    assert len([key for key in site.objects() if key.kind == "Secret"]) == 1
    assert len([key for key in site.objects() if key.kind == "StatefulSet"]) == 1
    site.proxy.heal()
    site.run()
    site.run()
    assert site.written == []
