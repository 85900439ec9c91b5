"""What is known about the keys of redis.conf is what real servers say."""

import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from redisop.api import config_keys
from tests import redis_servers

READ_AT_START = re.compile("can't set immutable config|can't set protected config|Unsupported CONFIG parameter")


class Server:
    """A Redis of one version, reached through a socket file."""

    def __init__(self, version: str, folder: Path, *lines: str) -> None:
        self.version = version
        socket = folder / "socket"
        config = folder / "redis.conf"
        config.write_text("\n".join(["port 0", f"unixsocket {socket}", f"dir {folder}", 'save ""', *lines, ""]))
        log = (folder / "log").open("w")
        with log:
            self._process = subprocess.Popen(
                [redis_servers.server(version), config], stdout=log, stderr=log, cwd=folder
            )
        self.client = redis.Redis(unix_socket_path=str(socket), decode_responses=True)
        while self._process.poll() is None and not socket.exists():
            time.sleep(0.01)
        if self._process.poll() is not None:
            raise AssertionError((folder / "log").read_text())

    def stop(self) -> None:
        self.client.close()
        self._process.kill()
        self._process.wait()


@pytest.fixture(scope="module", params=redis_servers.VERSIONS)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(request.param, tmp_path_factory.mktemp("redis"))
    yield server
    server.stop()


def is_live(client: redis.Redis, key: str, value: str) -> bool:
    try:
        client.config_set(key, value)
    except redis.ResponseError as error:
        return not READ_AT_START.search(str(error))
    return True


def test_each_version_has_the_keys_that_its_server_has_and_can_change_the_same_ones_live(server: Server):
    # Keys with an underscore cannot stand in a document; whether there are tls keys depends on how Redis was built.
    keys = {
        key: value
        for key, value in server.client.config_get("*").items()
        if re.fullmatch("[a-z0-9-]+", key) and not key.startswith("tls-")
    }
    live = {key for key, value in keys.items() if is_live(server.client, key, value)}
    known = config_keys.line(server.version)
    assert f"{known.version[0]}.{known.version[1]}" == server.version
    assert known.live == live
    assert known.restart == set(keys) - live


LISTS = {
    "client-output-buffer-limit": "normal 0 0 0 replica 64mb 32mb 60",
    "latency-tracking-info-percentiles": "50 99.9",
    "oom-score-adj-values": "0 200 800",
    "shutdown-on-sigint": "nosave force",
    "shutdown-on-sigterm": "nosave force",
}


@pytest.mark.parametrize("version", redis_servers.VERSIONS)
def test_redis_starts_with_lists_of_words_written_as_directives(version: str, tmp_path: Path):
    known = {key: value for key, value in LISTS.items() if config_keys.is_known(key, version)}
    assert "client-output-buffer-limit" in known
    lines = [" ".join([key, *words]) for key, value in known.items() for words in config_keys.directives(key, value)]
    server = Server(version, tmp_path, *lines)
    try:
        limits = server.client.config_get("client-output-buffer-limit")["client-output-buffer-limit"]
        assert "slave 67108864 33554432 60" in limits
        assert server.client.config_get("oom-score-adj-values") == {"oom-score-adj-values": "0 200 800"}
    finally:
        server.stop()


@pytest.mark.parametrize("version", redis_servers.VERSIONS)
def test_for_redis_a_value_ends_at_a_nul_character_which_is_why_none_is_accepted(version: str, tmp_path: Path):
    server = Server(version, tmp_path, 'syslog-ident "a\\x00b"')
    try:
        assert server.client.config_get("syslog-ident") == {"syslog-ident": "a"}
    finally:
        server.stop()


def test_every_key_that_takes_words_is_tried_above():
    assert {key for known in config_keys.LINES for key in known.live if config_keys.takes_words(key)} == set(LISTS)


@pytest.mark.parametrize(
    ("version", "line"),
    [
        ("6", (6, 2)),
        ("6.2", (6, 2)),
        ("6.2.21", (6, 2)),
        ("7", (7, 0)),
        ("7.0.15", (7, 0)),
        ("7.4", (7, 0)),
        ("8.0", (7, 0)),
        ("8", (8, 2)),
        ("8.2.1", (8, 2)),
        ("8.10", (8, 2)),
        ("9.0", (8, 2)),
    ],
)
def test_a_version_between_two_known_ones_has_the_keys_of_the_lower(version: str, line: tuple[int, int]):
    assert config_keys.line(version).version == line


def test_a_value_that_is_no_list_stays_one_word():
    assert config_keys.arguments("proc-title-template", "{title} {listen-addr}") == ["{title} {listen-addr}"]
    assert config_keys.arguments("notify-keyspace-events", "") == [""]


def test_a_list_of_words_is_taken_apart_wherever_there_is_space():
    assert config_keys.arguments("oom-score-adj-values", " 0  200\t800 ") == ["0", "200", "800"]


def test_an_empty_list_is_one_line_without_words():
    assert config_keys.directives("latency-tracking-info-percentiles", "") == [[]]


def test_the_nearest_key_is_one_that_may_be_set():
    assert config_keys.nearest("maxclient", "7.0") == "maxclients"
    assert config_keys.nearest("list-max-listpack-sizes", "8.2") == "list-max-listpack-size"
    assert config_keys.nearest("appendonlyy", "7.0") is None
    assert config_keys.nearest("flavour", "7.0") is None
