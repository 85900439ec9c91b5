"""The codec agrees with redis-py both ways, however the bytes are cut, and what is hostile meets its limits."""

import tracemalloc
from itertools import pairwise, repeat
from types import SimpleNamespace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from redis._parsers import Encoder, _RESP2Parser
from redis.connection import PythonRespSerializer
from redis.exceptions import ConnectionError as Closed
from redis.exceptions import RedisError

from redisop.live.resp import DEEPEST, LARGEST_REPLY, MOST_ELEMENTS, Parser, ProtocolError, encode
from redisop.snapshot.reply import ErrorReply

ENCODER = Encoder("utf-8", "strict", False)


class Wire:
    """A socket that gives what was put on it and then ends."""

    def __init__(self, data):
        self.data = data

    def recv(self, size):
        piece, self.data = self.data[:size], self.data[size:]
        return piece


def read_by_redis_py(data, count):
    parser = _RESP2Parser(65536)
    parser.on_connect(SimpleNamespace(_sock=Wire(data), socket_timeout=None, encoder=ENCODER))
    return [plain(parser.read_response()) for _ in range(count)]


def plain(reply):
    """Return the reply with every error as its text: redis-py cuts some codes off."""
    if isinstance(reply, list):
        return [plain(element) for element in reply]
    if isinstance(reply, ErrorReply):
        return f"error {reply.text.decode()}"
    return f"error {reply}" if isinstance(reply, Exception) else reply


def read(data, cuts=()):
    parser, replies = Parser(), []
    edges = [0, *sorted(cuts), len(data)]
    for start, end in pairwise(edges):
        replies += parser.feed(data[start:end])
    return replies


@given(st.lists(st.binary() | st.integers() | st.text(), min_size=1).filter(lambda them: them[0] not in ("", b"")))
@settings(deadline=None)
def test_a_command_is_written_as_redis_py_writes_it(arguments):
    # redis-py takes a command's name apart at its spaces; ours is always in parts.
    name, *rest = arguments
    name = f"X{name.hex() if isinstance(name, bytes) else 'x'}"
    assert encode(name, *rest) == b"".join(PythonRespSerializer(6000, ENCODER.encode).pack(name, *rest))


# redis-py waits for more where a line has a bare line feed, which Redis never sends.
lines = st.binary(max_size=40).filter(lambda text: b"\n" not in text and not text.endswith(b"\r"))
# Redis' own codes would make redis-py raise, or cut the code off.
errors = lines.map(lambda text: b"-CODE " + text.hex().encode() + b"\r\n")
scalars = st.one_of(
    lines.map(lambda text: b"+" + text + b"\r\n"),
    errors,
    st.integers(-(2**63), 2**63 - 1).map(lambda number: b":%d\r\n" % number),
    st.binary(max_size=200).map(lambda data: b"$%d\r\n%b\r\n" % (len(data), data)),
    st.sampled_from([b"$-1\r\n", b"*-1\r\n", b"$0\r\n\r\n", b"*0\r\n"]),
)
wire = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=5).map(lambda them: b"*%d\r\n%b" % (len(them), b"".join(them)))
).filter(lambda data: depth(data) <= DEEPEST)


def depth(data):
    """An upper bound of how deep the arrays in `data` are nested."""
    return data.count(b"*")


@given(st.lists(wire, max_size=4), st.data())
@settings(deadline=None)
def test_replies_are_read_as_redis_py_reads_them_however_they_are_cut(replies, data):
    whole = b"".join(replies)
    cuts = data.draw(st.lists(st.integers(0, len(whole)), max_size=10))
    assert plain(read(whole, cuts)) == read_by_redis_py(whole, len(replies))


@given(st.lists(st.one_of(wire, st.binary(max_size=30)), max_size=4).map(b"".join), st.data())
@example(b"$3\r\nabcde", None)
@example(b":1 \r\n", None)
@settings(deadline=None)
def test_whatever_comes_is_read_the_same_in_one_piece_and_byte_by_byte_or_is_an_error_both_times(whole, data):
    def outcome(cuts):
        parser, replies = Parser(), []
        edges = [0, *cuts, len(whole)]
        try:
            for start, end in pairwise(edges):
                replies += parser.feed(whole[start:end])
        except ProtocolError:
            return "error"
        return plain_or_hex(replies)

    assert outcome([]) == outcome(range(1, len(whole)))


def plain_or_hex(reply):
    if isinstance(reply, list):
        return [plain_or_hex(element) for element in reply]
    return reply.text if isinstance(reply, ErrorReply) else reply


@given(st.binary(max_size=60))
@settings(deadline=None)
def test_where_ours_reads_something_redis_py_reads_the_same(whole):
    try:
        replies = read(whole)
    except ProtocolError:
        return
    try:
        theirs = read_by_redis_py(whole, len(replies))
    except (RedisError, Closed, UnicodeDecodeError):
        return
    if not any(isinstance(reply, ErrorReply) for reply in replies):
        assert replies == theirs


@pytest.mark.parametrize(
    "hostile",
    [
        b"$9999999999\r\n",
        b"$9999999999999999999\r\n",
        b"$99999999999999999999999999\r\n",
        b"$-2\r\n",
        b"$1e3\r\n",
        b"$\r\n",
        b"$ 3\r\nabc\r\n",
        b"$3\r\nabcd\r\n",
        b"$3\r\nab\r\n\r\n",
        b":\r\n",
        b":1.5\r\n",
        b":0x10\r\n",
        b":1_000\r\n",
        ":١\r\n".encode(),
        b"*1000000000\r\n",
        b"*-2\r\n",
        b"*4096\r\n" * 6,
        b"*1\r\n" * 1_000_000,
        b"*1\r\n" * (DEEPEST + 1) + b":1\r\n",
        b"*%d\r\n" % (MOST_ELEMENTS + 1),
        b"\r\n",
        b"HTTP/1.1 400 Bad Request\r\n",
        b"%1\r\n+a\r\n+b\r\n",
        b">2\r\n+invalidate\r\n*0\r\n",
        b"~1\r\n+a\r\n",
        b"_\r\n",
        b",1.5\r\n",
        b"#t\r\n",
        b"\x16\x03\x01\r\n",
        b"+" + b"x" * LARGEST_REPLY + b"\r\n",
        b"x" * (LARGEST_REPLY + 1),
        b"*%d\r\n" % MOST_ELEMENTS + b"$200\r\n" + b"x" * 200 + b"\r\n" + (b"$200\r\n" + b"x" * 200 + b"\r\n") * 6000,
    ],
    ids=lambda data: ascii(data[:20]),
)
def test_what_is_no_reply_or_too_much_of_one_is_an_error(hostile):
    with pytest.raises(ProtocolError):
        read(hostile)
    with pytest.raises(ProtocolError):
        read(hostile, range(0, len(hostile), 4096))


def test_a_stream_without_an_end_is_refused_once_it_is_too_much_for_one_reply():
    parser = Parser()
    tracemalloc.start()
    with pytest.raises(ProtocolError, match="more than"):
        any(map(parser.feed, repeat(b"+" + b"x" * 65535)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * LARGEST_REPLY


def test_a_large_reply_that_drips_in_is_read():
    line = b"+" + b"x" * 200_000 + b"\r\n"
    assert read(line, range(len(line))) == [line[1:-2]]


@pytest.mark.parametrize("size", [LARGEST_REPLY - len(b"$1048560\r\n\r\n"), 1000])
def test_the_largest_reply_is_read(size):
    data = b"$%d\r\n%b\r\n" % (size, b"x" * size)
    assert read(data * 2, range(0, 2 * len(data), 65536)) == [b"x" * size] * 2


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b"NOAUTH Authentication required.", "NOAUTH"),
        (b"ERR unknown command", "ERR"),
        (b"WRONGPASS", "WRONGPASS"),
        (b"Internal error", "ERR"),
        (b"\x1b[31mNOAUTH x", "ERR"),
        ("ÄRGER x".encode(), "ERR"),
        (b"A" * 1000, "ERR"),
        (b"", "ERR"),
    ],
)
def test_an_error_has_the_code_that_it_begins_with(text, code):
    assert ErrorReply(text).code == code
