"""What happens while it happens, on stderr: a line that moves on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import click

from redisop.cli.output import is_terminal
from redisop.manifest import Key


class Progress(Protocol):
    """Hears of several `Redis` from several threads."""

    def happened(self, which: Key, what: str) -> None:
        """Tell of something that was done."""

    def waits(self, which: Key, what: str) -> None:
        """Tell how it is now; heard again and again."""

    def ended(self, which: Key) -> None:
        """Tell that nothing more will happen."""


@contextmanager
def progress() -> Iterator[Progress]:
    """Show progress in the way that suits stderr."""
    if is_terminal(sys.stderr):
        with _moving_lines() as moving:
            yield moving
    else:
        yield _PlainLines()


class _PlainLines:
    def __init__(self) -> None:
        self._said: dict[Key, str] = {}

    def happened(self, which: Key, what: str) -> None:
        click.echo(f"{which}: {what}", err=True)

    def waits(self, which: Key, what: str) -> None:
        if self._said.get(which) != what:
            self._said[which] = what
            click.echo(f"{which}: {what}", err=True)

    def ended(self, which: Key) -> None:
        """Nothing stands on the screen that would have to go."""


@contextmanager
def _moving_lines() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import Progress as Display
    from rich.progress import SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
    from rich.text import Text

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Display(*columns, console=Console(stderr=True, highlight=False), transient=True) as display:

        class MovingLines:
            def __init__(self) -> None:
                self._tasks: dict[Key, TaskID] = {}

            def happened(self, which: Key, what: str) -> None:
                display.console.print(Text(f"{which}: {what}"))

            def waits(self, which: Key, what: str) -> None:
                if which not in self._tasks:
                    self._tasks[which] = display.add_task("", total=None)
                display.update(self._tasks[which], description=f"{which}: {what}")

            def ended(self, which: Key) -> None:
                if which in self._tasks:
                    display.remove_task(self._tasks.pop(which))

        yield MovingLines()
