"""`redisop validate`: what is wrong, for people on stderr and for programs as JSON."""

import json

import pytest

from tests.cli.run import EXAMPLE, document, redisop


def test_a_valid_document_is_said_to_be_valid_on_stdout():
    ended = redisop("validate", "-n", "shop", "-f", "-", stdin=EXAMPLE)
    assert (ended.code, ended.stdout, ended.stderr) == (0, "stdin:1: Redis/shop/my-redis-cluster is valid\n", "")


def test_warnings_are_said_and_fail_nothing():
    ended = redisop("validate", "-f", "-", stdin=document(persistence="{mode: None}"))
    assert ended.code == 0
    assert ended.stderr.startswith("stdin:6: warning: spec.persistence.mode: ")


def test_the_secret_is_not_the_business_of_validate():
    assert redisop("validate", "-f", "-", stdin=EXAMPLE).stderr == ""


def test_json_has_everything_and_stderr_nothing():
    text = f"{document('good')}---\n{document('bad', memory='lots')}---\napiVersion: v1\nkind: Pod\n---\na: ["
    ended = redisop("validate", "-o", "json", "-f", "-", "-f", "/no/such", stdin=text)
    assert (ended.code, ended.stderr) == (3, "")
    assert json.loads(ended.stdout) == {
        "valid": False,
        "documents": [{"source": "stdin", "line": 1, "kind": "Redis", "namespace": None, "name": "good"}],
        "findings": [
            {
                "level": "error",
                "source": "stdin",
                "line": 14,
                "path": "spec.memory",
                "wrong": '"lots" is not a quantity',
                "right": "write for example 512Mi or 2Gi",
            },
            {
                "level": "note",
                "source": "stdin",
                "line": 18,
                "path": "",
                "wrong": "Pod of v1 is passed over",
                "right": "redisop takes Redis of example.com/v1",
            },
            {
                "level": "error",
                "source": "stdin",
                "line": 21,
                "path": "",
                "wrong": "a value is missing, or its bracket is not open or not closed",
                "right": "check the brackets",
            },
            {
                "level": "error",
                "source": "/no/such",
                "line": None,
                "path": "",
                "wrong": "no such file or directory",
                "right": "check the path and its permissions",
            },
        ],
    }


@pytest.mark.parametrize(("text", "valid"), [(EXAMPLE, True), ("", False), (document(replicas="99"), False)])
def test_json_says_whether_all_is_well(text, valid):
    ended = redisop("validate", "-o", "json", "-f", "-", stdin=text)
    assert json.loads(ended.stdout)["valid"] is valid
    assert ended.code == (0 if valid else 3)
