"""Which settings are set on running members. What Redis makes of them is shown in tests/live."""

import pytest

from redisop.api.config_keys import LINES, owned
from redisop.api.defaults import TABLES
from redisop.api.derived import derive
from redisop.layout import layout
from redisop.manifest import Key
from redisop.plan.actions import Configure
from redisop.plan.setting_defaults import default
from redisop.plan.settings import running_file, settings, values
from redisop.plan.wanted import Wanted
from redisop.render.redis_conf import redis_conf
from redisop.snapshot import Snapshot
from tests.plan.test_membership import primary, replica, silent
from tests.world import NOW, redis


def wanted(**spec: object) -> Wanted:
    subject = redis(replicas=2, **spec)
    derived = derive("r", subject.spec, TABLES[1])
    file = redis_conf(subject.spec, derived)
    return Wanted(subject.spec, layout(subject.metadata, subject.spec), 0, derived.version, file)


def running(file: str | None, *vitals: object) -> Snapshot:
    live = {Key("ConfigMap", "default", "r-config"): {"data": {"redis.conf": file}}} if file else {}
    return Snapshot(NOW, live, (), (), vitals or (primary(0), replica(1, of=0)))


def test_the_lines_that_changed_are_set_on_every_member_that_answers() -> None:
    before = wanted(config={"timeout": "10", "hz": "10"}).redis_conf
    action = settings(wanted(config={"timeout": "20", "hz": "10"}), running(before, primary(0), silent(1)))
    assert isinstance(action, Configure)
    assert action.settings == (("timeout", "20"),)
    assert [member.pod for member in action.members] == ["r-0"]


def test_nothing_is_set_where_the_file_says_it_already_or_there_is_none_or_nobody_answers() -> None:
    now = wanted(config={"timeout": "10"})
    assert settings(now, running(now.redis_conf)) is None
    assert settings(now, running(None)) is None
    assert settings(now, running(wanted().redis_conf, silent(0), silent(1))) is None


def test_what_is_read_at_start_only_is_not_set() -> None:
    assert settings(wanted(config={"databases": "20"}), running(wanted().redis_conf)) is None


def test_save_points_are_one_value() -> None:
    rdb = {"mode": "RDB", "save": [{"seconds": 60, "changes": 1}, {"seconds": 5, "changes": 9}]}
    action = settings(wanted(persistence=rdb), running(wanted(persistence={"mode": "RDB"}).redis_conf))
    assert isinstance(action, Configure)
    assert action.settings == (("save", "60 1 5 9"),)


@pytest.mark.parametrize("value", ["", "a b", 'q"uo\\te', "é", "#x"])
def test_a_value_is_read_from_the_file_as_it_was_written(value: str) -> None:
    assert values(wanted(config={"proc-title-template": value}).redis_conf)["proc-title-template"] == value


def test_a_setting_that_is_taken_back_goes_to_what_redis_takes_by_itself() -> None:
    before = wanted(config={"timeout": "10", "databases": "3"}).redis_conf
    action = settings(wanted(), running(before))
    assert isinstance(action, Configure)
    assert action.settings == (("timeout", "0"),)


def test_every_setting_that_a_document_may_name_has_a_default() -> None:
    for each in LINES:
        version = ".".join(map(str, each.version))
        assert [key for key in sorted(each.live) if owned(key) is None and default(key, version) is None] == []


def test_there_is_no_file_before_the_config_map() -> None:
    assert running_file(running(None)) is None
