"""The documents that golden/ comes from, each with the Inputs it is rendered with."""

from pathlib import Path

import yaml

from redisop.api.read import read
from redisop.api.v1 import Redis
from redisop.manifest import Manifest
from redisop.render import render
from redisop.render.inputs import Inputs

FOLDER = Path(__file__).parent.parent / "cases"
OWNER = "8b2c1f0e-6f0b-4c51-9d3a-0f6f3a3a7c11"
INPUTS = {
    "managed-other-primary": Inputs(managed=True, primary=2, epoch=7, defaultsRevision=1, owner_uid=OWNER),
    "managed-supervised": Inputs(managed=True, defaultsRevision=1, owner_uid=OWNER, fenced=False),
}
NAMES = sorted(path.stem for path in FOLDER.glob("*.yaml"))


def document(case: str) -> dict[str, object]:
    return yaml.safe_load((FOLDER / f"{case}.yaml").read_text())


def redis(case: str) -> Redis:
    found = read(document(case))
    assert found.redis is not None, [str(violation) for violation in found.violations]
    return found.redis


def manifests(case: str) -> list[Manifest]:
    subject = redis(case)
    return render(subject.metadata, subject.spec, INPUTS.get(case, Inputs()))
