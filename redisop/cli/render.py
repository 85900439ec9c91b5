"""`redisop render`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from redisop import names
from redisop.api.rules import unmanaged_warnings
from redisop.api.violation import Violation
from redisop.cli.load import Finding, Load, Loaded, load
from redisop.cli.options import folder_option, format_option, source_options
from redisop.cli.output import put_manifests
from redisop.manifest import Manifest
from redisop.render import render
from redisop.render.inputs import Inputs


@click.command()
@source_options
@format_option("yaml", "json")
@folder_option
@click.option("--primary", type=click.IntRange(min=0), default=0, show_default=True, help="Ordinal of the primary.")
@click.option("--epoch", type=click.IntRange(min=0), default=0, show_default=True, help="How often the primary moved.")
@click.option("--managed", is_flag=True, help="Print what redisop makes of a Redis object in a cluster.")
def command(
    paths: tuple[str, ...],
    recursive: bool,
    namespace: str | None,
    output: str,
    output_dir: Path | None,
    primary: int,
    epoch: int,
    managed: bool,
) -> int:
    """Print the manifests that a Redis document stands for.

    The same document gives the same bytes on any machine. Without --managed the manifests are complete: no redisop is
    needed beside them. Each Redis needs a Secret, which is never printed here; a note says how to make it.

    \b
    Apply a document:
        redisop render -f my-redis.yaml | kubectl apply --server-side --field-manager=redisop -f -
    Keep the manifests of a folder of documents in Git, and apply them:
        redisop render -f documents/ --output-dir manifests
        kubectl apply --server-side --field-manager=redisop -k manifests

    --output-dir writes <namespace>/<kind>-<name>.yaml, and a kustomization.yaml unless there is one of yours. What an
    earlier run wrote for the same Redis and this one does not is removed. --primary and --epoch hold for as long as the
    instance does: give them each time; a Redis whose files there have a higher epoch is refused.
    """
    if output_dir and output != "yaml":
        raise click.UsageError("--output-dir writes YAML: leave out -o")
    inputs = Inputs(managed=managed, primary=primary, epoch=epoch)
    found = load(paths, recursive, namespace)
    manifests = _manifests(found, inputs, output_dir)
    for finding in found.findings:
        finding.say()
    if manifests and output_dir:
        _write(output_dir, manifests)
    elif manifests:
        put_manifests(manifests, output)
    return found.exit_code


def _manifests(found: Load, inputs: Inputs, output_dir: Path | None) -> list[Manifest]:
    """Return the manifests of every `Redis` that may be written, and add what there is to say about them."""
    manifests: list[Manifest] = []
    for loaded in found.loaded:
        redis = loaded.redis
        try:
            children = render(redis.metadata, redis.spec, inputs)
        except ValueError as error:
            violation = Violation("spec.replicas", str(error), "give another --primary, or more replicas")
            found.findings.append(loaded.finding(violation))
            continue
        set_back = output_dir and _set_back(loaded, output_dir, children)
        if set_back:
            found.findings.append(set_back)
            continue
        manifests += children
        found.findings += _remarks(loaded, inputs)
    return manifests


def _set_back(loaded: Loaded, folder: Path, manifests: list[Manifest]) -> Finding | None:
    """Return the error that these manifests would make a member home again that an earlier run has deposed."""
    from redisop.cli.folder import later_home

    home = later_home(folder, manifests)
    if home is None:
        return None
    wrong = f"{home.file} has home {home.primary}, epoch {home.epoch}"
    flags = f"--primary {home.primary} --epoch {home.epoch}"
    right = f"give {flags} again (the flags hold for as long as the instance does), or remove the file"
    return loaded.error(wrong, right)


def _remarks(loaded: Loaded, inputs: Inputs) -> Iterator[Finding]:
    if not inputs.managed:
        yield from (loaded.finding(warning) for warning in unmanaged_warnings(loaded.redis))
    auth = loaded.redis.spec.auth
    if auth.enabled and auth.secretRef is None:
        key = loaded.key
        where = f" -n {key.namespace}" if key.namespace else ""
        wrong = f"the pods of {key.name} wait for the Secret {names.secret(key.name)}"
        yield loaded.note(wrong, f"make it once: redisop secret {key.name}{where} | kubectl create -f -")


def _write(folder: Path, manifests: list[Manifest]) -> None:
    from redisop.cli.folder import put_files, redis_of  # tempfile and what it imports are a tenth of a start

    put_files(folder, manifests, redis_of, "render")
