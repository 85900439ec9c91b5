"""The command `redisop` itself: what its commands are called and what they are for."""

from __future__ import annotations

import gc
from importlib import import_module
from typing import Final

import click
from click.shell_completion import CompletionItem

COMMANDS: Final = {
    "render": "Print the manifests that a Redis document stands for.",
    "validate": "Say everything that is wrong with documents, and where.",
    "explain": "Show what redisop chose where a document says nothing, and why.",
    "reconcile": "Make a cluster agree with Redis documents, once, and say how it went.",
    "run": "Stay, and make a cluster agree with its Redis objects whenever something changes.",
    "diff": "Show what `redisop reconcile` would change in a cluster, and what that does to the running Redis.",
    "status": "Show how Redis objects in a cluster fare.",
    "secret": "Print a Secret with a fresh password for a Redis.",
    "install": "Print what a controller in a cluster needs: its Deployment, its rights, the kind Redis.",
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
        return _imported(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        commands = COMMANDS.items()
        matching = [CompletionItem(name, help=purpose) for name, purpose in commands if name.startswith(incomplete)]
        return matching + click.Command.shell_complete(self, ctx, incomplete)


def _imported(name: str) -> click.Command:
    """Import a command without the garbage collector, which would look for garbage in models that stay for ever."""
    gc.disable()
    command: click.Command = import_module(f"redisop.cli.{name}").command
    gc.freeze()
    gc.enable()
    return command


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
        redisop render -f my-redis.yaml | kubectl apply --server-side --field-manager=redisop -f -

    \b
    Or with redisop, which also waits, gives the roles and makes the password:
        redisop reconcile --once -f my-redis.yaml

    \b
    Exit codes:
        0    done
        1    diff, --dry-run: changes are pending; reconcile: not Ready in time
        2    the command was called wrongly, or its input or output is closed or could not be written
        3    a document is invalid or missing, or asks for something refused
        4    the cluster refused, or could not be reached
        5    another field manager owns what was to be set
        70   a fault of redisop
        130  interrupted
        141  whoever read stdout left
    """
