"""The command line, and the only place beside `live` that touches files, streams and the environment.

Every command is a file of its own and is imported when it is called, so that `redisop --help` costs next to nothing.
What goes wrong ends in one line and an exit code; a traceback is a fault of redisop.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

INTERRUPTED = 130
FAULT_OF_REDISOP = 70


def main() -> NoReturn:
    """Run the command that the process was called with, and leave with its exit code."""
    if sys.stderr is None:  # closed: the exit code has to say it all
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - for as long as the process
    try:
        sys.exit(_run())
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception as error:
        if os.environ.get("REDISOP_TRACEBACK"):
            raise
        from redisop.cli.output import say_fault

        say_fault(error)
        sys.exit(FAULT_OF_REDISOP)


def _run() -> int:
    # Looking for plugins of pydantic reads the metadata of every package that is installed beside this one.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

    import click

    from redisop.cli.group import redisop

    try:
        code = redisop.main(prog_name="redisop", standalone_mode=False)
    except click.Abort:
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    return code if isinstance(code, int) else 0
