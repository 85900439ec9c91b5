"""`redisop version`."""

from __future__ import annotations

import platform

import click

from redisop import __version__
from redisop.api.defaults import NEWEST
from redisop.cli.options import format_option
from redisop.cli.output import put
from redisop.manifest import to_json


@click.command()
@format_option("text", "json")
def command(output: str) -> None:
    """Say which redisop this is."""
    facts = {"version": __version__, "defaultsRevision": NEWEST, "python": platform.python_version()}
    if output == "json":
        put(to_json(facts))
    else:
        put(f"redisop {__version__} (defaults revision {NEWEST}, Python {facts['python']})\n")
