"""RESP2, the protocol of Redis, as bytes in and bytes out: no connection, no clock.

What is read comes from the network and may be anything. A reply is bounded in bytes, elements and depth, and what is no
RESP2, or too much, is a ProtocolError as soon as it can be told.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Final

from redisop.snapshot.reply import ErrorReply, Reply

# An INFO takes 7 KiB, the whole CONFIG GET 400 elements, EXEC around ROLE a depth of 4.
LARGEST_REPLY: Final = 1024 * 1024
MOST_ELEMENTS: Final = 16_384
DEEPEST: Final = 8

_END: Final = b"\r\n"
_INTEGER: Final = re.compile(rb"[+-]?[0-9]{1,19}")
_LONGEST_QUOTE: Final = 40


class ProtocolError(ValueError):
    """What came is not RESP2, or more than a reply may be; nothing that follows on that connection can be read."""


def encode(*arguments: bytes | str | int) -> bytes:
    """Return a command as Redis reads it. Text is sent as UTF-8."""
    parts = [argument if isinstance(argument, bytes) else str(argument).encode() for argument in arguments]
    bulks = [b"$%d\r\n%b\r\n" % (len(part), part) for part in parts]
    return b"*%d\r\n%b" % (len(bulks), b"".join(bulks))


class Parser:
    """Reads replies out of bytes that come in pieces of any size; of no use after a ProtocolError."""

    __slots__ = ("_buffer", "_elements", "_reading", "_searched", "_taken")

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._reading: Generator[None, None, Reply] | None = None
        self._taken = self._elements = self._searched = 0

    def feed(self, data: bytes) -> list[Reply]:
        """Return the replies that `data` completes, in their order; raises ProtocolError."""
        self._buffer += data
        replies: list[Reply] = []
        while self._buffer:
            if self._reading is None:
                self._taken = self._elements = 0
                self._reading = self._read(DEEPEST)
            try:
                next(self._reading)
            except StopIteration as done:
                replies.append(done.value)
                self._reading = None
            else:
                self._check(self._taken + len(self._buffer) + 1)
                break
        return replies

    def _read(self, depth: int) -> Generator[None, None, Reply]:
        """Read one reply; yields when it needs more bytes than there are."""
        line = yield from self._line()
        rest = line[1:]
        match line[:1]:
            case b"+":
                return rest
            case b"-":
                return ErrorReply(rest)
            case b":":
                return _integer(rest)
            case b"$":
                return (yield from self._bulk(_integer(rest)))
            case b"*":
                return (yield from self._array(_integer(rest), depth))
        raise ProtocolError(f"{_quote(line)} is no reply of RESP2")

    def _bulk(self, length: int) -> Generator[None, None, bytes | None]:
        if length == -1:
            return None
        if length < 0:
            raise ProtocolError(f"a bulk string has {length} bytes")
        whole = length + len(_END)
        self._check(self._taken + whole)
        while len(self._buffer) < whole:
            yield
        data = self._take(whole)
        if not data.endswith(_END):
            raise ProtocolError(f"a bulk string of {length} bytes does not end there")
        return data[:length]

    def _array(self, length: int, depth: int) -> Generator[None, None, list[Reply] | None]:
        if length == -1:
            return None
        self._elements += length
        if length < 0 or self._elements > MOST_ELEMENTS:
            raise ProtocolError(f"an array has {length} elements; a reply may have {MOST_ELEMENTS} in all")
        if depth == 0:
            raise ProtocolError(f"arrays are nested more than {DEEPEST} deep")
        elements: list[Reply] = []
        while len(elements) < length:
            elements.append((yield from self._read(depth - 1)))
        return elements

    def _line(self) -> Generator[None, None, bytes]:
        while (end := self._buffer.find(_END, self._searched)) < 0:
            self._searched = max(0, len(self._buffer) - 1)
            yield
        self._searched = 0
        return self._take(end + len(_END))[:end]

    def _take(self, count: int) -> bytes:
        data = bytes(self._buffer[:count])
        del self._buffer[:count]
        self._taken += count
        self._check(self._taken)
        return data

    @staticmethod
    def _check(size: int) -> None:
        if size > LARGEST_REPLY:
            raise ProtocolError(f"a reply has more than {LARGEST_REPLY} bytes")


def _integer(digits: bytes) -> int:
    if not _INTEGER.fullmatch(digits):
        raise ProtocolError(f"{_quote(digits)} is no integer")
    return int(digits)


def _quote(line: bytes) -> str:
    return ascii(line[:_LONGEST_QUOTE].decode(errors="backslashreplace"))
