"""`redisop run`, put together: one client, one controller, who leads, and how it all is told. It decides nothing."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from redisop import __version__, names
from redisop.live import log
from redisop.live.controller import LAST_SECONDS, Controller, Leadership, Unshared
from redisop.live.endpoints import Endpoints
from redisop.live.events import Recorder
from redisop.live.kube import Kube, connect
from redisop.live.lease import Elector, identity
from redisop.live.metrics import Metrics, Sources
from redisop.live.voice import Speaker
from redisop.manifest import Key

# What is left of the kubelet's ten seconds when the workers have had theirs.
_FAREWELL: Final = 10.0 - LAST_SECONDS - 0.5
_log = logging.getLogger("redisop")


@dataclass(frozen=True, slots=True)
class Settings:
    """What can be set: see `redisop run --help`. An empty `metrics_address` serves nothing."""

    namespaces: tuple[str, ...]
    workers: int
    metrics_address: str
    leader_elect: bool
    lease_namespace: str | None
    log_format: log.Format
    log_level: log.Level
    kubeconfig: str | None
    context: str | None
    request_timeout: float


def operate(settings: Settings, stopping: threading.Event) -> bool:
    """Run until `stopping` is set, and return True; False when the lead was lost.

    Raises Failure when no cluster is configured, or the address is not free.
    """
    log.configure(settings.log_format, settings.log_level, sys.stderr)
    kube = connect(settings.kubeconfig, settings.context, settings.request_timeout)
    me = identity()
    elector = _elector(settings, kube, me)
    leadership: Leadership = elector or Unshared()
    sources = Sources(
        queue=lambda: controller.queue.figures(),
        requests=lambda: kube.answers,
        watch_ages=lambda: controller.cache.ages,
        leads=lambda: elector is None or elector.term is not None,
        host=kube.host,
        workers=settings.workers,
    )
    metrics = Metrics(sources)
    recorder = Recorder(kube, me, lambda: elector is None or elector.term is not None)
    controller = Controller(kube, settings.namespaces, settings.workers, Speaker(recorder, metrics), leadership)
    where = f"in {', '.join(settings.namespaces)}" if settings.namespaces else "in all namespaces"
    _log.info("redisop %s looks after Redis objects %s as %s", __version__, where, me)
    with _served(settings.metrics_address, controller, metrics):
        if elector:
            elector.start()
        whole = controller.run(stopping)
        told_to = stopping.is_set()
        _log.info("ends, as it was told to" if told_to else "ends: another one may lead by now")
        recorder.close(_FAREWELL / 2)
        # A worker that is still at it must not meet the next leader: then the Lease runs out by itself.
        if elector and whole:
            elector.stop(_FAREWELL / 2)
    return told_to


def _elector(settings: Settings, kube: Kube, me: str) -> Elector | None:
    if not settings.leader_elect:
        return None
    return Elector(kube, Key(names.LEASE.kind, settings.lease_namespace or kube.namespace, names.LEASE_NAME), me)


@contextlib.contextmanager
def _served(address: str, controller: Controller, metrics: Metrics) -> Iterator[None]:
    if not address:
        yield
        return
    checks = {"/healthz": list[str], "/readyz": lambda: controller.troubles}
    endpoints = Endpoints(address, checks, metrics.exposition)
    endpoints.start()
    try:
        yield
    finally:
        endpoints.close()
