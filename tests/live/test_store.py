"""What the store knows, whatever comes late, twice or in halves."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redisop import names
from redisop.live.store import Listing, Name, Store
from redisop.manifest import Key, Manifest

CONFIG_MAP = next(kind for kind in names.KINDS if kind.kind == "ConfigMap")
SECRET = next(kind for kind in names.KINDS if kind.kind == "Secret")
ONE = Name("shop", "one")


def child(version: int, name: str = "one-config", uid: str = "a", of: Name = ONE, **fields: Any) -> Manifest:
    metadata = {
        "name": name,
        "namespace": of.namespace,
        "uid": uid,
        "resourceVersion": str(version),
        "labels": names.selector(of.name),
    }
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **fields}


def known(store: Store, of: Name = ONE) -> dict[str, int]:
    return {key.name: int(each["metadata"]["resourceVersion"]) for key, each in store.objects(of).items()}


def listed(store: Store, version: int, *manifests: Manifest, namespace: str | None = None) -> set[Name]:
    listing = Listing(CONFIG_MAP, namespace)
    store.add(listing, manifests)
    return store.commit(listing, str(version))


def test_an_object_comes_back_as_it_was_put() -> None:
    store = Store()
    first, second = child(1, data={"text": "é\n" * 40_000}), child(2, "other", data={"text": "short"})
    assert store.put(CONFIG_MAP, first) == ONE
    assert store.put(CONFIG_MAP, second) == ONE
    assert store.objects(ONE) == {
        Key("ConfigMap", "shop", "one-config"): first,
        Key("ConfigMap", "shop", "other"): second,
    }


def test_what_a_list_leaves_out_of_each_object_is_put_back() -> None:
    store = Store()
    whole = child(1)
    listed(store, 1, {"metadata": whole["metadata"]})
    assert store.objects(ONE) == {Key("ConfigMap", "shop", "one-config"): whole}


def test_a_late_event_changes_nothing() -> None:
    store = Store()
    store.put(CONFIG_MAP, child(5))
    assert store.put(CONFIG_MAP, child(4)) is None
    assert store.put(CONFIG_MAP, child(5)) is None  # the event of an own write
    assert known(store) == {"one-config": 5}


def test_the_event_of_the_end_of_an_object_leaves_its_successor_alone() -> None:
    store = Store()
    store.put(CONFIG_MAP, child(5, uid="old"))
    store.put(CONFIG_MAP, child(9, uid="new"))
    assert store.remove(CONFIG_MAP, child(7, uid="old")) is None
    assert known(store) == {"one-config": 9}


def test_what_is_gone_is_not_brought_back_by_a_late_reply() -> None:
    store = Store()
    store.put(CONFIG_MAP, child(5))
    assert store.remove(CONFIG_MAP, child(8)) == ONE
    assert store.put(CONFIG_MAP, child(7)) is None
    assert known(store) == {}
    assert store.put(CONFIG_MAP, child(9, uid="b")) == ONE


def test_a_list_that_an_own_write_overtook_keeps_what_was_written() -> None:
    store = Store()
    store.put(CONFIG_MAP, child(5))
    store.put(CONFIG_MAP, child(12, "new", "b"))
    assert listed(store, 10, child(5)) == set()
    assert known(store) == {"one-config": 5, "new": 12}
    assert listed(store, 13, child(5)) == {ONE}
    assert known(store) == {"one-config": 5}


def test_half_a_list_changes_nothing() -> None:
    store = Store()
    store.put(CONFIG_MAP, child(5))
    listing = Listing(CONFIG_MAP, None)
    store.add(listing, [child(6), child(7, "other")])
    assert known(store) == {"one-config": 5}


def test_a_list_of_one_namespace_or_kind_says_nothing_of_others() -> None:
    store = Store()
    elsewhere = Name("stock", "one")
    store.put(CONFIG_MAP, child(5))
    store.put(CONFIG_MAP, child(5, of=elsewhere))
    store.put(SECRET, child(5, "one-auth"))
    assert listed(store, 9, namespace="shop") == {ONE}
    assert (known(store), known(store, elsewhere)) == ({"one-auth": 5}, {"one-config": 5})


def test_of_a_secret_only_the_password_is_kept() -> None:
    store = Store()
    store.put(SECRET, child(1, "one-auth", data={"password": "cGFzcw==", "other": "c2VjcmV0"}))
    assert store.objects(ONE)[Key("Secret", "shop", "one-auth")]["data"] == {"password": "cGFzcw=="}


def test_a_redis_is_listed_as_long_as_it_exists_and_nothing_stays_of_what_is_gone() -> None:
    store = Store()
    redis = child(3, "one") | {"kind": "Redis", "apiVersion": names.REDIS.api_version}
    store.put(CONFIG_MAP, child(1))
    assert store.redises() == []
    store.put(names.REDIS, redis)
    assert store.redises() == [ONE]
    store.remove(names.REDIS, redis)
    assert store.redises() == []
    store.remove(CONFIG_MAP, child(1))
    assert (len(store), store._of) == (0, {})


@pytest.mark.parametrize("labels", [{}, {names.APP_LABEL: names.APP}, None])
def test_an_object_without_our_label_is_passed_over(labels: Any) -> None:
    manifest = child(1)
    manifest["metadata"]["labels"] = labels
    store = Store()
    assert (store.put(CONFIG_MAP, manifest), store.remove(CONFIG_MAP, manifest)) == (None, None)
    assert len(store) == 0


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 40)), max_size=30), st.randoms())
@settings(max_examples=200)
def test_any_order_of_events_ends_at_the_newest(events: list[tuple[str, int]], random: Any) -> None:
    shuffled = [*events, *events]
    random.shuffle(shuffled)
    store = Store()
    for name, version in shuffled:
        store.put(CONFIG_MAP, child(version, name, uid=name))
    newest: dict[str, int] = {}
    for name, version in events:
        newest[name] = max(version, newest.get(name, 0))
    assert known(store) == newest
