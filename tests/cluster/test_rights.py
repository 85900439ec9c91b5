"""A ServiceAccount with the loop's rights and no others brings an instance up; a right that is missing is named."""

import json

import pytest

from tests.rights import account

# In this order each run gets as far as to miss its own.
MISSING = [("services", "list"), ("secrets", "create"), ("pods", "watch"), ("redises/status", "patch")]


@pytest.fixture
def kubeconfig(kubectl, tmp_path):
    """Make a ServiceAccount with the loop's rights, `without` one of them, and a kubeconfig of it."""

    def make(name, without=None):
        kubectl.apply(account(kubectl.namespace, name, without))
        content = json.loads(kubectl.kubeconfig.read_text())
        content["users"][0]["user"] = {"token": kubectl("create", "token", name).strip()}
        path = tmp_path / name
        path.write_text(json.dumps(content))
        return path

    return make


def test_the_derived_rights_bring_an_instance_up_and_through_changes_and_none_can_be_missing(
    managed, kubectl, kubeconfig
):
    shop = managed(replicas=2, storage="64Mi")
    loop = kubeconfig("loop")
    lacking = {right: kubeconfig(f"loop-{number}", right) for number, right in enumerate(MISSING)}
    kubectl.apply(shop.document)
    for right, its in lacking.items():
        assert refused(shop, its) == right
    once(shop, loop)
    shop.wait_until_serving()
    processes = shop.run_ids()

    spec = {"storage": "128Mi", "networkPolicy": {"enabled": True}, "config": {"timeout": "7"}}
    spec |= {"persistence": {"retention": {"whenDeleted": "Delete"}}, "deletion": {"protected": True}}
    shop.document["spec"] |= spec
    kubectl.apply(shop.document)
    once(shop, loop)
    assert shop.run_ids() == processes
    assert [shop.setting(member, "timeout") for member in shop.members] == ["7", "7"]

    spec = {"networkPolicy": {"enabled": False}, "deletion": {"protected": False}, "replicas": 1}
    shop.document["spec"] |= spec | {"pod": {"serviceAccountName": "default"}}
    kubectl.apply(shop.document)
    once(shop, loop)
    assert shop.roles() == {"shop-0": "primary"}


def once(shop, kubeconfig):
    process = shop.redisop("reconcile", "--once", "shop", "--timeout", "150s", kubeconfig=kubeconfig)
    said = process.communicate()
    assert process.returncode == 0, said


def refused(shop, kubeconfig):
    """Return the right that a run says is missing."""
    process = shop.redisop("reconcile", "--once", "shop", "--timeout", "60s", kubeconfig=kubeconfig)
    out, err = process.communicate()
    assert process.returncode == 4, out + err
    named = [right for right in MISSING if f'the verb "{right[1]}" on "{right[0]}"' in err]
    assert len(named) == 1, err
    return named[0]
