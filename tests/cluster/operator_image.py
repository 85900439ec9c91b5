"""The image of redisop itself: the project's Dockerfile over a base of Debian packages, as no registry is in reach."""

import shutil
import subprocess
from pathlib import Path

from tests import packages
from tests.cluster.cache import cached, digest
from tests.redis_servers import cache

IMAGE = "localhost/redisop:test"
ROOT = Path(__file__).parents[2]

_BASE = "localhost/python:debian"
_DEBOOTSTRAP = ["debootstrap", "--variant=minbase", "--include=python3,python3-venv,ca-certificates", "bookworm"]
# As the official Python image does without them.
_UNUSED = ("usr/share/doc", "usr/share/locale", "usr/share/man", "var/cache/apt", "var/lib/apt/lists")
# What this machine needs to reach a package index, the container needs as well.
_FROM_HERE = ("/etc/ssl/certs", "/etc/pip.conf")


def ensure() -> Path:
    """Return the archive of the image as the checkout builds it; needs root, and the package index for a new one."""
    packages.ensure(packages.IMAGE)
    sources = [*(ROOT / name for name in ("Dockerfile", ".dockerignore", "requirements.txt")), Path(__file__)]
    sources += sorted((ROOT / "redisop").rglob("*.py"))
    key = digest(part for path in sources for part in (path.relative_to(ROOT).as_posix().encode(), path.read_bytes()))
    entry = cached("operator-image", key, _build)
    for other in cache().glob("operator-image-*"):  # each is some 200 MB, and every change of the code makes one
        if other != entry:
            shutil.rmtree(other, ignore_errors=True)
    return entry / "image.tar"


def _build(out: Path) -> None:
    base = cached("debian-base", digest(part.encode() for part in _DEBOOTSTRAP), _bootstrap)
    # The driver that copies: it needs nothing of the kernel.
    storage = [f"--root={out}/storage/root", f"--runroot={out}/storage/run", "--storage-driver=vfs"]

    def buildah(*arguments: str) -> str:
        return _run(["nice", "buildah", *storage, *arguments])

    container = buildah("from", "scratch").strip()
    buildah("add", "--quiet", container, str(base / "root"), "/")
    buildah("commit", "--quiet", "--rm", container, _BASE)
    mounts = [f"--volume={path}:{path}:ro" for path in _FROM_HERE if Path(path).exists()]
    # Without namespaces of its own, which are not to be had on every machine.
    plain = ["--isolation=chroot", "--network=host", f"--build-arg=BASE={_BASE}", *mounts]
    buildah("bud", *plain, f"--tag={IMAGE}", str(ROOT))
    buildah("push", "--quiet", IMAGE, f"docker-archive:{out}/image.tar:{IMAGE}")
    shutil.rmtree(out / "storage")


def _bootstrap(out: Path) -> None:
    _run(["nice", *_DEBOOTSTRAP, str(out / "root")])
    for path in _UNUSED:
        shutil.rmtree(out / "root" / path, ignore_errors=True)


def _run(command: list[str]) -> str:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout
