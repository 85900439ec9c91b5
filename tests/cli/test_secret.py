"""`redisop secret`: a Secret of which nothing is kept."""

import base64
import json
import re

import pytest
import yaml

from tests.cli.run import document, redisop


def test_the_secret_has_the_name_and_the_key_that_pods_look_for():
    secret = yaml.safe_load(redisop("secret", "my-redis", "-n", "shop").stdout)
    assert (secret["apiVersion"], secret["kind"], secret["type"]) == ("v1", "Secret", "Opaque")
    assert (secret["metadata"]["name"], secret["metadata"]["namespace"]) == ("my-redis-auth", "shop")
    text = redisop("render", "-f", "-", stdin=document("my-redis", auth="{enabled: true}")).stdout
    pods = next(one for one in yaml.safe_load_all(text) if one["kind"] == "StatefulSet")["spec"]["template"]["spec"]
    [volume] = [volume for volume in pods["volumes"] if "secret" in volume]
    assert volume["secret"]["secretName"] == "my-redis-auth"
    assert {item["key"] for item in volume["secret"].get("items", [{"key": "password"}])} == set(secret["stringData"])


def test_it_carries_the_labels_of_the_children():
    secret = yaml.safe_load(redisop("secret", "my-redis").stdout)
    child = next(yaml.safe_load_all(redisop("render", "-f", "-", stdin=document("my-redis")).stdout))
    assert secret["metadata"]["labels"] == child["metadata"]["labels"]
    assert "namespace" not in secret["metadata"]


def test_the_password_has_32_url_safe_characters_and_is_another_each_time():
    passwords = {yaml.safe_load(redisop("secret", "a").stdout)["stringData"]["password"] for _ in range(50)}
    assert len(passwords) == 50
    assert all(re.fullmatch(r"[-_A-Za-z0-9]{32}", password) for password in passwords)
    assert all(len(base64.urlsafe_b64decode(password)) == 24 for password in passwords)


def test_a_password_that_looks_like_something_else_stays_text():
    for _ in range(300):  # one in thirty begins with a dash
        assert isinstance(yaml.safe_load(redisop("secret", "a").stdout)["stringData"]["password"], str)


def test_it_can_be_had_as_json():
    assert json.loads(redisop("secret", "a", "-o", "json").stdout)["kind"] == "Secret"


@pytest.mark.parametrize(
    "arguments", [[], ["A"], ["1a"], ["a-"], ["a_b"], ["a" * 53], [""], ["a", "b"], ["a", "-n", "X"]]
)
def test_what_cannot_be_the_name_of_a_redis_is_a_wrong_call(arguments):
    ended = redisop("secret", *arguments)
    assert (ended.code, ended.stdout) == (2, "")
    assert ended.lines[-1].startswith("Error: ")
