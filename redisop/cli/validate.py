"""`redisop validate`."""

from __future__ import annotations

import click

from redisop.cli.load import Load, load
from redisop.cli.options import format_option, source_options
from redisop.cli.output import put
from redisop.manifest import to_json


@click.command()
@source_options
@format_option("text", "json")
def command(paths: tuple[str, ...], recursive: bool, namespace: str | None, output: str) -> int:
    """Say everything that is wrong with documents, and where.

    Exits with 3 when something is wrong; warnings and notes are no fault. With -o json nothing goes to stderr.

    \b
    Before a commit, or in CI:
        redisop validate -f documents/
    """
    found = load(paths, recursive, namespace)
    if output == "json":
        put(to_json(_report(found)))
        return found.exit_code
    for finding in found.findings:
        finding.say()
    put("".join(f"{loaded.document.source}:{loaded.document.line}: {loaded.key} is valid\n" for loaded in found.loaded))
    return found.exit_code


def _report(found: Load) -> dict[str, object]:
    return {
        "valid": not found.exit_code,
        "documents": [loaded.identity() for loaded in found.loaded],
        "findings": [finding.as_data() for finding in found.findings],
    }
