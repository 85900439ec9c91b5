"""The rules of the loop's Role. That they are enough, and none too many, is shown on a real API server."""

from redisop import names
from redisop.reconcile.rights import rules


def test_every_kind_has_a_rule_and_nothing_is_a_wildcard() -> None:
    resources = [resource for rule in rules() for resource in rule["resources"]]
    kinds = (*names.KINDS, names.POD, names.CLAIM, names.REDIS)
    assert sorted(resources) == sorted([*(kind.plural for kind in kinds), "redises/status"])
    assert "*" not in str(rules())


def test_secrets_and_claims_are_never_deleted_and_secrets_never_listed() -> None:
    verbs = {rule["resources"][0]: set(rule["verbs"]) for rule in rules()}
    assert "delete" not in verbs["secrets"] | verbs["persistentvolumeclaims"]
    assert "list" not in verbs["secrets"]
