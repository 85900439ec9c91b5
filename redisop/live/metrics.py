"""Metrics: controller-runtime's and client-go's names where the meaning is the same, `redisop_` for the rest.

What somebody else counts already (the queue, the client, the cache, the lease) is asked for when it is scraped. A
`Redis` is one small record and no object of prometheus_client: thousands of these would cost more than all else that is
kept of it. One that is gone leaves no series.
"""

from __future__ import annotations

import platform
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import msgspec
from prometheus_client import CollectorRegistry, Histogram, ProcessCollector, disable_created_metrics
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.samples import Sample

from redisop import __version__, names
from redisop.live.queue import Figures
from redisop.live.store import Name
from redisop.live.told import Told
from redisop.plan.actions import Promote
from redisop.reconcile import Outcome

# The label by which controller-runtime tells controllers and their queues apart: the kind, in small letters.
CONTROLLER: Final = names.REDIS.kind.lower()
# What came of a pass, in controller-runtime's words; `requeue_after` is one that is looked after soon.
Result: TypeAlias = Literal["success", "error", "requeue_after"]
_RESULTS: Final[tuple[Result, ...]] = ("success", "error", "requeue_after")
# In seconds. client-go's go from 10 ns in steps of ten, these where a pass or a wait may lie.
_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_METHODS: Final = {"create": "POST", "patch": "PATCH", "delete": "DELETE"}

Labels: TypeAlias = dict[str, str]
Value: TypeAlias = tuple[Labels, float]


@dataclass(frozen=True, slots=True)
class Sources:
    """Who is asked at each scrape; each is called by the thread that serves it and must not wait.

    `requests` counts those to the API server `host` by verb and status code, `watch_ages` has the
    seconds since something was heard of a kind, `workers` is how many there are.
    """

    queue: Callable[[], Figures]
    requests: Callable[[], Mapping[tuple[str, str], int]]
    watch_ages: Callable[[], Mapping[str, float]]
    leads: Callable[[], bool]
    host: str
    workers: int


class _Instance(msgspec.Struct, gc=False):
    """What is shown of one `Redis`; `last_pass` in seconds since 1970."""

    ready: bool = False
    members: int = 0
    promotions: int = 0
    last_pass: float = 0.0


class Metrics:
    """All methods may be called by any thread, and none waits."""

    def __init__(self, sources: Sources) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._sources = sources
        self._lock = threading.Lock()
        self._instances: dict[Name, _Instance] = {}
        self._results: Counter[Result] = Counter()
        self._panics = 0
        self._told: Counter[tuple[str, str]] = Counter()
        self._registry = CollectorRegistry()
        self._pass_seconds = self._histogram(
            "controller_runtime_reconcile_time_seconds",
            "Length of time per reconciliation per controller.",
            "controller",
        )
        self._wait_seconds = self._histogram(
            "workqueue_queue_duration_seconds",
            "How long in seconds an item stays in the workqueue before being requested.",
            "name",
        )
        self._work_seconds = self._histogram(
            "workqueue_work_duration_seconds",
            "How long in seconds processing an item from the workqueue takes.",
            "name",
        )
        ProcessCollector(registry=self._registry)
        self._registry.register(self)

    def waited(self, seconds: float) -> None:
        """Count the time that a `Redis` was due before a worker took it."""
        self._wait_seconds.observe(seconds)

    def passed(self, of: Name, outcome: Outcome, now: float, seconds: float) -> None:
        """Count a pass that took so many seconds and ended at `now`, in seconds since 1970."""
        failed = bool(outcome.failures or outcome.refusals)
        self._took(seconds, "error" if failed else "success" if outcome.settled else "requeue_after")
        with self._lock:
            instance = self._instances.setdefault(of, _Instance())
            instance.ready = any(
                condition["type"] == "Ready" and condition["status"] == "True"
                for condition in outcome.status.get("conditions", ())
            )
            instance.members = outcome.status.get("replicas", 0)
            instance.promotions += isinstance(outcome.action, Promote) and not outcome.refusals
            instance.last_pass = now

    def failed(self, seconds: float, panic: bool) -> None:
        """Count a pass that could not be made; `panic`: by a fault of redisop."""
        self._took(seconds, "error")
        with self._lock:
            self._panics += panic

    def rejected(self, of: Name, now: float, seconds: float) -> None:
        """Count a pass over a `Redis` that is not valid: waiting does not help it."""
        self._took(seconds, "success")
        with self._lock:
            instance = self._instances.setdefault(of, _Instance())
            instance.ready, instance.last_pass = False, now

    def told(self, told: Iterable[Told]) -> None:
        """Count what was told, by its reason."""
        with self._lock:
            self._told.update((each.type, each.reason) for each in told)

    def forget(self, of: Name) -> None:
        """Keep nothing of a `Redis` that is gone."""
        with self._lock:
            self._instances.pop(of, None)

    def exposition(self, accept: str) -> tuple[bytes, str]:
        """Return all metrics in the format that an HTTP header `Accept` asks for, and the type of that."""
        encode, content_type = choose_encoder(accept)
        return encode(self._registry), content_type

    def collect(self) -> Iterator[Metric]:
        """Yield the families that are no histograms, as prometheus_client asks for them."""
        for name, documentation, kind, values in _FAMILIES:
            yield _family(name, documentation, kind, values(self))
        figures = self._sources.queue()  # once: it goes through all that is queued
        for name, documentation, kind, figure in _QUEUE_FAMILIES:
            yield _family(name, documentation, kind, [({"name": CONTROLLER}, figure(figures))])
        yield from self._of_instances()

    def describe(self) -> Iterable[Metric]:
        """Have nothing collected to register."""
        return ()

    def _histogram(self, name: str, documentation: str, label: str) -> Histogram:
        buckets, registry = _BUCKETS, self._registry
        return Histogram(name, documentation, (label,), buckets=buckets, registry=registry).labels(CONTROLLER)

    def _took(self, seconds: float, result: Result) -> None:
        self._pass_seconds.observe(seconds)
        self._work_seconds.observe(seconds)
        with self._lock:
            self._results[result] += 1

    def _of_instances(self) -> Iterator[Metric]:
        with self._lock:
            instances = list(self._instances.items())
        for name, documentation, kind, take in _INSTANCE_FAMILIES:
            yield _family(
                name,
                documentation,
                kind,
                (({"namespace": of.namespace, "redis": of.name}, take(instance)) for of, instance in instances),
            )


def _family(name: str, documentation: str, kind: str, values: Iterable[Value]) -> Metric:
    metric = Metric(name.removesuffix("_total"), documentation, kind)
    metric.samples = [Sample(name, labels, value, None, None) for labels, value in values]
    return metric


# -- families ---------------------------------------------------------------------------------------------------------


def _results(metrics: Metrics) -> Iterator[Value]:
    for result in _RESULTS:
        yield {"controller": CONTROLLER, "result": result}, metrics._results[result]


def _errors(metrics: Metrics) -> Iterator[Value]:
    yield {"controller": CONTROLLER}, metrics._results["error"]


def _panics(metrics: Metrics) -> Iterator[Value]:
    yield {"controller": CONTROLLER}, metrics._panics


def _workers(metrics: Metrics) -> Iterator[Value]:
    yield {"controller": CONTROLLER}, metrics._sources.workers


def _requests_as_client_go(metrics: Metrics) -> Iterator[Value]:
    counts: Counter[tuple[str, str]] = Counter()
    for (verb, code), count in dict(metrics._sources.requests()).items():  # others go on counting
        counts[code, _METHODS.get(verb, "GET")] += count
    for (code, method), count in sorted(counts.items()):
        yield {"code": code, "host": metrics._sources.host, "method": method}, count


def _requests(metrics: Metrics) -> Iterator[Value]:
    for (verb, code), count in sorted(metrics._sources.requests().items()):
        yield {"verb": verb, "code": code}, count


def _leads(metrics: Metrics) -> Iterator[Value]:
    yield {"name": names.FIELD_MANAGER}, metrics._sources.leads()


def _watch_ages(metrics: Metrics) -> Iterator[Value]:
    for kind, age in sorted(metrics._sources.watch_ages().items()):
        yield {"kind": kind}, age


def _build(metrics: Metrics) -> Iterator[Value]:
    yield {"version": __version__, "python": platform.python_version()}, 1


def _told(metrics: Metrics) -> Iterator[Value]:
    with metrics._lock:
        counts = sorted(metrics._told.items())
    for (kind, reason), count in counts:
        yield {"type": kind, "reason": reason}, count


_FAMILIES: Final[tuple[tuple[str, str, str, Callable[[Metrics], Iterator[Value]]], ...]] = (
    (
        "controller_runtime_reconcile_total",
        "Total number of reconciliations per controller, by result.",
        "counter",
        _results,
    ),
    (
        "controller_runtime_reconcile_errors_total",
        "Total number of reconciliation errors per controller.",
        "counter",
        _errors,
    ),
    (
        "controller_runtime_reconcile_panics_total",
        "Total number of reconciliations that a fault of redisop ended.",
        "counter",
        _panics,
    ),
    (
        "controller_runtime_max_concurrent_reconciles",
        "Maximum number of concurrent reconciles per controller.",
        "gauge",
        _workers,
    ),
    (
        "rest_client_requests_total",
        "Number of HTTP requests, partitioned by status code, method and host.",
        "counter",
        _requests_as_client_go,
    ),
    (
        "leader_election_master_status",
        "1 when this process leads, 0 when it stands by.",
        "gauge",
        _leads,
    ),
    ("redisop_api_requests_total", "Requests to the API server, by verb and status code.", "counter", _requests),
    ("redisop_watch_age_seconds", "Seconds since a watch heard of this kind.", "gauge", _watch_ages),
    (
        "redisop_told_total",
        "What was done, failed, was refused or held, by the reason that log, Event and condition give.",
        "counter",
        _told,
    ),
    ("redisop_build_info", "Which redisop this is.", "gauge", _build),
)

_QUEUE_FAMILIES: Final[tuple[tuple[str, str, str, Callable[[Figures], float]], ...]] = (
    ("workqueue_depth", "How many Redis are due and wait for a worker.", "gauge", lambda queue: queue.depth),
    ("workqueue_adds_total", "How often a Redis became due.", "counter", lambda queue: queue.adds_total),
    (
        "workqueue_retries_total",
        "How often a Redis became due again since its pass failed.",
        "counter",
        lambda queue: queue.retries_total,
    ),
    (
        "workqueue_unfinished_work_seconds",
        "Sum of the seconds that the passes under way have taken so far.",
        "gauge",
        lambda queue: queue.unfinished_work_seconds,
    ),
    (
        "workqueue_longest_running_processor_seconds",
        "Seconds that the longest of the passes under way has taken so far.",
        "gauge",
        lambda queue: queue.longest_running_processor_seconds,
    ),
    ("redisop_queue_delayed", "How many Redis are to be looked at later.", "gauge", lambda queue: queue.delayed),
    (
        "redisop_queue_oldest_seconds",
        "Seconds for which the Redis that is due the longest has waited.",
        "gauge",
        lambda queue: queue.oldest_seconds,
    ),
)

_INSTANCE_FAMILIES: Final[tuple[tuple[str, str, str, Callable[[_Instance], Any]], ...]] = (
    ("redisop_redis_ready", "1 when the Redis is Ready.", "gauge", lambda each: each.ready),
    ("redisop_redis_members", "How many pods the Redis has.", "gauge", lambda each: each.members),
    (
        "redisop_redis_promotions_total",
        "How often a member was made primary since redisop started, the first time included.",
        "counter",
        lambda each: each.promotions,
    ),
    (
        "redisop_redis_last_pass_timestamp_seconds",
        "When the last pass over the Redis ended, in seconds since 1970.",
        "gauge",
        lambda each: each.last_pass,
    ),
)
