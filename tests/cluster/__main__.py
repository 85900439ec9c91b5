"""The test cluster by hand.

    python -m tests.cluster up [--nodes N]
    python -m tests.cluster exec COMMAND…            in the control plane's network, with kubectl on PATH and KUBECONFIG
    python -m tests.cluster node n1…n9 kill|start|freeze|thaw|cut|join
    python -m tests.cluster down

REDISOP_TEST_CLUSTER_NAME=other keeps a second one beside the first. A test run takes down what has its name.
"""

import argparse
import os
import sys
import time

from tests.cluster import binaries
from tests.cluster.cluster import Cluster

FAULTS = ("kill", "start", "freeze", "thaw", "cut", "join")


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("up").add_argument("--nodes", type=int, default=3)
    commands.add_parser("down")
    commands.add_parser("exec").add_argument("argv", nargs=argparse.REMAINDER)
    node = commands.add_parser("node")
    node.add_argument("name")
    node.add_argument("fault", choices=FAULTS)
    options = parser.parse_args()
    try:
        if options.command in ("exec", "node") and not Cluster().is_up():
            sys.exit(f"tests.cluster: no cluster {Cluster().name!r} is up: `python -m tests.cluster up` starts it")
        if options.command == "up":
            up(options.nodes)
        elif options.command == "down":
            Cluster().down()
        elif options.command == "exec":
            execute(options.argv)
        else:
            getattr(Cluster(), options.fault)(options.name)
    except (RuntimeError, ValueError) as error:
        sys.exit(f"tests.cluster: {error}")


def up(nodes: int) -> None:
    """Start a cluster and say where it is."""
    began = time.monotonic()
    cluster = Cluster(nodes=nodes)
    cluster.up()
    print(f"{nodes} nodes Ready after {time.monotonic() - began:.1f} s\nKUBECONFIG={cluster.kubeconfig}")


def execute(command: list[str]) -> None:
    """Become ``command``, inside the cluster."""
    cluster = Cluster()
    os.environ["KUBECONFIG"] = str(cluster.kubeconfig)
    os.environ["PATH"] = f"{binaries.ensure()}:{os.environ['PATH']}"
    inside = cluster.command_in(command or [os.environ.get("SHELL", "sh")])
    os.execvp(inside[0], inside)


if __name__ == "__main__":
    main()
