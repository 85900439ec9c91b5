"""`redisop run`."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING

import click

from redisop.cli.cluster_options import Cluster, cluster_options
from redisop.cli.errors import code_of, complain
from redisop.cli.exit_codes import CLUSTER, DONE
from redisop.cli.options import checked_namespace
from redisop.failures import Failure

if TYPE_CHECKING:
    from redisop.live.log import Format, Level

# More threads than this that compute keep each other waiting for hundreds of milliseconds.
MOST_WORKERS = 4


@click.command(context_settings={"auto_envvar_prefix": "REDISOP"})
@click.option(
    "-n",
    "--namespace",
    "namespaces",
    multiple=True,
    metavar="NAMESPACE",
    envvar="REDISOP_NAMESPACE",
    callback=lambda ctx, param, values: tuple(dict.fromkeys(checked_namespace(ctx, param, each) for each in values)),
    help="Look after this namespace only; may be repeated. Without: all of them.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, MOST_WORKERS),
    default=MOST_WORKERS,
    show_default=True,
    help="Passes at the same time.",
)
@click.option(
    "--metrics-address",
    metavar="HOST:PORT",
    default="127.0.0.1:8080",
    show_default=True,
    help='Where /metrics, /healthz and /readyz are served; "": nowhere.',
)
@click.option(
    "--leader-elect/--no-leader-elect",
    default=True,
    show_default=True,
    help="Let one of several controllers work, by a Lease; without, this one must be the only one.",
)
@click.option(
    "--lease-namespace",
    metavar="NAMESPACE",
    callback=checked_namespace,
    help="Where the Lease is, instead of the context's namespace (in a pod: its own). Controllers with Leases in "
    "different namespaces do not know of each other.",
)
@click.option(
    "--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="A line a pass."
)
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
    help="Passes that find nothing to do are told at debug.",
)
@cluster_options
def command(
    namespaces: tuple[str, ...],
    workers: int,
    metrics_address: str,
    leader_elect: bool,
    lease_namespace: str | None,
    log_format: Format,
    log_level: Level,
    cluster: Cluster,
) -> int:
    """Stay, and make a cluster agree with its Redis objects whenever something changes.

    It is what `redisop install` lets run in the cluster, and it runs as well from anywhere with a kubeconfig, as long
    as the addresses of the pods can be reached from there. At rest it writes nothing but its Lease.

    Every option may be given by an environment variable: REDISOP_ and its name, as in REDISOP_LOG_FORMAT=json,
    REDISOP_LEADER_ELECT=false, REDISOP_NAMESPACE="shop web". An option on the command line counts more; an empty
    variable counts as none.

    \b
    Try it against the cluster of your kubeconfig, where no other controller is, and end it with Ctrl-C:
        redisop run --no-leader-elect -n default
    Stand by for the one that redisop install lets run:
        redisop run --lease-namespace redisop-system

    \b
    Exit codes:
        0    it was told to end (SIGTERM, Ctrl-C)
        2    the command was called wrongly
        4    the lead was lost: start it again; or no cluster is configured, or --metrics-address is not free
    """
    if lease_namespace and not leader_elect:
        raise click.UsageError("--lease-namespace says where the Lease is, --no-leader-elect that there is none")
    from redisop.live.operator import Settings, operate

    stopping = threading.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda *_: stopping.set())
    settings = Settings(
        namespaces,
        workers,
        metrics_address,
        leader_elect,
        lease_namespace,
        log_format,
        log_level,
        cluster.kubeconfig,
        cluster.context,
        cluster.request_timeout,
    )
    try:
        return DONE if operate(settings, stopping) else CLUSTER
    except Failure as failure:
        complain(failure)
        return code_of(failure)
