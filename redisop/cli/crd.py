"""`redisop crd`."""

from __future__ import annotations

import click

from redisop.api.crd import crd
from redisop.cli.options import format_option
from redisop.cli.output import put_manifest


@click.command()
@format_option("yaml", "json")
def command(output: str) -> None:
    """Print the CustomResourceDefinition of Redis.

    \b
    Install it:
        redisop crd | kubectl apply --server-side --field-manager=redisop -f -
    """
    put_manifest(crd(), output)
