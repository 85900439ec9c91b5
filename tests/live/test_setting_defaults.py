"""The table of Redis' own defaults is what real redis-servers start with, and they take it back."""

import pytest

from redisop.api.config_keys import line, owned
from redisop.plan.setting_defaults import default
from tests.live.redis_process import processes


@pytest.mark.parametrize("version", ["6.2", "7.0", "8.2"])
def test_the_defaults_are_those_of_redis(version: str) -> None:
    keys = {*(key for key in line(version).live if owned(key) is None), "appendfsync", "rdb-del-sync-files"}
    with processes(version) as (process,):
        process.start("repl-diskless-sync-delay 5")
        said = process.client.config_get("*")
        assert {key: default(key, version) for key in keys} == {key: said[key] for key in keys}
        refused = {}
        for key in sorted(keys):
            try:
                process.client.config_set(key, str(default(key, version)))
            except Exception as error:
                refused[key] = str(error)
        assert refused == {}
