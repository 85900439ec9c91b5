"""`redisop completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from redisop.cli.group import redisop
from redisop.cli.output import put


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print a script that completes commands in a shell.

    \b
    Try it, or put the line into the shell's start file:
        bash, zsh:  source <(redisop completion bash)
        fish:       redisop completion fish | source
    """
    completion = get_completion_class(shell)
    assert completion is not None, "the choices above are those that click knows"  # noqa: S101
    put(completion(redisop, {}, "redisop", "_REDISOP_COMPLETE").source() + "\n")
