"""`nox -s bench`: what redisop costs, as ratios to something that is measured in the same run.

    python -m tests.bench             everything that needs no cluster
    python -m tests.bench pods        processor time of a pod at rest, on the test cluster (root)

Each figure is the median of several runs that alternate with the runs they are compared with, since a machine's speed
drifts. Nothing here passes or fails: a goal that is missed is printed as missed.
"""

import sys

from tests.bench import documents, pods, start_up

SUITES = {"start-up": start_up.measure, "documents": documents.measure, "pods": pods.measure}
WITHOUT_CLUSTER = ("start-up", "documents")


def main(arguments: list[str]) -> int:
    """Run the suites that `arguments` name and print their figures."""
    unknown = [name for name in arguments if name not in SUITES]
    if unknown:
        print(f"no such suite: {', '.join(unknown)}; there are {', '.join(SUITES)}", file=sys.stderr)
        return 2
    for name in arguments or WITHOUT_CLUSTER:
        for figure in SUITES[name]():
            print(figure)
    return 0


sys.exit(main(sys.argv[1:]))
