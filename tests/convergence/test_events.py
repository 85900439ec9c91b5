"""The API server takes our Events, a series on them too, and kubectl shows them with the `Redis`."""

from datetime import UTC, datetime

from redisop.live.events import LONGEST_NOTE, Recorder, Writing, event, note
from redisop.live.kube import EVENT
from redisop.live.store import Name
from redisop.live.told import Told, events_of
from redisop.manifest import Manifest
from tests.cluster.kubectl import Kubectl
from tests.convergence.fault_proxy import answer
from tests.convergence.site import Site, until

DENIED = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403}
UID = "8b2c1f0e-6f0b-4c51-9d3a-0f6f3a3a7c11"
FAILED = Told("Warning", "Denied", "Create", "Service/a/r-master: " + "é" * 2000)


def events(site: Site) -> list[Manifest]:
    return site.behind.list(EVENT, site.namespace)


def test_what_a_run_did_is_shown_by_kubectl_describe(site: Site, kubectl: Kubectl) -> None:
    outcome = site.run(*site.put(replicas=1))
    meta = outcome.redis.metadata
    recorder = Recorder(site.kube, "redisop-0", lambda: True)
    told = events_of(outcome)
    recorder.record(Name(site.namespace, meta.name), str(meta.uid), told)
    recorder.close(10)
    stored = [(each["type"], each["reason"], each["action"], each["note"]) for each in events(site)]
    assert stored == [tuple(each) for each in told]
    described = kubectl("describe", "redis", "r")
    line = next(line for line in described.splitlines() if "created Secret/" in line)
    assert line.split()[:2] == ["Normal", "Created"]
    assert "redisop" in line


def test_a_repetition_is_counted_on_the_event_and_one_that_expired_is_made_anew(
    still_site: Site, kubectl: Kubectl
) -> None:
    site = still_site
    redis, _ = site.put(replicas=1)
    of, uid = Name(site.namespace, "r"), str(redis.metadata.uid)
    now = [0.0]
    recorder = Recorder(site.kube, "redisop-0", lambda: True, lambda: now[0])
    recorder.record(of, uid, [FAILED])
    [first] = until(lambda: events(site))
    assert (first["note"], "series" in first) == (note(FAILED.note), False)
    assert len(first["note"].encode()) <= LONGEST_NOTE
    now[0] = 61.0
    recorder.record(of, uid, [FAILED])
    [counted] = until(lambda: [each for each in events(site) if "series" in each])
    assert (counted["metadata"]["uid"], counted["series"]["count"]) == (first["metadata"]["uid"], 2)
    assert "(x2 over" in kubectl("describe", "redis", "r")
    site.behind.delete(site.key("Event", first["metadata"]["name"]), first["metadata"]["uid"])
    now[0] = 200.0
    recorder.record(of, uid, [FAILED])
    [anew] = until(lambda: events(site))
    recorder.close(10)
    assert anew["series"]["count"] == 3


def test_a_note_of_the_greatest_length_is_taken_and_one_byte_more_is_not(still_site: Site) -> None:
    """So that the limit is the API server's own."""
    regarding = {"apiVersion": "example.com/v1", "kind": "Redis", "namespace": still_site.namespace, "name": "r"}
    longest = event(
        regarding | {"uid": UID}, FAILED._replace(note="x" * LONGEST_NOTE), Writing(1, 1), datetime.now(UTC), "i"
    )
    too_long = longest | {"note": "x" * (LONGEST_NOTE + 1), "metadata": longest["metadata"] | {"name": "r.2"}}
    for manifest in (longest, too_long):
        still_site.behind.event(manifest)
    assert [each["metadata"]["name"] for each in events(still_site)] == ["r.1"]


def test_an_api_server_that_takes_no_events_is_asked_once_each_and_disturbs_nobody(still_site: Site) -> None:
    site = still_site
    site.proxy.inject(answer(403, DENIED), when=lambda seen: "/events" in seen.path, times=100)
    recorder = Recorder(site.kube, "redisop-0", lambda: True)
    recorder.record(Name(site.namespace, "r"), UID, [FAILED, FAILED._replace(note="other")])
    recorder.close(10)
    assert [seen.method for seen in site.proxy.seen] == ["POST", "POST"]
    assert events(site) == []
