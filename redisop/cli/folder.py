"""`--output-dir`: one file a manifest, for a folder under version control.

Files stand at `<namespace>/<kind>-<name>.yaml`, without the first part where a manifest names no namespace. A file is
replaced whole or not at all, and left alone when nothing in it changes. What an earlier run wrote for an owner of this
run and this run does not is removed. `kustomization.yaml` lists the files, as long as it is ours.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from redisop import names
from redisop.cli.output import say, stop
from redisop.documents import Document, parse
from redisop.manifest import Manifest, to_yaml

KUSTOMIZATION: Final = "kustomization.yaml"
# For whom the command that calls has written a manifest; None when it has not.
Owner: TypeAlias = Callable[[Manifest], Hashable | None]

_NUMBER: Final = re.compile("[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class Written:
    """What a run did to a folder, as paths in it."""

    changed: list[str]
    unchanged: list[str]
    removed: list[str]


@dataclass(frozen=True, slots=True)
class Home:
    """Which member a file says is home, by its ordinal, and how often that changed."""

    file: Path
    primary: int
    epoch: int


def later_home(folder: Path, manifests: Iterable[Manifest]) -> Home | None:
    """Return what `folder` holds of one `Redis` if its epoch is higher than that of its `manifests`."""
    config_map = next(manifest for manifest in manifests if manifest["kind"] == "ConfigMap")
    path = _path(config_map)
    before = _ours(folder, path, redis_of)
    facts = before.get("data") if before else None
    if not isinstance(facts, dict):
        return None
    home, epoch = str(facts.get("home")), str(facts.get("epoch"))
    if not (_NUMBER.fullmatch(home) and _NUMBER.fullmatch(epoch)) or int(epoch) <= int(config_map["data"]["epoch"]):
        return None
    return Home(folder / path, int(home), int(epoch))


def write(folder: Path, manifests: Iterable[Manifest], owner: Owner, command: str) -> Written:
    """Make `folder` hold `manifests`. Raises OSError with the path that could not be written."""
    files = {_path(manifest): to_yaml([manifest]) for manifest in manifests}
    before = dict(_written_before(folder, owner))
    wanted = {owner(manifest) for manifest in manifests}
    stale = [path for path, manifest in before.items() if path not in files and owner(manifest) in wanted]
    changed = [path for path, text in files.items() if _replace(folder / path, text)]
    for path in stale:
        (folder / path).unlink()
    _list((before.keys() | files.keys()) - set(stale), folder, command)
    return Written(changed, sorted(files.keys() - set(changed)), stale)


def put_files(folder: Path, manifests: Iterable[Manifest], owner: Owner, command: str) -> None:
    """Make `folder` hold `manifests`, and say what that changed. Ends the process when it cannot."""
    try:
        written = write(folder, manifests, owner, command)
    except OSError as error:
        stop(f"cannot write {error.filename2 or error.filename or folder}: {error.strerror}")
    for path in written.removed:
        say("note", "removed: it is not written any more", str(folder / path))
    say("note", f"{len(written.changed)} files changed, {len(written.unchanged)} as before", str(folder))


def redis_of(manifest: Manifest) -> tuple[str | None, str] | None:
    """Return namespace and name of the `Redis` that `render` made the manifest for. It makes no Secret."""
    metadata = manifest["metadata"]
    name = metadata["labels"][names.INSTANCE_LABEL]
    if manifest["kind"] == "Secret" or not names.labels(name).items() <= metadata["labels"].items():
        return None
    return metadata.get("namespace"), name


def _path(manifest: Manifest) -> str:
    metadata = manifest["metadata"]
    file = f"{manifest['kind'].lower()}-{metadata['name']}.yaml"
    return f"{metadata['namespace']}/{file}" if metadata.get("namespace") else file


def _written_before(folder: Path, owner: Owner) -> Iterator[tuple[str, Manifest]]:
    """Yield the files that `write` made: in the right place, and with an owner."""
    for file in sorted([*folder.glob("*.yaml"), *folder.glob("*/*.yaml")]):
        path = file.relative_to(folder).as_posix()
        manifest = _ours(folder, path, owner)
        if manifest is not None:
            yield path, manifest


def _ours(folder: Path, path: str, owner: Owner) -> Manifest | None:
    """Return what `write` made at `path`; None for all else, be it somebody's, a folder or not to be read."""
    try:
        # A pipe would keep us waiting for ever.
        found = list(parse((folder / path).read_bytes(), path)) if (folder / path).is_file() else []
    except OSError:
        return None
    if len(found) == 1 and isinstance(found[0], Document) and _is_ours(found[0].value, path, owner):
        return found[0].value
    return None


def _is_ours(manifest: Manifest, path: str, owner: Owner) -> bool:
    try:
        return owner(manifest) is not None and _path(manifest) == path
    except (AttributeError, KeyError, TypeError):
        return False


def _list(paths: Iterable[str], folder: Path, command: str) -> None:
    file = folder / KUSTOMIZATION
    mark = f"# Written by redisop {command} --output-dir. Without this line redisop leaves the file alone.\n"
    if not _is_free(file, mark):
        return
    head = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
    _replace(file, mark + to_yaml([head | {"resources": sorted(paths)}]))


def _is_free(file: Path, mark: str) -> bool:
    try:
        return file.read_bytes().startswith(mark.encode()) if file.is_file() else not os.path.lexists(file)
    except OSError:
        return False


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
