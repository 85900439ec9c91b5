"""What goes to stdout (data, as bytes of UTF-8) and to stderr (talk, coloured on a terminal)."""

from __future__ import annotations

import os
import sys
from typing import Literal, NoReturn

import click

from redisop.manifest import Manifest, list_of, to_json, to_yaml

Level = Literal["error", "warning", "note"]

_COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}
_UNWRITABLE = 2
_READER_LEFT = 141  # as a shell reports a process that SIGPIPE ended


def put(text: str) -> None:
    """Write data to stdout: UTF-8 and line feeds in every locale. Ends the process quietly when nobody reads it."""
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
    shown = click.style(f"{level}:", fg=_COLOURS[level], bold=True) if _is_coloured() else f"{level}:"
    line = f"{where}: {shown} {what}" if where else f"{shown} {what}"
    click.echo(line, err=True, color=True)


def stop(what: str) -> NoReturn:
    """End the process because what it made cannot be written anywhere."""
    say("error", what)
    sys.exit(_UNWRITABLE)


def _is_coloured() -> bool:
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
