"""Container images made from programs on this machine, unpacked once for the nodes; no registry is needed.

Redis comes in the layout of the official image, in both of its flavours, since boot scripts meet two userlands:
``redis:7.0-alpine`` has busybox, ``redis:7.0`` and ``redis:7.0-bookworm`` have the programs of Debian's own base image
(dash, coreutils, mawk, …; no busybox, no procps). No image has a program that the real one lacks: Perl and apt are
left out of Debian's. Known differences: the busybox is Debian's and lacks some programs of Alpine's, the C library of
both flavours is Debian's, and the redis-cli of 8.2 is that of 7.0.
"""

import hashlib
import io
import json
import platform
import re
import shutil
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from tests import packages, redis_servers
from tests.cluster.cache import cached, digest

PAUSE = "localhost/pause:1"
EXPORTER = "docker.io/oliver006/redis_exporter:v1.74.0"
ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
PROGRAMS = Path(__file__).with_name("programs")

# What Debian's base image installs, less apt, dpkg, debconf, gpgv, Perl and what has no programs.
DEBIAN_PACKAGES = """
bash bsdutils coreutils dash debianutils diffutils findutils grep gzip hostname libc-bin login mawk mount ncurses-bin
passwd sed sysvinit-utils tar util-linux
"""

# Busybox programs of the Alpine base image. Debian's busybox has others besides, which are left out, and lacks some.
ALPINE_APPLETS = """
[ [[ arch ash awk base64 basename bc bunzip2 bzcat bzip2 cal cat chgrp chmod chown chroot cksum clear cmp comm cp cpio
crontab cut date dc dd df diff dirname dmesg dnsdomainname dos2unix du echo egrep env expand expr factor fallocate
false fgrep find flock fold free fsync fuser getopt grep groups gunzip gzip hd head hexdump hostid hostname iconv id
ifconfig install ionice iostat ip ipcalc ipcrm ipcs kill killall killall5 last less link ln logger login ls lsof lzcat
lzma md5sum mkdir mkfifo mknod mktemp more mount mountpoint mpstat mv nc netstat nice nl nohup nologin nproc nsenter
nslookup od paste pgrep pidof ping ping6 pipe_progress pkill pmap printenv printf ps pstree pwd pwdx readlink realpath
renice reset resize rev rm rmdir route run-parts sed seq setpriv setsid sh sha1sum sha256sum sha3sum sha512sum shred
shuf sleep sort split stat strings stty su sum sync sysctl tac tail tar tee test time timeout top touch tr traceroute
traceroute6 true truncate tty ttysize umount uname unexpand uniq unix2dos unlink unlzma unshare unxz unzip uptime
usleep uudecode uuencode vi vlock watch wc wget which who whoami xargs xxd xzcat yes zcat
"""

# The official image's server is built with protected mode off by default; the programs here are not.
REDIS_SERVER = """#!/bin/sh
case "${1-}" in
-v | --version | -h | --help | --test-memory | -) ;;
*)
  case " $* " in
  *" --protected-mode "*) ;;
  *) [ -f "${1-}" ] && grep -q '^ *protected-mode' "$1" || set -- "$@" --protected-mode no ;;
  esac
  ;;
esac
exec /usr/local/lib/redis/redis-server "$@"
"""

REDIS_ENTRYPOINT = """#!/bin/sh
set -e
if [ "${1#-}" != "$1" ] || [ "${1%.conf}" != "$1" ]; then
  set -- redis-server "$@"
fi
exec "$@"
"""


def ensure() -> Path:
    """Return a containerd's root folder in which all images are unpacked; needs the packages of ``packages.py``."""
    versions = subprocess.run(
        ["dpkg-query", "--show", "libc6", *DEBIAN_PACKAGES.split()], check=True, capture_output=True
    ).stdout
    sources = [Path(__file__), *sorted(PROGRAMS.glob("*.c"))]
    redis = [find(version) for version in redis_servers.VERSIONS for find in (redis_servers.server, redis_servers.cli)]
    key = digest([versions, *(path.read_bytes() for path in [*sources, *redis])])
    return cached("images", key, _build) / "containerd"


def _build(out: Path) -> None:
    archive = Archive()
    archive.add([PAUSE], [_static_program("pause")], {"Entrypoint": ["/pause"], "User": "65535:65535"})
    alpine, exporter = _alpine(), _static_program("redis_exporter")
    for tag, layers in ((EXPORTER, [exporter]), (f"{EXPORTER}-alpine", [alpine, exporter])):
        archive.add([tag], layers, {"Entrypoint": ["/redis_exporter"], "User": "59000:59000"})
    flavours = [(alpine, 1000, ["-alpine"]), (_debian(), 999, ["", "-bookworm"])]
    for minor in redis_servers.VERSIONS:
        server = redis_servers.server(minor)
        shown = subprocess.run([server, "--version"], check=True, capture_output=True, text=True).stdout
        version = re.search(r"v=([\d.]+)", shown)
        assert version, f"{server} --version: {shown}"
        for base, group, suffixes in flavours:
            tags = [f"docker.io/library/redis:{tag}{suffix}" for tag in (minor, version[1]) for suffix in suffixes]
            archive.add(tags, [base, _redis(server, redis_servers.cli(minor), group)], REDIS_CONFIG)
    archive.write(out / "images.tar")
    _unpack(out / "images.tar", out / "containerd")
    (out / "images.tar").unlink()


def copy(images: Path, root: Path) -> None:
    """Give a node the ``images`` as its containerd's ``root``. Files that never change are shared by hard links."""
    shared = ["cp", "--archive", "--link", f"{images}/.", f"{root}/"]
    if subprocess.run(shared, stderr=subprocess.DEVNULL).returncode:  # the cache is on another file system
        subprocess.run(["cp", "--archive", f"{images}/.", f"{root}/"], check=True)
    for database in images.rglob("*.db"):
        own = root / database.relative_to(images)
        own.unlink()
        shutil.copy2(database, own)


def _unpack(archive: Path, root: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        configuration, address = Path(folder, "config.toml"), f"{folder}/socket"
        configuration.write_text(
            f'version = 2\nroot = "{root}"\nstate = "{folder}/state"\n'
            'disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.internal.v1.opt"]\n'
            f'[grpc]\naddress = "{address}"\n'
        )
        with Path(folder, "log").open("wb") as log:
            daemon = subprocess.Popen(["containerd", "--config", configuration], stdout=log, stderr=log)
        ctr = ["ctr", "--address", address, "--namespace", "k8s.io"]
        try:
            while subprocess.run([*ctr, "version"], capture_output=True).returncode:
                if daemon.poll() is not None:
                    raise RuntimeError(f"containerd does not start:\n{Path(folder, 'log').read_text()}")
                time.sleep(0.05)
            subprocess.run([*ctr, "images", "import", archive], check=True, stdout=subprocess.DEVNULL)
        finally:
            daemon.terminate()
            daemon.wait()


REDIS_CONFIG = {
    "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
    "Entrypoint": ["docker-entrypoint.sh"],
    "Cmd": ["redis-server"],
    "WorkingDir": "/data",
    "ExposedPorts": {"6379/tcp": {}},
    "Volumes": {"/data": {}},
}


class Layer:
    """The files of one image layer; they belong to root and have no times, so that equal content is an equal layer."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[tarfile.TarInfo, bytes]] = {}

    def folder(self, path: str, mode: int = 0o755, owner: tuple[int, int] = (0, 0)) -> None:
        self._add(path, tarfile.DIRTYPE, mode, owner=owner)

    def link(self, path: str, target: str) -> None:
        self._add(path, tarfile.SYMTYPE, 0o777, target=target)

    def file(self, path: str, content: bytes | str, mode: int = 0o644) -> None:
        self._add(path, tarfile.REGTYPE, mode, content if isinstance(content, bytes) else content.encode())

    def program(self, path: str, source: Path) -> None:
        """Add the program ``source`` and the shared libraries that it needs."""
        self.file(path, source.read_bytes(), 0o755)
        listed = subprocess.run(["ldd", source], capture_output=True, text=True).stdout
        for library in re.findall(r"(/\S+)\s+\(0x", listed):
            self.file(f"usr{library}" if library.startswith("/lib") else library, Path(library).read_bytes(), 0o755)

    def tar(self) -> bytes:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
            for _, (info, content) in sorted(self._entries.items()):
                tar.addfile(info, io.BytesIO(content))
        return buffer.getvalue()

    def _add(
        self,
        path: str,
        kind: bytes,
        mode: int,
        content: bytes = b"",
        target: str = "",
        owner: tuple[int, int] = (0, 0),
    ) -> None:
        name = path.strip("/")
        parent = name.rpartition("/")[0]
        if parent and parent not in self._entries:
            self.folder(parent)
        info = tarfile.TarInfo(name)
        info.type, info.mode, info.size, info.linkname = kind, mode, len(content), target
        info.uid, info.gid = owner
        self._entries[name] = (info, content)


class Archive:
    """An OCI image layout in one tar file. Layers are not compressed: they are unpacked at once."""

    def __init__(self) -> None:
        self._blobs: dict[str, bytes] = {}
        self._manifests: list[dict[str, object]] = []

    def add(self, tags: Iterable[str], layers: list[Layer], config: dict[str, object]) -> None:
        """Add an image under every one of ``tags``."""
        tars = [layer.tar() for layer in layers]
        image = {
            "architecture": ARCHITECTURE,
            "os": "linux",
            "config": config,
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(tar).hexdigest()}" for tar in tars]},
            "history": [{"created_by": "tests/cluster/images.py"} for _ in tars],
        }
        manifest = {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": self._blob("application/vnd.oci.image.config.v1+json", json.dumps(image).encode()),
            "layers": [self._blob("application/vnd.oci.image.layer.v1.tar", tar) for tar in tars],
        }
        descriptor = self._blob("application/vnd.oci.image.manifest.v1+json", json.dumps(manifest).encode())
        for tag in tags:
            names = {"io.containerd.image.name": tag, "org.opencontainers.image.ref.name": tag.rpartition(":")[2]}
            self._manifests.append({**descriptor, "annotations": names})

    def write(self, path: Path) -> None:
        files = {
            "oci-layout": b'{"imageLayoutVersion":"1.0.0"}',
            "index.json": json.dumps({"schemaVersion": 2, "manifests": self._manifests}).encode(),
            **{f"blobs/sha256/{name}": content for name, content in self._blobs.items()},
        }
        with tarfile.open(path, "w") as tar:
            for name, content in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))

    def _blob(self, media_type: str, content: bytes) -> dict[str, object]:
        name = hashlib.sha256(content).hexdigest()
        self._blobs[name] = content
        return {"mediaType": media_type, "digest": f"sha256:{name}", "size": len(content)}


def _static_program(name: str) -> Layer:
    """Compile ``programs/NAME.c``; return a layer with nothing but that program in it."""
    layer = Layer()
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, name)
        source = PROGRAMS / f"{name}.c"
        subprocess.run(["gcc", "-Os", "-static", "-s", "-Wall", "-Werror", "-o", program, source], check=True)
        layer.file(name, program.read_bytes(), 0o755)
    return layer


def _alpine() -> Layer:
    layer = Layer()
    for folder in ("sbin", "usr/bin", "usr/sbin"):
        layer.link(folder, "/bin")
    with tempfile.TemporaryDirectory() as folder:
        # Not busybox-static: the shell of that one takes its own programs before, and without, what is on PATH.
        packages.unpack("busybox", Path(folder))
        busybox = Path(folder, "bin/busybox")
        layer.program("bin/busybox", busybox)
        there = subprocess.run([busybox, "--list"], check=True, capture_output=True, text=True).stdout.split()
    for applet in sorted(set(ALPINE_APPLETS.split()).intersection(there)):
        layer.link(f"bin/{applet}", "busybox")
    for folder in ("lib", "lib64"):
        layer.link(folder, f"usr/{folder}")
    return layer


def _debian() -> Layer:
    layer = Layer()
    for folder in ("bin", "sbin", "lib", "lib64"):
        layer.link(folder, f"usr/{folder}")
    listed = subprocess.run(
        ["dpkg", "--listfiles", *DEBIAN_PACKAGES.split()], check=True, capture_output=True, text=True
    )
    for line in listed.stdout.splitlines():
        inside = re.fullmatch(r"(?:/usr)?/(s?bin/[^/]+)", line)
        if not inside:
            continue
        source = Path("/usr") / inside[1]
        if source.is_symlink():
            layer.link(f"usr/{inside[1]}", str(source.readlink()))
        elif source.is_file():
            layer.program(f"usr/{inside[1]}", source)
    for name, alternative in {"awk": "mawk", "which": "which.debianutils"}.items():
        layer.link(f"usr/bin/{name}", alternative)
    return layer


def _redis(server: Path, cli: Path, group: int) -> Layer:
    """Return what the official image adds to its base; ``group`` is the numeric group of its user ``redis``."""
    layer = Layer()
    layer.file("etc/passwd", f"root:x:0:0:root:/root:/bin/sh\nredis:x:999:{group}:redis:/data:/usr/sbin/nologin\n")
    layer.file("etc/group", f"root:x:0:\nredis:x:{group}:\n")
    layer.file("etc/nsswitch.conf", "hosts: files dns\n")
    layer.folder("tmp", 0o1777)
    layer.folder("data", 0o755, (999, group))
    layer.folder("run")
    layer.folder("var")
    layer.link("var/run", "/run")
    with tempfile.TemporaryDirectory() as folder:
        for path, source in (("usr/local/lib/redis/redis-server", server), ("usr/local/bin/redis-cli", cli)):
            stripped = Path(folder, source.name)  # of debugging information, most of some of them
            subprocess.run(["strip", "-o", stripped, source], check=True)
            layer.program(path, stripped)
    layer.file("usr/local/bin/redis-server", REDIS_SERVER, 0o755)
    layer.file("usr/local/bin/docker-entrypoint.sh", REDIS_ENTRYPOINT, 0o755)
    for name in ("redis-sentinel", "redis-check-aof", "redis-check-rdb"):
        layer.link(f"usr/local/bin/{name}", "/usr/local/lib/redis/redis-server")
    return layer
