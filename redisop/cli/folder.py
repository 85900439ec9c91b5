"""`render --output-dir`: one file a manifest, for a folder under version control.

Files stand at `<namespace>/<kind>-<name>.yaml`, without the first part where a manifest names no namespace. A file is
replaced whole or not at all, and left alone when nothing in it changes. What an earlier run wrote for a `Redis` of this
run and this run does not is removed. `kustomization.yaml` lists the files, as long as it is ours.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from redisop import names
from redisop.documents import Document, parse
from redisop.manifest import Manifest, to_yaml

KUSTOMIZATION: Final = "kustomization.yaml"
MARK: Final = "# Written by redisop render --output-dir. Without this line redisop leaves the file alone.\n"


@dataclass(frozen=True, slots=True)
class Written:
    """What a run did to a folder, as paths in it."""

    changed: list[str]
    unchanged: list[str]
    removed: list[str]


def write(folder: Path, manifests: Iterable[Manifest]) -> Written:
    """Make `folder` hold `manifests`. Raises OSError with the path that could not be written."""
    files = {_path(manifest): to_yaml([manifest]) for manifest in manifests}
    before = dict(_rendered_before(folder))
    wanted = {_owner(manifest) for manifest in manifests}
    stale = [path for path, manifest in before.items() if path not in files and _owner(manifest) in wanted]
    changed = [path for path, text in files.items() if _replace(folder / path, text)]
    for path in stale:
        (folder / path).unlink()
    _list((before.keys() | files.keys()) - set(stale), folder)
    return Written(changed, sorted(files.keys() - set(changed)), stale)


def _path(manifest: Manifest) -> str:
    metadata = manifest["metadata"]
    file = f"{manifest['kind'].lower()}-{metadata['name']}.yaml"
    return f"{metadata['namespace']}/{file}" if metadata.get("namespace") else file


def _owner(manifest: Manifest) -> tuple[str | None, str]:
    """Return namespace and name of the `Redis` that the manifest is a child of."""
    metadata = manifest["metadata"]
    return metadata.get("namespace"), metadata["labels"][names.INSTANCE_LABEL]


def _rendered_before(folder: Path) -> Iterator[tuple[str, Manifest]]:
    """Yield the files that `write` made: in the right place, with our labels, and no Secret, since no run makes one."""
    for file in sorted([*folder.glob("*.yaml"), *folder.glob("*/*.yaml")]):
        path = file.relative_to(folder).as_posix()
        found = parse(file.read_bytes(), path)
        if len(found) == 1 and isinstance(found[0], Document) and _is_ours(found[0].value, path):
            yield path, found[0].value


def _is_ours(manifest: Manifest, path: str) -> bool:
    try:
        labels = manifest["metadata"]["labels"]
        expected = names.labels(labels[names.INSTANCE_LABEL])
        return manifest["kind"] != "Secret" and expected.items() <= labels.items() and _path(manifest) == path
    except (AttributeError, KeyError, TypeError):
        return False


def _list(paths: Iterable[str], folder: Path) -> None:
    file = folder / KUSTOMIZATION
    if file.exists() and not file.read_text(encoding="utf-8").startswith(MARK):
        return
    head = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
    _replace(file, MARK + to_yaml([head | {"resources": sorted(paths)}]))


def _replace(file: Path, text: str) -> bool:
    """Make `file` hold `text` in one step; return whether that changes it."""
    data = text.encode()
    if file.is_file() and file.read_bytes() == data:
        return False
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor, new = tempfile.mkstemp(dir=file.parent, prefix=".", suffix=".new")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            os.fchmod(stream.fileno(), 0o644)
        os.replace(new, file)
    except BaseException:
        os.unlink(new)
        raise
    return True
