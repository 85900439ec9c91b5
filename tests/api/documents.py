# ruff: noqa: E501 - rows of values
"""Generated documents: shaped as the schema says, but filled with values that are good, at an edge, odd or wrong.

They are made from the schema, so what they are good for is to compare two judges of them.
"""

from typing import Any

from hypothesis import strategies as st

from redisop.api.read import read
from redisop.api.schema import structural
from redisop.api.v1 import RedisSpec
from tests.api.bad_documents import SAFE, document

QUANTITIES = [
    "64Mi", "1Gi", "256Mi", "1.5Gi", "2G", "1e9", "5E8", "100m", "0", 0, 2**30, "1024Mi", "0.5Gi", ".5Gi", "1.Gi", "+1Gi",
    "-1", "1Ki", "1ki", "1 Gi", " 1Gi", "", "1e99", "1E", "Gi", "１Gi", -5, 2**62, "1Ti", "1Pi", "500u", "1e-3", "1e+3",
    "0Gi", "00", "1.000000000000001Gi", "67108863.5", "9999999999999999999", "1E30", "33554432", "50%",
]  # fmt: skip
SHARES = ["75%", "95%", "96%", "0%", "1%", "100%", "090%", "%", "7.5%", "-1%", "75 %"]
DURATIONS = [
    "30s", "1m30s", "0", "0s", "1200ms", "1.5s", "999ms", "1s", "10s", "10001ms", "1h", "1d", "-1s", "+1s", "s", "1", "",
    "1.s", ".5s", "1s1s", "1us", "999999h", "999999h999999h999999h", "0.001s", "1.0000s", 5, "1s\n",
]  # fmt: skip
TEXTS = [
    "a", "my-redis", "a.b", "A", "-a", "a-", "", " ", "a b", "é", "a" * 63, "a" * 64, "a" * 253, "a" * 254, "a\n", "0", "1A",
    "a_b", "a/b", "..", "data", "redis", "exporter", "NAME", "POD_IP", "REDISOP_X", "TZ", "7.0", "7", "6.2", "6", "5", "06.2",
    "8.2.1", "redis:7.0-alpine", "redis:7.0.15", "redis", "redis:latest", "host:5000/redis", "host:5000/redis:8.2",
    "a@sha256:" + "0" * 64, "redis:6.0", "redis:7.0@sha256:" + "a" * 64, "10.0.0.0/8", "10.0.0.0", "::/0", "::1/129", "fe80::%1/64",
    "::ffff:10.0.0.0/104", "10.0.0.0/08", "10.0.0.1/8", "010.0.0.0/8", "/scratch", "/data", "/data/", "/etc", "//", "/a/../b",
    "/run/redisop-x", "RuntimeDefault", "Unconfined", "ALL", "NET_BIND_SERVICE", "SYS_ADMIN", "container_t", "Default",
    "kernel.msgmax", "net.ipv4.tcp_syncookies", "app", "redis-cr", "argocd.argoproj.io/x", "x.fluxcd.io/a", "noeviction",
    "\0", "redis:v7.2", "redis:7.0.1.2", "redis:12ab",
]  # fmt: skip
KEYS = [
    "a", "team", "a/b", "example.org/a", "app", "redis-cr", "app.kubernetes.io/name", "redisop.example.com/a", "A b", "",
    "kubernetes.io/a", "/a", "a/", "a/b/c", "a" * 63, "a" * 64, "b" * 253 + "/a", "b" * 254 + "/a", "é", "a\n", "x_y.z",
    "cpu", "memory", "ephemeral-storage", "gpu", "maxclients", "port", "tls-port", "hz", "slave-x", "Max", "cluster-a", "enable-x",
]  # fmt: skip
WRONG = [None, True, 1, 1.5, "x", [], {}, [None], {"a": 1}]


def good_documents() -> st.SearchStrategy[Any]:
    """Documents that are accepted."""
    return specs().map(document).filter(lambda content: read(content).redis is not None)


def specs() -> st.SearchStrategy[Any]:
    """A spec with a handful of fields set; about half of them are good."""
    return _value(structural(RedisSpec), "")


_made: dict[tuple[int, str], st.SearchStrategy[Any]] = {}


def _value(schema: dict[str, Any], name: str) -> st.SearchStrategy[Any]:
    if (id(schema), name) not in _made:
        _made[id(schema), name] = _right_or_wrong(schema, name)
    return _made[id(schema), name]


def _right_or_wrong(schema: dict[str, Any], name: str) -> st.SearchStrategy[Any]:
    right = _right(schema, name)
    return st.integers(0, 60).flatmap(lambda luck: st.sampled_from(WRONG) if luck == 60 and name else right)


def _right(schema: dict[str, Any], name: str) -> st.SearchStrategy[Any]:
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema.get("x-kubernetes-int-or-string"):
        return st.sampled_from(QUANTITIES + (SHARES if "%" in schema["pattern"] else []))
    match schema["type"]:
        case "boolean":
            return st.booleans()
        case "integer":
            edges = {schema.get("minimum", 0), schema.get("maximum", 9)}
            return st.sampled_from(sorted(edges | {edge + step for edge in edges for step in (-1, 1)}))
        case "string":
            return st.sampled_from(DURATIONS if "pattern" in schema else TEXTS)
        case "array":
            return st.lists(_value(schema["items"], name), max_size=2)
        case _:
            return _map(schema, name)


def _map(schema: dict[str, Any], name: str) -> st.SearchStrategy[Any]:
    if "additionalProperties" in schema:
        return st.dictionaries(st.sampled_from(KEYS), _value(schema["additionalProperties"], name), max_size=2)
    fields = schema.get("properties", {})
    required = {field: _value(fields[field], field) for field in schema.get("required", ())}
    if name in {"sidecars", "initContainers"}:  # else hardly one would be good
        required["securityContext"] = st.just(SAFE) | required.pop("securityContext", st.just(SAFE))
    optional = sorted(set(fields) - set(required))
    chosen = st.lists(st.sampled_from(optional), max_size=3, unique=True) if optional else st.just([])
    return chosen.flatmap(
        lambda names: st.fixed_dictionaries(required | {field: _value(fields[field], field) for field in names})
    )
