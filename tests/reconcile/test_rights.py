"""The rules of the loop's Role. That they are enough, and none too many, is shown on a real API server."""

from redisop import names
from redisop.reconcile.rights import controller_rules, lease_rules, rules


def test_every_kind_has_a_rule_and_nothing_is_a_wildcard() -> None:
    resources = [resource for rule in rules() for resource in rule["resources"]]
    kinds = (*names.KINDS, names.POD, names.CLAIM, names.REDIS)
    assert sorted(resources) == sorted([*(kind.plural for kind in kinds), "redises/status"])
    assert "*" not in str(rules())


def test_secrets_and_claims_are_never_deleted_and_secrets_never_listed() -> None:
    verbs = {rule["resources"][0]: set(rule["verbs"]) for rule in rules()}
    assert "delete" not in verbs["secrets"] | verbs["persistentvolumeclaims"]
    assert "list" not in verbs["secrets"]


def test_a_controller_watches_everything_and_still_deletes_no_secret_and_no_claim() -> None:
    verbs = {rule["resources"][0]: set(rule["verbs"]) for rule in controller_rules()}
    kinds = (*names.KINDS, names.POD, names.CLAIM, names.REDIS)
    assert all({"list", "watch"} <= verbs[kind.plural] for kind in kinds)
    assert "delete" not in verbs["secrets"] | verbs["persistentvolumeclaims"] | verbs["redises"]


def test_of_leases_only_its_own_is_read_and_renewed() -> None:
    create, hold = lease_rules()
    assert (create["verbs"], "resourceNames" in create) == (["create"], False)
    assert (set(hold["verbs"]), hold["resourceNames"]) == ({"get", "patch"}, ["redisop"])
