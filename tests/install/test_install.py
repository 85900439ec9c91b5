"""What is installed, whatever was chosen: few rights, restricted pods, and no more than was asked for."""

import re
import tomllib
from itertools import product
from pathlib import Path

import pytest
import yaml

from redisop.api.crd import crd
from redisop.api.v1 import RedisSpec
from redisop.install import FOR_ADMINISTRATORS, install
from redisop.install.options import NAMESPACE, Options
from redisop.manifest import Manifest, key, to_yaml
from tests.install.cases import CASES, IMAGE
from tests.render.test_properties import violations

ROOT = Path(__file__).parents[2]
CHOICES = [
    Options(IMAGE, watch_namespaces=watched, replicas=replicas, pod_monitor=monitor, without=frozenset(without))
    for watched, replicas, monitor, without in product(
        [(), ("shop",), ("shop", "web", NAMESPACE)], [1, 2], [False, True], [(), ("crd",), tuple(FOR_ADMINISTRATORS)]
    )
]
MORE_THAN_IS_GIVEN = {"*", "escalate", "bind", "impersonate"}


def in_words(options: Options) -> str:
    words = (*options.watch_namespaces, options.replicas, options.pod_monitor and "monitor", *sorted(options.without))
    return " ".join(str(word) for word in words if word)


def of_kind(kind: str, options: Options) -> list[Manifest]:
    return [manifest for manifest in install(options) if manifest["kind"] == kind]


@pytest.mark.parametrize("options", CHOICES, ids=in_words)
def test_the_same_options_give_the_same_manifests_each_of_them_once(options: Options) -> None:
    text = to_yaml(install(options))
    assert to_yaml(install(options)) == text
    assert list(yaml.safe_load_all(text)) == install(options)
    keys = [key(manifest) for manifest in install(options)]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("options", CHOICES, ids=in_words)
def test_the_pods_meet_the_restricted_standard_and_write_nowhere(options: Options) -> None:
    [deployment] = of_kind("Deployment", options)
    pod = deployment["spec"]["template"]["spec"]
    assert list(violations(pod)) == []
    assert [container["securityContext"]["readOnlyRootFilesystem"] for container in pod["containers"]] == [True]
    assert "volumes" not in pod


@pytest.mark.parametrize("options", CHOICES, ids=in_words)
def test_no_role_has_a_wildcard_raises_itself_or_deletes_secrets_or_claims(options: Options) -> None:
    for role in of_kind("Role", options) + of_kind("ClusterRole", options):
        for rule in role["rules"]:
            assert not {*rule["apiGroups"], *rule["resources"], *rule["verbs"]} & MORE_THAN_IS_GIVEN, role["metadata"]
            if {"secrets", "persistentvolumeclaims", "namespaces", "nodes"} & {*rule["resources"]}:
                assert not {"delete", "deletecollection"} & {*rule["verbs"]}


@pytest.mark.parametrize("options", [options for options in CHOICES if options.watch_namespaces], ids=in_words)
def test_with_namespaces_to_look_after_no_right_of_the_controller_reaches_beyond_them(options: Options) -> None:
    assert of_kind("ClusterRoleBinding", options) == []
    places = {role["metadata"]["namespace"] for role in of_kind("RoleBinding", options)}
    assert places == {*options.watch_namespaces, options.namespace}
    [lease_role] = [role for role in of_kind("Role", options) if role["metadata"]["name"] == "redisop-lease"]
    assert {resource for rule in lease_role["rules"] for resource in rule["resources"]} == {"leases"}


def test_what_an_administrator_applies_and_the_rest_are_the_whole() -> None:
    whole = install(CASES["namespaced"])
    for name in FOR_ADMINISTRATORS:
        left = install(Options(IMAGE, "ops", ("shop", "web"), without=frozenset({name})))
        assert [manifest for manifest in whole if manifest in left] == left
        assert len(left) < len(whole)
    tenant = install(CASES["tenant"])
    assert [manifest["metadata"].get("namespace") for manifest in tenant] == ["shop"] * len(tenant)


def test_the_kind_is_what_redisop_crd_prints() -> None:
    assert of_kind("CustomResourceDefinition", CASES["cluster"]) == [crd()]


def test_members_let_in_the_controller_from_where_it_is_installed_by_default() -> None:
    assert RedisSpec().networkPolicy.operatorNamespace == NAMESPACE


def test_a_budget_comes_with_the_second_replica_only() -> None:
    assert of_kind("PodDisruptionBudget", Options(IMAGE)) == []
    assert len(of_kind("PodDisruptionBudget", Options(IMAGE, replicas=2))) == 1


def test_the_image_installs_every_dependency_by_version_and_hash() -> None:
    pinned = re.findall(r"^([a-z0-9-]+)==\S+ \\\n    --hash=sha256:", (ROOT / "requirements.txt").read_text(), re.M)
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert {re.split("[^a-z0-9_-]", name)[0].replace("_", "-") for name in wanted} <= {*pinned}
