"""Metrics as Prometheus reads them: names, types, values, and what a `Redis` costs."""

import re
import subprocess
import sys
import tracemalloc

import pytest
from prometheus_client import parser
from prometheus_client.openmetrics import parser as openmetrics

from redisop import __version__
from redisop.failures import Denied
from redisop.live.metrics import Metrics, Sources
from redisop.live.queue import Figures
from redisop.live.store import Name
from redisop.live.told import Told
from redisop.manifest import Key
from redisop.reconcile import reconcile
from tests.world import NOW, ScriptedMembers, World, redis

OPENMETRICS = "application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.3"
OF = Name("default", "r")
REQUESTS = {("list", "200"): 1, ("get", "200"): 2, ("patch", "429"): 3, ("create", "<error>"): 4}
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def metrics() -> Metrics:
    figures = Figures(
        adds_total=7,
        depth=2,
        retries_total=1,
        unfinished_work_seconds=0.5,
        longest_running_processor_seconds=0.25,
        delayed=3,
        oldest_seconds=0.125,
    )
    return Metrics(Sources(lambda: figures, lambda: REQUESTS, lambda: {"Pod": 1.5}, lambda: True, "10.0.0.1:443", 4))


def read(some: Metrics) -> Samples:
    """Return the samples as the OpenMetrics parser reads them, which is strict; the text format must say the same."""
    body, content_type = some.exposition(OPENMETRICS)
    assert content_type.startswith("application/openmetrics-text")
    families = openmetrics.text_string_to_metric_families(body.decode())
    found = {
        (sample.name, frozenset(sample.labels.items())): sample.value for each in families for sample in each.samples
    }
    text, content_type = some.exposition("")
    assert content_type.startswith("text/plain")
    classic = parser.text_string_to_metric_families(text.decode())
    same = {(sample.name, frozenset(sample.labels.items())) for each in classic for sample in each.samples}
    assert same == set(found)
    return found


def value(samples: Samples, name: str, /, **labels: str) -> float | None:
    return samples.get((name, frozenset(labels.items())))


def test_who_counts_already_is_asked_at_the_scrape() -> None:
    samples = read(metrics())
    expected = {
        "workqueue_depth": 2,
        "workqueue_adds_total": 7,
        "workqueue_retries_total": 1,
        "workqueue_unfinished_work_seconds": 0.5,
        "workqueue_longest_running_processor_seconds": 0.25,
    }
    assert {
        name: value(samples, name, name=name_) for name, name_ in ((each, "redis") for each in expected)
    } == expected
    assert value(samples, "leader_election_master_status", name="redisop") == 1
    assert value(samples, "redisop_watch_age_seconds", kind="Pod") == 1.5
    assert [labels for name, labels in samples if name == "redisop_build_info" and ("version", __version__) in labels]
    assert value(samples, "process_resident_memory_bytes")


def test_requests_are_counted_by_verb_and_as_client_go_does_by_method() -> None:
    samples = read(metrics())
    assert value(samples, "redisop_api_requests_total", verb="list", code="200") == 1
    host = {"host": "10.0.0.1:443"}
    assert value(samples, "rest_client_requests_total", code="200", method="GET", **host) == 3
    assert value(samples, "rest_client_requests_total", code="429", method="PATCH", **host) == 3
    assert value(samples, "rest_client_requests_total", code="<error>", method="POST", **host) == 4


def test_passes_are_counted_by_what_came_of_them() -> None:
    some, world, members = metrics(), World(pods=2), ScriptedMembers()
    for _ in range(3):
        some.passed(OF, reconcile(redis(replicas=2), world, members, NOW), 1_900_000_000.0, 0.2)
    service = Key("Service", "default", "r-master")
    world.objects.pop(service)
    world.refuse[service] = Denied(service, "quota")
    some.passed(OF, reconcile(redis(replicas=2), world, members, NOW), 1_900_000_000.0, 0.2)
    some.failed(0.2, panic=False)
    some.failed(0.2, panic=True)
    some.rejected(Name("default", "bad"), 1_900_000_000.0, 0.2)
    samples = read(some)
    results = {
        result: value(samples, "controller_runtime_reconcile_total", controller="redis", result=result)
        for result in ("success", "error", "requeue_after")
    }
    assert results == {"success": 3, "error": 3, "requeue_after": 1}
    assert value(samples, "controller_runtime_reconcile_errors_total", controller="redis") == 3
    assert value(samples, "controller_runtime_reconcile_panics_total", controller="redis") == 1
    assert value(samples, "controller_runtime_reconcile_time_seconds_count", controller="redis") == 7
    assert value(samples, "workqueue_work_duration_seconds_sum", name="redis") == pytest.approx(1.4)


def test_the_time_in_the_queue_is_a_histogram() -> None:
    some = metrics()
    some.waited(0.03)
    samples = read(some)
    assert value(samples, "workqueue_queue_duration_seconds_bucket", name="redis", le="0.025") == 0
    assert value(samples, "workqueue_queue_duration_seconds_bucket", name="redis", le="0.05") == 1


def test_a_redis_has_four_series_with_what_the_last_pass_saw_and_none_once_it_is_gone() -> None:
    some, world, members = metrics(), World(pods=3), ScriptedMembers()
    for _ in range(3):
        some.passed(OF, reconcile(redis(replicas=3), world, members, NOW), 1_900_000_000.5, 0.1)
    own = {"namespace": "default", "redis": "r"}
    samples = read(some)
    assert {name: value for (name, labels), value in samples.items() if ("redis", "r") in labels} == {
        "redisop_redis_ready": 1,
        "redisop_redis_members": 3,
        "redisop_redis_promotions_total": 1,
        "redisop_redis_last_pass_timestamp_seconds": 1_900_000_000.5,
    }
    some.rejected(OF, 1_900_000_060.0, 0.1)
    assert value(read(some), "redisop_redis_ready", **own) == 0
    some.forget(OF)
    some.forget(OF)
    assert [name for name, labels in read(some) if ("redis", "r") in labels] == []


def test_what_is_told_is_counted_by_the_reason_that_is_told() -> None:
    some = metrics()
    some.told([Told("Warning", "Denied", "Create", "no"), Told("Warning", "Denied", "Create", "other")])
    assert value(read(some), "redisop_told_total", type="Warning", reason="Denied") == 2


def test_every_name_says_its_unit_as_prometheus_wants_it() -> None:
    """https://prometheus.io/docs/practices/naming/: base units, and `_total` for what only grows."""
    text = metrics().exposition("")[0].decode()
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    assert all(name.endswith("_total") == (kind == "counter") for name, kind in kinds.items()), kinds
    assert not [name for name in kinds if name.endswith("_created")], "a series more each, which nobody reads"
    assert not [name for name in kinds if re.search(r"milli|minutes|_ms\b|kilobytes", name)]


def test_a_redis_costs_some_hundred_bytes_and_a_scrape_of_5000_a_few_mebibytes() -> None:
    some, world, members = metrics(), World(pods=1), ScriptedMembers()
    outcome = reconcile(redis(), world, members, NOW)
    instances = [Name(f"team-{number % 50}", f"my-redis-{number}") for number in range(5000)]
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for number, of in enumerate(instances):
        some.passed(of, outcome, 1_900_000_000.5 + number, 0.1)
    each = (tracemalloc.get_traced_memory()[0] - before) / len(instances)
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    some.exposition(OPENMETRICS)
    peak = (tracemalloc.get_traced_memory()[1] - before) / 2**20
    tracemalloc.stop()
    print(f"{each:.0f} bytes a Redis, {peak:.1f} MiB while scraped")  # noqa: T201
    assert each < 200
    assert peak < 10


def test_a_command_that_serves_no_metrics_does_not_load_the_library() -> None:
    code = "import sys, redisop.cli, redisop.live.controller; print('prometheus_client' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
