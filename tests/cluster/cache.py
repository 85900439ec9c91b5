"""Things that take long to make, made once and kept between runs, outside the checkout.

An entry is a folder named after a digest of what it was made from. It is built beside its final place and renamed when
it is complete, under a lock: a run that was killed half-way leaves nothing that counts, two runs never build at once.
"""

import fcntl
import hashlib
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.redis_servers import cache


def digest(parts: Iterable[bytes]) -> str:
    """Return sixteen hexadecimal digits that stand for ``parts``."""
    whole = hashlib.sha256()
    for part in parts:
        whole.update(hashlib.sha256(part).digest())
    return whole.hexdigest()[:16]


def cached(name: str, key: str, build: Callable[[Path], None]) -> Path:
    """Return the entry ``name-key``; when it is missing, ``build`` fills an empty one, to become it."""
    entry = cache() / f"{name}-{key}"
    if entry.is_dir():
        return entry
    cache().mkdir(parents=True, exist_ok=True)
    with (cache() / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not entry.is_dir():
            unfinished = cache() / f"{name}.unfinished"
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            build(unfinished)
            unfinished.rename(entry)
    return entry
