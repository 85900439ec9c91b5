"""`redisop render --output-dir`: a folder that can be kept in Git and applied with kustomize."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.cli.run import EXAMPLE, document, redisop


def write(folder: Path, text: str, *arguments: str):
    return redisop("render", "-f", "-", "--output-dir", folder, *arguments, stdin=text)


def files(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_each_manifest_has_its_file_and_together_they_are_what_render_prints(tmp_path):
    ended = write(tmp_path / "out", EXAMPLE)
    assert (ended.code, ended.stdout) == (0, "")
    found = files(tmp_path / "out")
    listed = yaml.safe_load(found.pop("kustomization.yaml"))["resources"]
    assert sorted(listed) == sorted(found)
    assert "statefulset-my-redis-cluster.yaml" in found
    printed = yaml.safe_load_all(redisop("render", "-f", "-", stdin=EXAMPLE).stdout)
    assert {name_of(manifest): manifest for manifest in printed} == {
        name: yaml.safe_load(text) for name, text in found.items()
    }


def name_of(manifest: dict) -> str:
    return f"{manifest['kind']}-{manifest['metadata']['name']}.yaml".lower()


def test_two_of_one_name_in_two_namespaces_do_not_meet(tmp_path):
    write(tmp_path, document("a", "shop") + "---\n" + document("a", "bank"))
    assert {"shop/statefulset-a.yaml", "bank/statefulset-a.yaml"} <= files(tmp_path).keys()


def test_nothing_is_written_anew_that_did_not_change(tmp_path):
    write(tmp_path, EXAMPLE)
    before = {path: path.stat() for path in tmp_path.rglob("*") if path.is_file()}
    ended = write(tmp_path, EXAMPLE.replace("512Mi", "1Gi"))
    assert ended.lines[-1].startswith(f"{tmp_path}: note: ")
    changed = {path.name for path, stat in before.items() if path.stat().st_ino != stat.st_ino}
    assert changed == {"statefulset-my-redis-cluster.yaml", "configmap-my-redis-cluster-config.yaml"}


def test_what_is_not_rendered_any_more_is_removed_and_said(tmp_path):
    more = document("a", replicas="2")
    write(tmp_path, more)
    assert "service-a-read.yaml" in files(tmp_path)
    ended = write(tmp_path, document("a", replicas="1"))
    assert "service-a-read.yaml" not in files(tmp_path)
    assert "service-a-read.yaml" not in files(tmp_path)["kustomization.yaml"]
    assert f"{tmp_path}/service-a-read.yaml: note: removed: it is not rendered any more" in ended.lines


def test_files_of_another_redis_of_a_bad_document_and_of_people_stay(tmp_path):
    write(tmp_path, document("a", replicas="2"))
    write(tmp_path, document("b"))
    own = {
        "secret-a-auth.yaml": redisop("secret", "a").stdout,
        "notes.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: notes}\n",
        "copy-of-service-a-read.yaml": (tmp_path / "service-a-read.yaml").read_text(),
        "broken.yaml": "a: [",
        "strange.yaml": "metadata: {labels: 1}\nkind: [a]",
    }
    for name, text in own.items():
        (tmp_path / name).write_text(text)
    before = files(tmp_path)
    assert write(tmp_path, document("a", replicas="x") + "---\n" + document("b")).code == 3
    after = files(tmp_path)
    assert after == before
    write(tmp_path, document("a"))
    assert own.items() <= files(tmp_path).items()


def test_a_kustomization_of_ones_own_is_left_alone(tmp_path):
    (tmp_path / "kustomization.yaml").write_text("resources: [mine.yaml]\n")
    write(tmp_path, EXAMPLE)
    assert (tmp_path / "kustomization.yaml").read_text() == "resources: [mine.yaml]\n"


def test_the_kustomization_lists_what_earlier_runs_wrote_for_others(tmp_path):
    write(tmp_path, document("a"))
    write(tmp_path, document("b", "shop"))
    listed = yaml.safe_load((tmp_path / "kustomization.yaml").read_text())["resources"]
    assert {"statefulset-a.yaml", "shop/statefulset-b.yaml"} <= set(listed)


def test_files_are_readable_by_others_and_nothing_else_is_left_behind(tmp_path):
    write(tmp_path, EXAMPLE)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o644}
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "taken").write_text("")
    ended = write(tmp_path / "taken" / "out", EXAMPLE)
    assert (ended.code, ended.stdout) == (2, "")
    assert ended.lines[-1].startswith(f"error: cannot write {tmp_path}/taken/out")


def test_a_file_in_place_of_the_folder_is_a_wrong_call(tmp_path):
    (tmp_path / "out").write_text("")
    assert write(tmp_path / "out", EXAMPLE).code == 2


def test_nothing_is_made_when_every_document_is_bad(tmp_path):
    assert write(tmp_path / "out", document(memory="x")).code == 3
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not here; tests/cluster has one")
def test_kustomize_builds_the_folder_and_what_stands_over_it(tmp_path):
    write(tmp_path / "rendered", document("a", "shop") + "---\n" + document("b"))
    (tmp_path / "kustomization.yaml").write_text("resources: [rendered]\nnamePrefix: test-\n")
    built = subprocess.run(["kubectl", "kustomize", tmp_path], capture_output=True, text=True, check=True).stdout
    names = {manifest["metadata"]["name"] for manifest in yaml.safe_load_all(built)}
    assert {"test-a", "test-b", "test-a-master"} <= names
