"""From the paths after `-f` to documents: files, folders and stdin, as kubectl takes them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from redisop.cli.output import stop
from redisop.documents import MOST_BYTES, Document, Problem, parse

STDIN: Final = "-"
SUFFIXES: Final = (".yaml", ".yml", ".json")


@dataclass(frozen=True, slots=True)
class Missing:
    """Why a path gave no documents, and what to do about it."""

    source: str
    wrong: str
    right: str


def gather(paths: tuple[str, ...], recursive: bool) -> Iterator[Document | Problem | Missing]:
    """Yield what the paths hold, in their order and in the order of the names in a folder."""
    for path in dict.fromkeys(paths):
        found = list(_of_folder(path, recursive) if os.path.isdir(path) else _of_file(path))
        yield from found or [Missing(_shown(path), "holds no document", "give a file with a Redis document in it")]


def _of_folder(path: str, recursive: bool) -> Iterator[Document | Problem | Missing]:
    try:
        files = _files(path, recursive)
    except OSError as error:
        yield Missing(_shown(path), _reason(error), "check the path and its permissions")
        return
    if not files:
        wrong = f"no file in this folder ends in {', '.join(SUFFIXES)}"
        yield Missing(_shown(path), wrong, "give files, or -R for the folders in it")
    for file in files:
        yield from _of_file(file)


def _files(folder: str, recursive: bool) -> list[str]:
    files = []
    for entry in sorted(os.listdir(folder)):
        path = os.path.join(folder, entry)
        if os.path.isdir(path):
            files += _files(path, recursive) if recursive and not os.path.islink(path) else []
        elif path.endswith(SUFFIXES):
            files.append(path)
    return files


def _of_file(path: str) -> Iterator[Document | Problem | Missing]:
    try:
        data = _read(path)
    except OSError as error:
        yield Missing(_shown(path), _reason(error), "check the path and its permissions")
        return
    yield from parse(data, _shown(path))


def _read(path: str) -> bytes:
    """Return the content, cut off where it is too much for `parse`: nobody needs to hold a disk image to refuse it."""
    if path == STDIN:
        if sys.stdin is None:
            stop("stdin is closed")
        return _up_to_too_much(sys.stdin.buffer)
    with Path(path).open("rb") as file:
        return _up_to_too_much(file)


def _up_to_too_much(stream: BinaryIO) -> bytes:
    return stream.read(MOST_BYTES + 1)


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()


def _shown(path: str) -> str:
    """Return the path as it can be printed anywhere: a name is any bytes but NUL and the slash."""
    text = os.fsencode(path).decode(errors="replace")
    return (
        "stdin"
        if path == STDIN
        else "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
    )
