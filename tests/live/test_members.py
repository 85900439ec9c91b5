"""Members are asked at once, each in its own time; commands reach the process that was looked at, or none."""

import gc
import os
import resource
import signal
import socket
import threading
from dataclasses import replace

import pytest

from redisop.live.members import Members
from redisop.manifest import Key
from redisop.snapshot.reply import Refusal
from redisop.snapshot.vitals import Identity, Target, Trouble
from tests.live import hostile
from tests.live.hostile import listening
from tests.live.redis_process import free_port, processes, until
from tests.redis_servers import VERSIONS

PASSWORD = "p$ss \"w'rd#\\ ü\n"


def target(address, port, ordinal=0, uid=None):
    pod = Key("Pod", "shop", f"cache-{ordinal}")
    return Target(pod, ordinal, uid or f"uid-{ordinal}", address, port)


def targets(some):
    return [target(process.address, process.port, ordinal) for ordinal, process in enumerate(some)]


@pytest.fixture
def members():
    members = Members()
    yield members
    members.close()


@pytest.fixture(params=VERSIONS)
def trio(request):
    """Three servers with one password: a primary, a replica in sync, and a parked member."""
    with processes(request.param, 3, password=PASSWORD) as some:
        primary, replica, parked = [process.start() for process in some]
        primary.client.set("a", 1)
        parked.client.execute_command("REPLICAOF", "127.0.0.1", 1)
        replica.follow(primary)
        yield some


@pytest.fixture
def lone():
    with processes("7.0") as (process,):
        yield process.start()


def ask(members, process, **changes):
    (vitals,) = members.probe([replace(target(process.address, process.port), **changes)], None)
    return vitals


def names(process):
    return [client["name"] for client in process.client.client_list()]


# -- probe ------------------------------------------------------------------------------------------------------------


def test_all_members_say_who_they_are_by_ordinal(members, trio):
    first, second, third = members.probe(reversed(targets(trio)), PASSWORD.encode())
    assert [first.pod, second.pod, third.pod] == ["cache-0", "cache-1", "cache-2"]
    assert [first.role, second.role, third.role] == ["primary", "replica", "replica"]
    assert [first.parked, second.parked, third.parked] == [False, False, True]
    assert (second.primary_host, second.primary_port, second.link) == (trio[0].address, trio[0].port, "up")
    assert [first.uid, first.address, first.trouble, first.sentence] == ["uid-0", "127.0.0.1", None, ""]
    assert [each.target for each in (first, second, third)] == targets(trio)
    assert [each.run_id for each in (first, second, third)] == [each.client.info()["run_id"] for each in trio]


def test_a_member_sees_that_an_operator_is_at_work(members, trio):
    members.probe(targets(trio), PASSWORD.encode())
    for process in trio:
        assert names(process).count("redisop") == 1


def test_the_second_probe_uses_the_connections_of_the_first(members, trio):
    def ours():
        return [
            {client["id"] for client in process.client.client_list() if client["name"] == "redisop"} for process in trio
        ]

    members.probe(targets(trio), PASSWORD.encode())
    before = ours()
    assert [vitals.answered for vitals in members.probe(targets(trio), PASSWORD.encode())] == [True] * 3
    assert ours() == before


def test_a_closed_port_is_a_member_that_refuses(members, trio):
    trio[1].kill()
    first, second, third = members.probe(targets(trio), PASSWORD.encode())
    assert (first.answered, second.answered, third.answered) == (True, False, True)
    assert (second.trouble, second.alive) == (Trouble.REFUSED, False)
    assert second.sentence == (f"Pod/shop/cache-1 (127.0.0.2:{trio[1].port}) cannot be asked: Connection refused")


def test_a_frozen_member_costs_the_others_nothing(members, trio):
    members.probe(targets(trio), PASSWORD.encode())
    trio[0].signal(signal.SIGSTOP)
    try:
        frozen, *others = members.probe(targets(trio), PASSWORD.encode())
        again, *_ = members.probe(targets(trio), PASSWORD.encode())
    finally:
        trio[0].signal(signal.SIGCONT)
    assert [vitals.answered for vitals in others] == [True, True]
    assert (frozen.trouble, again.trouble) == (Trouble.TIMEOUT, Trouble.TIMEOUT)
    assert frozen.sentence.startswith("Pod/shop/cache-0 (127.0.0.1:")
    assert "did not answer within 1.0 s" in frozen.sentence
    assert until(lambda: members.probe(targets(trio), PASSWORD.encode())[0].answered)


def test_a_probe_ends_at_its_deadline(members, lone):
    lone.signal(signal.SIGSTOP)
    try:
        (vitals,) = members.probe([target(lone.address, lone.port)], None, deadline=0.2)
    finally:
        lone.signal(signal.SIGCONT)
    assert vitals.trouble is Trouble.TIMEOUT
    assert "within 0.2 s" in vitals.sentence


@pytest.mark.parametrize("password", [b"wrong", None, b""], ids=["wrong", "none", "empty"])
def test_a_wrong_password_is_told_from_silence(members, trio, password):
    vitals, *_ = members.probe(targets(trio), password)
    assert (vitals.trouble, vitals.alive, vitals.role) == (Trouble.WRONG_PASSWORD, True, None)
    assert "does not take the password of the Secret: " in vitals.sentence
    assert ("WRONGPASS" if password else "NOAUTH") in vitals.sentence
    assert "wrong" not in vitals.sentence
    vitals, *_ = members.probe(targets(trio), PASSWORD.encode())
    assert vitals.answered
    assert "redisop" in names(trio[0])


def test_a_new_password_is_shown_anew_although_the_connection_stands(members, trio):
    assert members.probe(targets(trio), PASSWORD.encode())[0].answered
    assert members.probe(targets(trio), b"another")[0].trouble is Trouble.WRONG_PASSWORD


def test_a_password_that_was_wrong_is_shown_again_on_the_same_connection(members, lone):
    where = [target(lone.address, lone.port)]
    lone.client.config_set("requirepass", "old")
    assert members.probe(where, b"new")[0].trouble is Trouble.WRONG_PASSWORD
    lone.client.config_set("requirepass", "new")
    assert members.probe(where, b"new")[0].answered
    assert "redisop" in names(lone)


def test_a_member_without_a_password_answers_whoever_shows_one(members, lone):
    (vitals,) = members.probe([target(lone.address, lone.port)], b"secret")
    assert vitals.answered


@pytest.mark.parametrize("version", VERSIONS)
def test_a_loading_member_answers_and_says_so(members, version):
    with processes(version) as (process,):
        process.start().restart_loading()
        vitals = until(lambda: (found := ask(members, process)) and found.answered and found)
        assert (vitals.loading, vitals.alive, vitals.blank) == (True, True, False)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_busy_member_is_alive(members, version):
    with processes(version) as (process,):
        process.start("lua-time-limit 50")
        endless = threading.Thread(target=run_for_ever, args=(process,))
        endless.start()
        try:
            vitals = until(lambda: (found := ask(members, process)).trouble is Trouble.BUSY and found)
        finally:
            process.client.script_kill()
            endless.join()
        assert vitals.alive
        assert "refused INFO: BUSY Redis is busy running a script" in vitals.sentence
        assert until(lambda: ask(members, process).answered)
        assert "redisop" in names(process)


def info_of(process):
    """The reply to INFO, as it comes."""
    with socket.create_connection((process.address, process.port)) as connection:
        connection.sendall(b"INFO\r\n")
        return connection.recv(65536)


def run_for_ever(process):
    with socket.create_connection((process.address, process.port)) as connection:
        connection.sendall(b"EVAL 'while true do end' 0\r\n")
        connection.recv(1000)


def test_too_many_clients_is_a_reply(members, lone):
    lone.client.config_set("maxclients", 1)
    vitals = ask(members, lone)
    assert (vitals.trouble, vitals.alive) == (Trouble.ERROR_REPLY, True)
    assert "max number of clients reached" in vitals.sentence


def test_a_connection_that_the_member_closed_is_opened_anew(members, lone):
    first = ask(members, lone)
    lone.client.client_kill_filter(_type="normal", skipme=True)
    assert ask(members, lone).run_id == first.run_id


def test_a_member_that_restarted_is_asked_anew_and_known_as_another_process(members, lone):
    first = ask(members, lone)
    lone.kill()
    lone.start()
    second = ask(members, lone)
    assert second.answered
    assert second.run_id != first.run_id
    assert second.previous == first


def test_a_pod_at_another_address_is_asked_there(members, trio):
    here, there = targets(trio)[:2]
    (first,) = members.probe([here], PASSWORD.encode())
    (second,) = members.probe([replace(here, address=there.address, port=there.port, uid="new")], PASSWORD.encode())
    assert (first.role, second.role) == ("primary", "replica")
    until(lambda: "redisop" not in names(trio[0]))


@pytest.mark.parametrize("address", ["::1"])
def test_members_have_ipv6_addresses_too(members, address):
    with processes("7.0", address=address) as (process,):
        process.start()
        assert ask(members, process).answered
        process.kill()
        assert f"([::1]:{process.port})" in ask(members, process).sentence


@pytest.mark.parametrize(
    ("address", "trouble", "sentence"),
    [
        (None, Trouble.NO_ADDRESS, "Pod/shop/cache-0 has no address yet"),
        ("cache-0.example.com", Trouble.UNREACHABLE, "has no IP address, and names are not resolved"),
        ("255.255.255.255", Trouble.UNREACHABLE, "cannot be asked: "),
    ],
)
def test_a_member_that_cannot_be_asked_says_why(members, address, trouble, sentence):
    (vitals,) = members.probe([target(address, 6379)], None)
    assert vitals.trouble is trouble
    assert sentence in vitals.sentence
    assert not vitals.alive


def test_a_process_without_descriptors_left_says_so_instead_of_failing(members, lone):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.dup(0)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, hard))
    try:
        vitals = ask(members, lone)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert "Too many open files" in vitals.sentence
    assert ask(members, lone).answered


# -- what is no Redis -------------------------------------------------------------------------------------------------

FOR_SETNAME = b"+OK\r\n"
HOSTILE = {
    "silent": (hostile.silent, Trouble.TIMEOUT),
    "deaf": (hostile.deaf, Trouble.TIMEOUT),
    "hanging up": (hostile.hanging_up, Trouble.CLOSED),
    "one byte at a time": (hostile.dripping, Trouble.TIMEOUT),
    "endless line": (hostile.streaming(b"+" + b"x" * 65536), Trouble.PROTOCOL_ERROR),
    "endless replies": (hostile.streaming(b"+OK\r\n" * 1000), Trouble.PROTOCOL_ERROR),
    "endless bulk strings": (hostile.streaming(b"$3\r\nabc\r\n"), Trouble.PROTOCOL_ERROR),
    "endless zeros": (hostile.streaming(bytes(65536)), Trouble.PROTOCOL_ERROR),
    "huge bulk string": (hostile.saying(FOR_SETNAME, b"$9999999999\r\n"), Trouble.PROTOCOL_ERROR),
    "huge array": (hostile.saying(FOR_SETNAME, b"*1000000000\r\n"), Trouble.PROTOCOL_ERROR),
    "deep arrays": (hostile.saying(FOR_SETNAME, b"*1\r\n" * 1_000_000), Trouble.PROTOCOL_ERROR),
    "push of RESP3": (hostile.saying(FOR_SETNAME, b">2\r\n+invalidate\r\n*0\r\n"), Trouble.PROTOCOL_ERROR),
    "HTTP": (hostile.saying(b"HTTP/1.1 400 Bad Request\r\n\r\n", then_close=True), Trouble.PROTOCOL_ERROR),
    "a number for INFO": (hostile.saying(FOR_SETNAME, b":1\r\n"), Trouble.PROTOCOL_ERROR),
    "null for INFO": (hostile.saying(FOR_SETNAME, b"$-1\r\n"), Trouble.PROTOCOL_ERROR),
    "an array for INFO": (hostile.saying(FOR_SETNAME, b"*1\r\n:1\r\n"), Trouble.PROTOCOL_ERROR),
    "an empty INFO": (hostile.saying(FOR_SETNAME, b"$0\r\n\r\n"), Trouble.PROTOCOL_ERROR),
    "half an INFO": (hostile.saying(FOR_SETNAME, b"$100\r\nrole:master", then_close=True), Trouble.CLOSED),
    "moved": (hostile.saying(FOR_SETNAME, b"-MOVED 1 10.0.0.1:6379\r\n"), Trouble.ERROR_REPLY),
    "loading": (hostile.saying(FOR_SETNAME, b"-LOADING Redis is loading\r\n"), Trouble.LOADING),
    "an error and the end": (hostile.saying(b"-DENIED protected mode\r\n", then_close=True), Trouble.ERROR_REPLY),
}


@pytest.mark.parametrize(("answer", "trouble"), HOSTILE.values(), ids=HOSTILE.keys())
def test_what_does_not_answer_as_redis_does_ends_in_time_and_costs_the_others_nothing(members, lone, answer, trouble):
    with listening(answer) as port:
        odd, good = members.probe([target("127.0.0.1", port), target(lone.address, lone.port, 1)], None)
    assert good.answered
    assert odd.trouble is trouble
    assert odd.sentence.startswith(f"Pod/shop/cache-0 (127.0.0.1:{port}) ")
    assert odd.run_id is odd.role is odd.keys is None


def test_an_info_without_the_facts_that_count_names_them(members):
    with listening(hostile.saying(FOR_SETNAME, b"$11\r\nrole:master\r\n")) as port:
        (vitals,) = members.probe([target("127.0.0.1", port)], None)
    assert vitals.sentence.endswith("answers INFO without run_id, replication_id, loading, keys")


def test_what_a_stranger_says_cannot_steer_a_terminal_nor_fill_a_log(members):
    said = "\x1b[31m\u202e\x00ERR " + "x" * 5000
    with listening(hostile.saying(FOR_SETNAME, b"-" + said.encode() + b"\r\n")) as port:
        (vitals,) = members.probe([target("127.0.0.1", port)], None)
    assert vitals.sentence.isprintable()
    assert len(vitals.sentence) < 300
    assert r"\x1b[31m\u202e\x00ERR xxx" in vitals.sentence


def test_the_password_comes_out_nowhere_even_if_it_is_sent_back(members):
    with listening(hostile.repeating) as port:
        (vitals,) = members.probe([target("127.0.0.1", port)], b"canary")
    kept = [member for each in members._members.values() for member in each.values()]
    assert kept
    everything = [vitals, members, *kept, *(each.connection for each in kept)]
    assert "***" in vitals.sentence
    assert not [each for each in everything if "canary" in repr(each) + str(each)]


# -- what memory tells ------------------------------------------------------------------------------------------------


def test_silence_is_counted_from_its_first_question_and_ends_with_any_reply(members, lone):
    first = ask(members, lone)
    assert (first.silent_seconds, first.silent_probes, first.previous) == (None, 0, None)
    lone.kill()
    silent = [ask(members, lone) for _ in range(3)]
    assert [vitals.silent_probes for vitals in silent] == [1, 2, 3]
    assert 0 <= silent[0].silent_seconds < silent[1].silent_seconds < silent[2].silent_seconds
    assert [vitals.previous for vitals in silent] == [first] * 3
    lone.start("requirepass x", wait=False)
    wrong = until(lambda: (found := ask(members, lone)).trouble is Trouble.WRONG_PASSWORD and found)
    assert (wrong.silent_seconds, wrong.silent_probes, wrong.previous) == (None, 0, first)


def test_a_new_pod_is_not_silent_for_as_long_as_the_old_one_was(members, lone):
    first = ask(members, lone)
    lone.kill()
    ask(members, lone)
    new = ask(members, lone, uid="new")
    assert (new.silent_probes, new.previous) == (1, first)


def test_what_is_remembered_does_not_grow_from_look_to_look(members, lone):
    for _ in range(3):
        vitals = ask(members, lone)
    assert vitals.previous.previous is None


def test_a_member_that_was_never_asked_before_is_silent_from_now_on(members):
    (vitals,) = members.probe([target("127.0.0.1", free_port("127.0.0.1"))], None)
    assert (vitals.silent_probes, vitals.previous) == (1, None)


def test_after_close_nothing_is_open_and_nothing_known(lone):
    members = Members()
    ask(members, lone)
    members.close()
    until(lambda: "redisop" not in names(lone))
    assert ask(members, lone).previous is None
    members.close()


# -- command ----------------------------------------------------------------------------------------------------------


def test_roles_are_given_by_command(members, trio):
    _, replica, parked = targets(trio)
    seen = members.probe(targets(trio), PASSWORD.encode())
    assert members.command(replica, seen[1].identity, ("REPLICAOF", "NO", "ONE")) == (b"OK",)
    follow = ("REPLICAOF", replica.address, replica.port)
    assert members.command(parked, seen[2].identity, follow, ("CONFIG", "GET", "maxmemory")) == (
        b"OK",
        [b"maxmemory", b"0"],
    )
    now = members.probe(targets(trio), PASSWORD.encode())
    assert [vitals.role for vitals in now] == ["primary", "primary", "replica"]
    assert (now[2].primary_host, now[2].primary_port) == (replica.address, replica.port)


def test_clients_are_killed_but_not_the_connection_that_says_so(members, lone):
    vitals = ask(members, lone)
    with socket.create_connection((lone.address, lone.port)) as client:
        client.sendall(b"PING\r\n")
        client.recv(100)
        replies = members.command(
            target(lone.address, lone.port), vitals.identity, ("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        )
        assert replies[0] >= 1
        assert client.recv(100) == b""
    assert ask(members, lone).answered
    assert names(lone).count("redisop") == 1


def test_a_transaction_is_one_after_the_other_on_one_connection(members, lone):
    vitals = ask(members, lone)
    park = [("MULTI",), ("REPLICAOF", "127.0.0.1", 1), ("CLIENT", "UNPAUSE"), ("EXEC",)]
    replies = members.command(target(lone.address, lone.port), vitals.identity, *park)
    assert replies == (b"OK", b"QUEUED", b"QUEUED", [b"OK", b"OK"])
    assert ask(members, lone).parked


def test_a_process_that_restarted_between_look_and_command_gets_no_command(members, lone):
    vitals = ask(members, lone)
    lone.kill()
    lone.start()
    refusal = members.command(target(lone.address, lone.port), vitals.identity, ("REPLICAOF", "127.0.0.1", 1))
    assert isinstance(refusal, Refusal)
    assert (refusal.trouble, refusal.uncertain) == (Trouble.OTHER_IDENTITY, False)
    assert refusal.sentence.startswith(f"Pod/shop/cache-0 (127.0.0.1:{lone.port}) is another process by now: run_id ")
    assert vitals.run_id in refusal.sentence
    assert ask(members, lone).role == "primary"


def test_another_process_at_the_address_gets_no_command(members, trio):
    here, there = targets(trio)[:2]
    identity = members.probe([here], PASSWORD.encode())[0].identity
    moved = replace(here, address=there.address, port=there.port)
    refusal = members.command(moved, identity, ("REPLICAOF", "NO", "ONE"))
    assert refusal.trouble is Trouble.OTHER_IDENTITY
    assert trio[1].client.info("replication")["role"] == "slave"


def test_a_member_with_another_history_gets_no_command(members, lone):
    before = ask(members, lone)
    lone.client.execute_command("DEBUG", "CHANGE-REPL-ID")
    refusal = members.command(target(lone.address, lone.port), before.identity, ("REPLICAOF", "127.0.0.1", 1))
    assert refusal.trouble is Trouble.OTHER_IDENTITY
    assert "has another history by now" in refusal.sentence
    any_history = Identity(before.run_id)
    assert members.command(target(lone.address, lone.port), any_history, ("REPLICAOF", "127.0.0.1", 1)) == (b"OK",)


def test_the_first_error_ends_a_list_of_commands(members, lone):
    vitals = ask(members, lone)
    commands = [("CONFIG", "SET", "maxmemory", "much"), ("REPLICAOF", "127.0.0.1", 1)]
    refusal = members.command(target(lone.address, lone.port), vitals.identity, *commands)
    assert (refusal.trouble, refusal.uncertain) == (Trouble.ERROR_REPLY, False)
    assert f"cache-0 (127.0.0.1:{lone.port}) refused CONFIG SET: ERR" in refusal.sentence
    assert "maxmemory" in refusal.sentence
    assert ask(members, lone).role == "primary"


def test_a_broken_transaction_leaves_nothing_behind(members, lone):
    vitals = ask(members, lone)
    refusal = members.command(target(lone.address, lone.port), vitals.identity, ("MULTI",), ("NONSENSE",), ("EXEC",))
    assert refusal.trouble is Trouble.ERROR_REPLY
    assert ask(members, lone).answered


def test_a_secret_in_a_command_comes_out_nowhere(members, lone):
    vitals = ask(members, lone)
    for command in [("CONFIG", "SET", "requirepass", "canary", "odd"), ("AUTH", "canary", "a", "b")]:
        refusal = members.command(target(lone.address, lone.port), vitals.identity, command)
        assert refusal.sentence.endswith(": ERR")
    with listening(hostile.echoing(info_of(lone), b"-WHAT ")) as port:
        stranger = target("127.0.0.1", port)
        told = [
            members.command(stranger, vitals.identity, command).sentence
            for command in [("CONFIG", "SET", "requirepass", "canary"), ("CONFIG", "SET", "maxmemory", "1")]
        ]
    assert told[0].endswith("refused CONFIG SET: WHAT")
    assert "canary" not in told[0]
    assert "$9 maxmemory" in told[1]


def test_a_frozen_member_is_sent_no_command(members, lone):
    vitals = ask(members, lone)
    lone.signal(signal.SIGSTOP)
    try:
        refusal = members.command(target(lone.address, lone.port), vitals.identity, ("REPLICAOF", "127.0.0.1", 1))
    finally:
        lone.signal(signal.SIGCONT)
    assert (refusal.trouble, refusal.uncertain) == (Trouble.TIMEOUT, False)
    assert ask(members, lone).role == "primary"


def test_a_command_without_a_reply_may_have_been_done(members, lone):
    vitals = ask(members, lone)
    refusal = members.command(target(lone.address, lone.port), vitals.identity, ("DEBUG", "SLEEP", "3"))
    assert (refusal.trouble, refusal.uncertain) == (Trouble.TIMEOUT, True)
    assert refusal.sentence.endswith("did not answer within 2.0 s, after DEBUG was sent")


def test_a_member_that_ends_on_command_may_have_done_it(members, lone):
    vitals = ask(members, lone)
    refusal = members.command(target(lone.address, lone.port), vitals.identity, ("SHUTDOWN", "NOSAVE"))
    assert (refusal.trouble, refusal.uncertain) == (Trouble.CLOSED, True)
    refusal = members.command(target(lone.address, lone.port), vitals.identity, ("REPLICAOF", "NO", "ONE"))
    assert (refusal.trouble, refusal.uncertain) == (Trouble.REFUSED, False)


def test_a_killed_standing_connection_does_not_keep_a_command_from_its_member(members, lone):
    vitals = ask(members, lone)
    lone.client.client_kill_filter(_type="normal", skipme=True)
    replies = members.command(target(lone.address, lone.port), vitals.identity, ("REPLICAOF", "127.0.0.1", 1))
    assert replies == (b"OK",)


# -- what is left behind ----------------------------------------------------------------------------------------------


def test_no_descriptor_is_left_open(lone):
    def descriptors():
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    before = descriptors()
    members = Members()
    for _ in range(3):
        ask(members, lone)
    with listening(hostile.hanging_up) as port:
        members.probe([target(lone.address, lone.port), target("127.0.0.1", port, 1)], None)
    members.probe([target(lone.address, lone.port), target("127.0.0.1", free_port("127.0.0.1"), 2)], None)
    until(lambda: descriptors() == before + 1)
    members.close()
    assert descriptors() == before


# -- members that are gone --------------------------------------------------------------------------------------------


def test_a_pod_that_is_no_longer_asked_loses_its_connection_and_is_remembered_for_when_it_comes_back(members, trio):
    before = members.probe(targets(trio), PASSWORD.encode())
    members.probe(targets(trio)[:2], PASSWORD.encode())
    assert until(lambda: names(trio[2]).count("redisop") == 0)
    assert names(trio[0]).count("redisop") == 1
    *_, third = members.probe(targets(trio), PASSWORD.encode())
    assert (third.answered, third.previous) == (True, before[2])


def test_a_pod_that_is_gone_for_long_is_forgotten_and_those_of_another_redis_are_not(members, trio, monkeypatch):
    first, second, third = targets(trio)
    other = replace(third, pod=Key("Pod", "shop", "other-0"))
    members.probe([first, second], PASSWORD.encode())
    (known,) = members.probe([other], PASSWORD.encode())
    monkeypatch.setattr("redisop.live.members.FORGOTTEN_AFTER", 0.0)
    members.probe([first], PASSWORD.encode())
    assert [each.previous for each in members.probe([second], PASSWORD.encode())] == [None]
    assert [each.previous for each in members.probe([other], PASSWORD.encode())] == [known]
    assert names(trio[2]).count("redisop") == 1
