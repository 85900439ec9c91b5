"""What goes to stdout (data, as bytes of UTF-8) and to stderr (talk, coloured on a terminal)."""

from __future__ import annotations

import os
import sys
from typing import Literal, NoReturn, TextIO

import click

from redisop.manifest import Manifest, list_of, to_json, to_yaml

Level = Literal["error", "warning", "note"]

_COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}
_NO_STREAM = 2
_READER_LEFT = 141  # as a shell reports a process that SIGPIPE ended


def put(text: str) -> None:
    """Write data to stdout: UTF-8 and line feeds in every locale. Ends the process quietly when nobody reads it."""
    if sys.stdout is None:
        stop("stdout is closed")
    try:
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes once more at its end
        if isinstance(error, BrokenPipeError):
            sys.exit(_READER_LEFT)
        stop(f"cannot write to stdout: {error.strerror}")


def put_manifests(manifests: list[Manifest], output: str) -> None:
    """Write manifests as `yaml` documents or as one `json` List."""
    put(to_yaml(manifests) if output == "yaml" else to_json(list_of(manifests)))


def put_manifest(manifest: Manifest, output: str) -> None:
    """Write one manifest as `yaml` or `json`."""
    put(to_yaml([manifest]) if output == "yaml" else to_json(manifest))


def say(level: Level, what: str, where: str = "") -> None:
    """Write one line to stderr: `where: level: what`."""
    shown = click.style(f"{level}:", fg=_COLOURS[level], bold=True) if is_coloured(sys.stderr) else f"{level}:"
    line = f"{where}: {shown} {what}" if where else f"{shown} {what}"
    click.echo(line, err=True, color=True)


def say_fault(error: Exception) -> None:
    """Write the one line that asks for a report of what must not happen."""
    first_line = next(iter(str(error).splitlines()), "")
    fault = f"a fault of redisop, not of your document: {type(error).__name__}: {first_line}"
    say("error", f"{fault}: please report it with what the same command prints under REDISOP_TRACEBACK=1")


def stop(what: str) -> NoReturn:
    """End the process because there is nowhere to read from or to write to."""
    say("error", what)
    sys.exit(_NO_STREAM)


def is_terminal(stream: TextIO) -> bool:
    """Tell whether somebody looks at `stream` on something that can move its cursor."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def is_coloured(stream: TextIO) -> bool:
    """Tell whether colours are wanted on `stream`."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR")
