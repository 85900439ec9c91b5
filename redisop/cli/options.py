"""Options that several commands share; they mean what they mean to kubectl."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def format_option(*formats: str) -> Callable[[Decorated], Decorated]:
    """Return the option `-o`; the first of `formats` is what stands without it."""
    choice = click.Choice(formats)
    return click.option("-o", "--output", type=choice, default=formats[0], show_default=True, help="Output format.")


class _Folder(click.Path):
    """Refuses the empty path, which Python takes for the current folder: a script's unset variable is none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not str(value):
            self.fail("an empty text is no folder: write . for this one", param, ctx)
        return super().convert(value, param, ctx)


def folder_option(command: Decorated) -> Decorated:
    """Add `--output-dir`."""
    folder = _Folder(file_okay=False, path_type=Path)
    return click.option("--output-dir", type=folder, help="Write one file a manifest here.")(command)


def namespace_option(help: str) -> Callable[[Decorated], Decorated]:
    """Return the option `-n`, which takes what can be the name of a namespace."""
    return click.option("-n", "--namespace", callback=checked_namespace, help=help)


def source_options(command: Decorated) -> Decorated:
    """Add `-f`, `-R` and `-n`, which say what documents to load."""
    command = namespace_option("Namespace of documents that name none.")(command)
    command = click.option("-R", "--recursive", is_flag=True, help="Go into the folders of a folder, too.")(command)
    where = "File, folder, or - for stdin; may be repeated."
    return click.option("-f", "--filename", "paths", multiple=True, required=True, metavar="PATH", help=where)(command)


def checked_namespace(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Return what can be the name of a namespace; raises BadParameter for anything else."""
    if value is not None and not _NAMESPACE.fullmatch(value):
        raise click.BadParameter(f"{value!r} is no name of a namespace: at most 63 of a-z, 0-9 and -, not at its ends")
    return value
