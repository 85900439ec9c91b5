"""Settings of `redis.conf` that a running Redis takes: they are set on the members before the file says them.

In this order a process killed in between leaves a file that still differs, and the next one does it again; so does a
member that did not answer, which is given them when it does. What is read at start only is not touched here: the pod
template carries it.
"""

from __future__ import annotations

from redisop import names
from redisop.api.config_keys import restart_keys, takes_words
from redisop.api.redis_conf_lines import parse
from redisop.plan.actions import Configure
from redisop.plan.setting_defaults import default
from redisop.plan.wanted import Wanted
from redisop.snapshot import Snapshot
from redisop.snapshot.health import runs
from redisop.snapshot.vitals import Vitals

CONFIG_FILE = "redis.conf"


def settings(wanted: Wanted, snapshot: Snapshot) -> Configure | None:
    """Return what to set on every member that answers; None when the file on the cluster says it already."""
    changed = changed_settings(running_file(snapshot), wanted)
    answering = tuple(member for member in snapshot.vitals if member.answered)
    if not (changed and answering):
        return None
    keys = ", ".join(key for key, _ in changed)
    return Configure(answering, changed, f"the document has other values for {keys}")


def unasked(wanted: Wanted, snapshot: Snapshot) -> tuple[Vitals, ...]:
    """Return the members that run with what the file on the cluster says, should not, and did not answer.

    What does not run reads the file when it starts.
    """
    if not changed_settings(running_file(snapshot), wanted):
        return ()
    running = {pod["metadata"]["name"] for pod in snapshot.pods if runs(pod, names.REDIS_CONTAINER)}
    return tuple(member for member in snapshot.vitals if not member.answered and member.pod in running)


def changed_settings(running: str | None, wanted: Wanted) -> tuple[tuple[str, str], ...]:
    """Return the keys with another value in `wanted` than in the file `running`, but for those read at start only.

    A key that is taken back goes to what Redis takes by itself.
    """
    if running is None:
        return ()
    old, new = values(running), values(wanted.redis_conf)
    gone = {key: default(key, wanted.version) for key in sorted(old.keys() - new.keys())}
    at_start = restart_keys(wanted.version)
    return tuple(
        (key, value)
        for key, value in {**new, **gone}.items()
        if value is not None and old.get(key) != value and key not in at_start
    )


def running_file(snapshot: Snapshot) -> str | None:
    """Return `redis.conf` as the cluster has it, None when there is none."""
    files = (manifest for which, manifest in snapshot.live.items() if which.kind == "ConfigMap")
    return next((found for manifest in files if (found := manifest.get("data", {}).get(CONFIG_FILE))), None)


def values(text: str) -> dict[str, str]:
    """Return the value of each key of a `redis.conf`, as `CONFIG SET` takes it."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        for key, value in parse([line]).items():
            # Several lines of one key are one value: save points, and classes of clients.
            repeats = key in found and (key == "save" or takes_words(key))
            found[key] = f"{found[key]} {value}" if repeats else value
    return found
