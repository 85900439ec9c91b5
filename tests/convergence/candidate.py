"""A process that stands for a Lease and says what it does: `python -m tests.convergence.candidate KUBECONFIG NS NAME`.

As long as it leads it counts up the `count` of the ConfigMap `written` under its own name, the term asked before each
write. It prints `leads` and `over`.
"""

import sys

from redisop.failures import Failure
from redisop.live.kube import connect
from redisop.live.lease import Elector
from redisop.manifest import Key
from tests.convergence.times import TIMES


def main(kubeconfig: str, namespace: str, name: str) -> None:
    """Stand for ever."""
    kube = connect(kubeconfig, None, 60.0)
    elector = Elector(kube, Key("Lease", namespace, "redisop"), name, TIMES)
    elector.start()
    count = 0
    while True:
        term = elector.wait(60.0)
        if term is None:
            continue
        say("leads")
        while term.held():
            count += 1
            try:
                kube.patch(Key("ConfigMap", namespace, "written"), {"data": {name: str(count)}})
            except Failure as failure:
                say(f"failed {failure}")
        say("over")


def say(line: str) -> None:
    """Tell the test."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
