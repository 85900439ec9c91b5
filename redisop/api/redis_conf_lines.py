"""Settings as lines of `redis.conf`, as `v1alpha1` has them: read into a map, and written from one.

A value that Redis would read otherwise is quoted as Redis quotes: `"`, with `\\"`, `\\\\` and `\\xHH` inside.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from redisop.api.config_keys import takes_words

_DOUBLE: Final = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_SINGLE: Final = re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL)
_ESCAPE: Final = re.compile(rb"\\(x[0-9a-fA-F]{2}|.)", re.DOTALL)
_LETTERS: Final = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"a": b"\a"}
_PLAIN: Final = re.compile(r"[^\s\"'\x00-\x1f\x7f](?:[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f])?")


def parse(lines: Iterable[str]) -> dict[str, str]:
    """Return the settings; of a key that comes twice the last one counts, as for Redis, unless it takes many words."""
    settings: dict[str, str] = {}
    for line in lines:
        key, *rest = str(line).split(None, 1) or [""]
        key, value = key.lower(), _unquoted(rest[0].strip()) if rest else ""
        settings[key] = f"{settings[key]} {value}" if key in settings and takes_words(key) else value
    return settings


def spell(settings: Mapping[str, str]) -> list[str]:
    """Return one line for each setting, in their order."""
    return [f"{key} {_spelled(str(value))}" for key, value in settings.items()]


def quoted(value: str) -> str:
    """Return the value in double quotes; every byte that is not plain ASCII is escaped, so that it stays one line."""
    plain = {byte for byte in range(0x20, 0x7F) if chr(byte) not in '"\\'}
    return '"' + "".join(chr(byte) if byte in plain else f"\\x{byte:02x}" for byte in value.encode()) + '"'


def _spelled(value: str) -> str:
    return value if _PLAIN.fullmatch(value) else quoted(value)


def _unquoted(text: str) -> str:
    if found := _DOUBLE.fullmatch(text):
        return _ESCAPE.sub(_character, found[1].encode()).decode(errors="replace")
    if found := _SINGLE.fullmatch(text):
        return found[1].replace("\\'", "'")
    return text


def _character(found: re.Match[bytes]) -> bytes:
    letter = found[1]
    return bytes.fromhex(letter[1:].decode()) if len(letter) == 3 else _LETTERS.get(letter, letter)
