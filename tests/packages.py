"""The Debian packages that the tests need beyond a minimal Debian 12.

python -m tests.packages        installs, as root, what is needed to run Redis and the scripts of its pods
"""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

# What shows that a package is there: a program's name, or a path.
REDIS = {
    "busybox-static": "busybox",
    "dash": "dash",
    "redis-server": "redis-server",
    "redis-tools": "redis-cli",
}
CLUSTER = {
    "containerd": "containerd",
    "containernetworking-plugins": "/usr/lib/cni/bridge",
    "binutils": "strip",
    "gcc": "gcc",
    "iproute2": "ip",
    "iptables": "iptables",
    "kmod": "modprobe",
    "libc6-dev": "/usr/include/stdlib.h",
    "redis-server": "redis-server",
    "redis-tools": "redis-cli",
    "runc": "runc",
}
IMAGE = {
    "buildah": "buildah",
    "debootstrap": "debootstrap",
}
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
SERVICE_POLICY = Path("/usr/sbin/policy-rc.d")


def ensure(packages: Mapping[str, str]) -> None:
    """Install what is missing of `packages`; ask apt nothing when all is there.

    Raises RuntimeError when something is missing and cannot be installed.
    """
    missing = [package for package, proof in packages.items() if not _is_there(proof)]
    if not missing:
        return
    if os.geteuid() != 0:
        raise RuntimeError(f"these tests need the packages {' '.join(missing)}: install them, or run as root")
    services_stay_off = not SERVICE_POLICY.exists()
    if services_stay_off:
        SERVICE_POLICY.write_text("#!/bin/sh\nexit 101\n")
        SERVICE_POLICY.chmod(0o755)
    try:
        _apt_get("update")
        _apt_get("install", "--yes", "--no-install-recommends", *missing)
    finally:
        if services_stay_off:
            SERVICE_POLICY.unlink()


def unpack(package: str, folder: Path) -> None:
    """Unpack the files of a Debian package into ``folder`` without installing it."""
    download = ["download", "--option=APT::Sandbox::User=root", package]  # who else could not write to the folder
    try:
        _apt_get(*download, folder=folder)
    except RuntimeError:  # there are no lists of packages yet, or they are old
        _apt_get("update")
        _apt_get(*download, folder=folder)
    [archive] = folder.glob(f"{package}_*.deb")
    subprocess.run(["dpkg-deb", "--extract", archive, folder], check=True)


def _is_there(proof: str) -> bool:
    return Path(proof).exists() if proof.startswith("/") else bool(shutil.which(proof, path=PATH))


def _apt_get(*arguments: str, folder: Path | None = None) -> None:
    done = subprocess.run(
        ["apt-get", "--quiet", *arguments],
        cwd=folder,
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"apt-get {' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    ensure(REDIS)
