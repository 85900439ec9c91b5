"""Passwords of any bytes: what the Secret holds is what Redis takes, and it stands in no argument and environment."""

from pathlib import Path

import pytest
import redis

from tests.boot.conftest import Boot
from tests.boot.instance import Instance, until
from tests.boot.setups import Setup, matrix
from tests.redis_servers import VERSIONS

EVERY_BYTE = bytes(byte for byte in range(1, 256) if byte != ord("\n"))

PASSWORDS = {
    "plain": b"s3cret",
    "one-newline-is-dropped": b"s3cret\n",
    "carriage-return": b"s3cret\r",
    "space": b" ",
    "spaces-around": b"  s3cret  ",
    "tabs": b"\ts3\tcret\t",
    "double-quotes": b'"s3"cret"',
    "single-quotes": b"'s3'cret'",
    "backslashes": b"\\s3\\\\cret\\n\\",
    "dollar": b"$s3$(cret)${x}`y`",
    "hash": b"#s3cret",
    "greater": b">s3cret",
    "percent": b"%s3%dcret%%",
    "glob": b"*s3?[cret]",
    "dashes": b"--help",
    "braces": b"{s3},{cret}",
    "utf-8": "Straße ☃ 密码 \N{PILE OF POO}".encode(),
    "every-byte": EVERY_BYTE,
    "long": EVERY_BYTE * 2,
}
LAST_CHARACTERS = [b"x" + bytes([byte]) for byte in (0x01, 0x20, 0x2E, 0x5C, 0x7F, 0x80, 0x81, 0x88, 0xA0, 0xFF)]


def check(instance: Instance) -> None:
    """See that Redis takes this password and no other, and that all three scripts can speak to it."""
    password = instance.secret()
    assert password
    until(lambda: instance.answers(0), "it answers to the password", instance)
    for wrong in (None, password[:-1] or "x", password + "x", password + "\n"):
        with instance.client(0) as client:
            client.connection_pool.connection_kwargs["password"] = wrong
            with pytest.raises((redis.AuthenticationError, redis.ResponseError)):
                client.get("x")
    until(lambda: instance.fact(0) == "primary 0", "the loop knows that it leads", instance)
    assert instance.script("ready.sh", 0).returncode == 0
    assert instance.script("handover.sh", 0).returncode == 0
    seen_by_others(instance, password.encode(errors="surrogateescape"))


# Redis writes over the environment that /proc shows of it, so it is taken down before.
WITNESSED = """#!/bin/sh
/usr/bin/env >{folder}/environment
printf '%s\\n' "$@" >{folder}/arguments
exec {real} "$@"
"""


def watched(instance: Instance) -> Instance:
    """Let `instance` start Redis through a witness."""
    instance.interpose("redis-server", WITNESSED, folder=instance.folder)
    instance.start()
    return instance


def seen_by_others(instance: Instance, password: bytes) -> None:
    """See that the password is in no argument list, and in no environment of a process that stays."""
    shell, server = (Path(f"/proc/{process}") for process in (instance.pods[0].process.pid, instance.server_pid(0)))
    seen = [(instance.folder / name).read_bytes() for name in ("environment", "arguments")]
    seen += [
        (shell / "environ").read_bytes(),
        (shell / "cmdline").read_bytes(),
        (server / "cmdline").read_bytes(),
    ]
    for text in seen:
        assert b"AUTH" not in text
        assert len(password) < 5 or password not in text
    assert b"POD_IP=" in seen[0]


@pytest.mark.parametrize("name", PASSWORDS)
@matrix(persistence=["none"], members=[1])
def test_redis_takes_what_the_secret_holds(prepare: Boot, setup: Setup, name: str) -> None:
    check(watched(prepare(setup, password=PASSWORDS[name])))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("shell", ["dash", "ash"])
def test_every_version_takes_every_byte_for_clients_and_replicas(prepare: Boot, version: str, shell: str) -> None:
    instance = watched(prepare(Setup("none", 2, version, shell), password=EVERY_BYTE + b"\n"))
    instance.await_primary()
    check(instance)


@pytest.mark.parametrize("password", LAST_CHARACTERS, ids=repr)
@matrix(persistence=["none"], members=[1])
def test_no_last_character_is_lost(prepare: Boot, setup: Setup, password: bytes) -> None:
    check(watched(prepare(setup, password=password)))


@matrix(persistence=["none"], members=[2])
def test_without_a_password_everybody_may_ask_and_replicas_follow(prepare: Boot, setup: Setup) -> None:
    instance = prepare(setup, password=None)
    instance.start()
    instance.await_primary()
    assert instance.script("ready.sh", 1).returncode == 0
    instance.kill(0)
    instance.start(0)
    instance.await_primary()
