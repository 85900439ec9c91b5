"""Options of the commands that work on a cluster: how to reach it, and which `Redis` are meant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Final

import click
from pydantic_core import PydanticCustomError

from redisop.api.scalars import Duration
from redisop.cli.options import Decorated, namespace_option


@dataclass(frozen=True, slots=True)
class Cluster:
    """Which cluster is meant; `request_timeout` is in seconds, for each wait on the network."""

    kubeconfig: str | None
    context: str | None
    request_timeout: float


@dataclass(frozen=True, slots=True)
class Selection:
    """Which `Redis` are meant: documents, or names, or all in a namespace or everywhere that a selector matches."""

    paths: tuple[str, ...]
    recursive: bool
    names: tuple[str, ...]
    namespace: str | None
    everywhere: bool
    selector: str | None

    @property
    def says_something(self) -> bool:
        """Tell whether it says at all which are meant."""
        return bool(self.paths or self.names or self.namespace or self.everywhere or self.selector)


def duration_option(name: str, default: str, help: str) -> Callable[[Decorated], Decorated]:
    """Return an option that takes a Go duration longer than nothing, which the command gets in seconds."""
    return click.option(name, metavar="DURATION", default=default, show_default=True, callback=_seconds, help=help)


def _seconds(ctx: click.Context, param: click.Parameter, value: str) -> float:
    try:
        seconds = float(Duration.parse(value).value)
    except PydanticCustomError as error:
        raise click.BadParameter(f"{value!r} {error.message()}") from None
    if not seconds:
        raise click.BadParameter(f"{value!r} leaves no time for anything; write for example 30s or 1m30s")
    return seconds


def cluster_options(command: Decorated) -> Decorated:
    """Add `--context`, `--kubeconfig` and `--request-timeout`, and pass them on together as `cluster`."""
    options = (
        click.option("--kubeconfig", metavar="PATH", help="Instead of $KUBECONFIG or ~/.kube/config."),
        click.option("--context", metavar="NAME", help="Context of the kubeconfig, instead of the current one."),
        duration_option("--request-timeout", "30s", "For each wait on the cluster."),
    )
    return _together("cluster", Cluster, ("kubeconfig", "context", "request_timeout"), options, command)


def selection_options(documents: bool = True) -> Callable[[Decorated], Decorated]:
    """Add NAMES, `-n`, `-A` and `-l`, with `documents` also `-f` and `-R`, and pass them on together as `selection`."""
    options = [
        click.argument("names", nargs=-1, metavar="[NAME]..."),
        namespace_option("Namespace, instead of that of the context."),
        click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="In all namespaces."),
        click.option("-l", "--selector", metavar="QUERY", help="Those with such labels, e.g. team=shop,tier!=test."),
    ]
    if documents:
        where = "File, folder, or - for stdin; may be repeated."
        options += [
            click.option("-R", "--recursive", is_flag=True, help="Go into the folders of a folder, too."),
            click.option("-f", "--filename", "paths", multiple=True, metavar="PATH", help=where),
        ]
    fields = ("paths", "recursive", "names", "namespace", "everywhere", "selector")

    def add(command: Decorated) -> Decorated:
        return _together("selection", _selection, fields, tuple(options), command)

    return add


_EXCLUSIVE: Final = (
    ("paths", "names", "-f says which Redis are meant: leave out the names"),
    ("paths", "everywhere", "-f says which Redis are meant: leave out -A"),
    ("paths", "selector", "-f says which Redis are meant: leave out -l"),
    ("names", "everywhere", "a name is that of one Redis in one namespace: leave out -A"),
    ("names", "selector", "a name is that of one Redis: leave out -l"),
    ("namespace", "everywhere", "-A is all namespaces: leave out -n"),
)


def _selection(**given: Any) -> Selection:
    documents: dict[str, Any] = {"paths": (), "recursive": False}
    selection = Selection(**(documents | given))
    for one, other, wrong in _EXCLUSIVE:
        if getattr(selection, one) and getattr(selection, other):
            raise click.UsageError(wrong)
    return selection


def _together(
    name: str,
    make: Callable[..., Any],
    fields: tuple[str, ...],
    options: tuple[Callable[[Decorated], Decorated], ...],
    command: Decorated,
) -> Decorated:
    @wraps(command)
    def gathered(*arguments: Any, **given: Any) -> Any:
        own = {field: given.pop(field) for field in fields if field in given}
        return command(*arguments, **given, **{name: make(**own)})

    decorated: Any = gathered
    for option in options:
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]
