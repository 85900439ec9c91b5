"""`redisop install`."""

from __future__ import annotations

from pathlib import Path

import click

from redisop.api.crd import NAME as CRD_NAME
from redisop.api.rules import syntax
from redisop.cli.options import checked_namespace, folder_option
from redisop.cli.output import put_manifests
from redisop.install import FOR_ADMINISTRATORS, install
from redisop.install.options import NAME, NAMESPACE, SELECTOR, Options
from redisop.manifest import Manifest

_is_image = syntax.matcher(syntax.IMAGE)


def _image(ctx: click.Context, param: click.Parameter, value: str) -> str:
    if not _is_image(value):
        raise click.BadParameter(f"{value!r} is no name of an image; one looks like registry.example.com/redisop:0.1.0")
    return value


def _namespaces(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        checked_namespace(ctx, param, value)
    return tuple(sorted(set(values)))


@click.command()
@click.option("--image", required=True, callback=_image, help="The image of redisop, as your nodes can pull it.")
@click.option(
    "-n",
    "--namespace",
    default=NAMESPACE,
    show_default=True,
    callback=checked_namespace,
    help="Namespace of the controller itself.",
)
@click.option(
    "--watch-namespace",
    "watch_namespaces",
    multiple=True,
    metavar="NAMESPACE",
    callback=_namespaces,
    help="Look after this namespace, with rights in it alone; may be repeated. Without: all namespaces.",
)
@click.option(
    "--replicas", type=click.IntRange(1, 2), default=1, show_default=True, help="2: one more stands by, with a budget."
)
@click.option("--pod-monitor", is_flag=True, help="Print a PodMonitor, where the Prometheus operator is installed.")
@click.option(
    "--without",
    type=click.Choice(list(FOR_ADMINISTRATORS)),
    multiple=True,
    help="Leave out what somebody else applies; may be repeated.",
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["yaml", "json", "kustomize"]),
    default="yaml",
    show_default=True,
    help="Output format; kustomize writes a folder.",
)
@folder_option
def command(
    image: str,
    namespace: str,
    watch_namespaces: tuple[str, ...],
    replicas: int,
    pod_monitor: bool,
    without: tuple[str, ...],
    output: str,
    output_dir: Path | None,
) -> None:
    """Print what a controller in a cluster needs: its Deployment, its rights, the kind Redis.

    The same options give the same bytes. The image is built from the Dockerfile of redisop; there is no public one. The
    rights are those that the controller uses, derived from its code: nothing is a wildcard, no Secret and no claim is
    deleted.

    \b
    Install it for all namespaces:
        redisop install --image registry.example.com/redisop:0.1.0 | \\
            kubectl apply --server-side --field-manager=redisop -f -
    Keep it in Git, and change it with kustomize:
        redisop install --image registry.example.com/redisop:0.1.0 -o kustomize --output-dir redisop
        kubectl apply --server-side --field-manager=redisop -k redisop
    Install it for one namespace, without any right in others; an administrator applies once what belongs to the
    cluster, which is what --without can leave out:
        redisop install --image registry.example.com/redisop:0.1.0 -n shop --watch-namespace shop \\
            --without namespace --without crd --without user-roles --without deletion-policies

    \b
    What --without can leave out:
        namespace          the namespace of the controller, which lets in restricted pods only
        crd                the kind Redis, as redisop crd prints it
        user-roles         what users may do with Redis objects, added to the roles view, edit and admin
        deletion-policies  the API server refuses to delete a Redis with deletion.protected, and its namespace
    """
    if (output == "kustomize") != (output_dir is not None):
        raise click.UsageError("-o kustomize and --output-dir go together: give both, or neither")
    options = Options(image, namespace, watch_namespaces, replicas, pod_monitor, frozenset(without))
    manifests = install(options)
    if output_dir:
        from redisop.cli.folder import put_files  # tempfile and what it imports are a tenth of a start

        put_files(output_dir, manifests, _installed, "install")
    else:
        put_manifests(manifests, output)


def _installed(manifest: Manifest) -> str | None:
    """Tell what `install` printed from what it did not."""
    is_crd = manifest["metadata"]["name"] == CRD_NAME
    return NAME if is_crd or SELECTOR.items() <= manifest["metadata"]["labels"].items() else None
