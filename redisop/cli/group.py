"""The command `redisop` itself: what its commands are called and what they are for."""

from __future__ import annotations

from importlib import import_module
from typing import Final

import click

COMMANDS: Final = {
    "render": "Print the manifests that a Redis document stands for.",
    "validate": "Say everything that is wrong with documents.",
    "explain": "Show what redisop chose where a document says nothing, and why.",
    "secret": "Print a Secret with a fresh password.",
    "crd": "Print the CustomResourceDefinition of Redis.",
    "version": "Say which redisop this is.",
    "completion": "Print a script that completes commands in a shell.",
}


class _Group(click.Group):
    """Knows its commands by the table above, and imports one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"redisop.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
def redisop() -> None:
    """Redis on Kubernetes from a short document.

    \b
    A document that is enough:
        apiVersion: example.com/v1
        kind: Redis
        metadata: {name: my-redis}
        spec: {replicas: 2, memory: 512Mi, storage: 2Gi, version: "7.0"}

    \b
    From there to a Redis that serves, with kubectl alone:
        redisop secret my-redis | kubectl create -f -
        redisop render -f my-redis.yaml | kubectl apply --server-side -f -

    \b
    Exit codes:
        0    done
        2    the command was called wrongly, or could not write its output
        3    a document is invalid or missing
        130  interrupted
    """
