"""`redisop secret`."""

from __future__ import annotations

import re
import secrets

import click

from redisop import names
from redisop.api.meta import NAME_LENGTH, NAME_PATTERN
from redisop.cli.options import format_option, namespace_option
from redisop.cli.output import put_manifest
from redisop.manifest import Manifest

RANDOM_BYTES = 24  # 32 URL-safe characters


@click.command()
@click.argument("name")
@namespace_option("Namespace of the Redis.")
@format_option("yaml", "json")
def command(name: str, namespace: str | None, output: str) -> None:
    """Print a Secret with a fresh password for a Redis.

    NAME is the name of the Redis, whose pods look for the Secret under <NAME>-auth.

    \b
    Nothing is kept: each call makes another password. Let kubectl refuse a second one:
        redisop secret my-redis | kubectl create -f -
    """
    if len(name) > NAME_LENGTH or not re.fullmatch(NAME_PATTERN, name):
        raise click.BadParameter(
            f"{name!r} is no name of a Redis: use at most {NAME_LENGTH} of a-z, 0-9 and -, beginning with a letter",
            param_hint="NAME",
        )
    put_manifest(secret(name, namespace, secrets.token_urlsafe(RANDOM_BYTES)), output)


def secret(name: str, namespace: str | None, password: str) -> Manifest:
    """Return the Secret in which the pods of the `Redis` called `name` look for their password."""
    where = {"namespace": namespace} if namespace else {}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": names.secret(name), **where, "labels": names.labels(name)},
        "type": "Opaque",
        "stringData": {names.PASSWORD_FILE: password},
    }
