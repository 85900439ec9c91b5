"""`redisop install` as a person calls it."""

import json
from pathlib import Path

import pytest
import yaml

from redisop.install import install
from redisop.install.options import Options
from redisop.manifest import Manifest
from tests.cli.run import redisop

IMAGE = "registry.example.com/redisop:0.1.0"
INSTALL = ("install", "--image", IMAGE)


def files(folder: Path) -> list[Manifest]:
    listed = yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]
    assert sorted(listed) == sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*.yaml")
        if path.name not in ("kustomization.yaml", "mine.yaml")
    )
    return [yaml.safe_load((folder / path).read_text()) for path in listed]


def by_name(manifests: list[Manifest]) -> list[Manifest]:
    return sorted(manifests, key=lambda manifest: json.dumps(manifest, sort_keys=True))


def test_yaml_json_and_a_folder_say_the_same(tmp_path: Path) -> None:
    expected = install(Options(IMAGE))
    assert list(yaml.safe_load_all(redisop(*INSTALL).stdout)) == expected
    assert json.loads(redisop(*INSTALL, "-o", "json").stdout)["items"] == expected
    ended = redisop(*INSTALL, "-o", "kustomize", "--output-dir", tmp_path)
    assert (ended.code, ended.stdout) == (0, "")
    assert ended.lines == [f"{tmp_path}: note: {len(expected)} files changed, 0 as before"]
    assert by_name(files(tmp_path)) == by_name(expected)


def test_options_reach_the_manifests() -> None:
    chosen = ("-n", "ops", "--watch-namespace", "web", "--watch-namespace", "shop", "--watch-namespace", "web")
    ended = redisop(*INSTALL, *chosen, "--replicas", "2", "--pod-monitor", "--without", "crd")
    expected = install(Options(IMAGE, "ops", ("shop", "web"), 2, True, frozenset({"crd"})))
    assert list(yaml.safe_load_all(ended.stdout)) == expected


def test_a_folder_loses_what_is_not_installed_any_more_and_nothing_else(tmp_path: Path) -> None:
    folder = ("-o", "kustomize", "--output-dir", tmp_path)
    redisop(*INSTALL, *folder, "--replicas", "2")
    redisop("render", "-f", "examples/my-redis.yaml", "--output-dir", tmp_path / "redis")
    (tmp_path / "mine.yaml").write_text("kind: Mine\n")
    ended = redisop(*INSTALL, *folder)
    assert ended.lines[0] == (
        f"{tmp_path}/redisop-system/poddisruptionbudget-redisop.yaml: note: removed: it is not written any more"
    )
    assert ended.lines[1].endswith("1 files changed, 14 as before")
    assert (tmp_path / "mine.yaml").exists()
    assert len(list((tmp_path / "redis").iterdir())) == 8


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        (["install"], "Missing option '--image'."),
        (["install", "--image", ""], "'' is no name of an image; one looks like registry.example.com/redisop:0.1.0"),
        (["install", "--image", "Redis Op"], "'Redis Op' is no name of an image; one looks like"),
        ([*INSTALL, "-n", "Ops"], "'Ops' is no name of a namespace"),
        ([*INSTALL, "--watch-namespace", "a,b"], "'a,b' is no name of a namespace"),
        ([*INSTALL, "--replicas", "3"], "3 is not in the range 1<=x<=2"),
        ([*INSTALL, "--without", "rights"], "'rights' is not one of 'namespace', 'crd', 'user-roles'"),
        ([*INSTALL, "-o", "kustomize"], "-o kustomize and --output-dir go together: give both, or neither"),
        ([*INSTALL, "--output-dir", "x"], "-o kustomize and --output-dir go together: give both, or neither"),
        ([*INSTALL, "-o", "kustomize", "--output-dir", ""], "an empty text is no folder: write . for this one"),
    ],
)
def test_a_wrong_call_is_told_in_a_sentence(arguments: list[str], wrong: str) -> None:
    ended = redisop(*arguments)
    assert (ended.code, ended.stdout) == (2, "")
    assert wrong in ended.lines[-1]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "redisop-system").write_text("a file")
    ended = redisop(*INSTALL, "-o", "kustomize", "--output-dir", tmp_path)
    assert ended.code == 2
    assert ended.lines[-1].startswith(f"error: cannot write {tmp_path}/redisop-system")
