"""Every rule of the API: what is refused, where it is said to be wrong, and in which words."""

from collections import Counter

import pytest

from redisop.api import rules
from redisop.api.read import read
from tests.api.bad_documents import ALL, Bad, document


@pytest.mark.parametrize("bad", ALL, ids=lambda bad: bad.id)
def test_a_bad_document_is_told_where_it_is_wrong_and_what_would_be_right(bad: Bad):
    old = read(bad.old).redis if bad.old else None
    found = read(bad.document, old)
    assert [(violation.path, violation.level) for violation in found.violations] == [(bad.path, bad.level)]
    assert bad.text in str(found.violations[0])
    assert (found.redis is None) == (bad.level == "error")


def test_every_bad_document_has_a_name_of_its_own():
    assert [name for name, count in Counter(bad.id for bad in ALL).items() if count > 1] == []


def test_every_rule_is_broken_by_a_bad_document():
    broken = set()
    for bad in ALL:
        old = read(bad.old).redis if bad.old else None
        broken |= {violation.right for violation in read(bad.document, old).violations}
    stated = [rule for scope in rules.SCOPES for rule in scope.rules] + list(rules.TRANSITIONS)
    assert [rule for rule in stated if rule.right not in broken] == []


def test_a_message_is_one_line_that_says_what_would_be_right():
    for bad in ALL:
        for violation in read(bad.document, read(bad.old).redis if bad.old else None).violations:
            assert violation.wrong
            assert violation.right
            assert len(str(violation).splitlines()) == 1


def test_the_good_base_of_the_bad_documents_is_good():
    assert read(document()).violations == ()
