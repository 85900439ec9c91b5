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
    assert f"{tmp_path}/service-a-read.yaml: note: removed: it is not written any more" in ended.lines


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


@pytest.mark.parametrize("bad", ["folder", "link", "pipe"])
@pytest.mark.parametrize("place", ["x.yaml", "shop/x.yaml", "kustomization.yaml"])
def test_what_is_no_file_is_passed_over(tmp_path, bad, place):
    path = tmp_path / place
    path.parent.mkdir(exist_ok=True)
    {"folder": path.mkdir, "link": lambda: path.symlink_to("/no/such"), "pipe": lambda: os.mkfifo(path)}[bad]()
    before = path.lstat().st_ino
    assert write(tmp_path, EXAMPLE).code == 0
    assert "statefulset-my-redis-cluster.yaml" in os.listdir(tmp_path)
    assert path.lstat().st_ino == before


def test_a_kustomization_in_another_encoding_is_somebody_elses(tmp_path):
    (tmp_path / "kustomization.yaml").write_bytes(b"# \xe9\nresources: []\n")
    assert write(tmp_path, EXAMPLE).code == 0
    assert (tmp_path / "kustomization.yaml").read_bytes() == b"# \xe9\nresources: []\n"


@pytest.mark.parametrize("name", ["x.yaml", "kustomization.yaml"])
def test_a_file_that_may_not_be_read_is_passed_over(tmp_path, monkeypatch, name):
    (tmp_path / name).write_text("resources: [mine.yaml]\n")
    read = Path.read_bytes

    def refuse(path):  # root may read everything
        if path.name == name:
            raise PermissionError(13, "Permission denied", str(path))
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert write(tmp_path, EXAMPLE).code == 0
    assert (tmp_path / name).read_text() == "resources: [mine.yaml]\n"


def test_a_folder_in_the_place_of_a_file_is_named(tmp_path):
    (tmp_path / "service-my-redis-cluster-master.yaml").mkdir()
    ended = write(tmp_path, EXAMPLE)
    assert ended.code == 2
    assert ended.lines[-1] == f"error: cannot write {tmp_path}/service-my-redis-cluster-master.yaml: Is a directory"


# -- who is home ------------------------------------------------------------------------------------------------------


def test_a_home_that_moved_is_not_set_back(tmp_path):
    write(tmp_path, document("a", replicas="2"), "--primary", "1", "--epoch", "1")
    before = files(tmp_path)
    ended = write(tmp_path, document("a", replicas="3") + "---\n" + document("b"))
    assert ended.code == 3
    assert ended.lines[0] == (
        f"stdin:1: error: {tmp_path}/configmap-a-config.yaml has home 1, epoch 1: give --primary 1 --epoch 1 again "
        "(the flags hold for as long as the instance does), or remove the file"
    )
    after = files(tmp_path)
    assert {name: after[name] for name in before if name != "kustomization.yaml"} == {
        name: text for name, text in before.items() if name != "kustomization.yaml"
    }
    assert "statefulset-b.yaml" in after
    listed = yaml.safe_load(after["kustomization.yaml"])["resources"]
    assert {*listed, "kustomization.yaml"} == after.keys()


def test_the_same_flags_again_and_a_higher_epoch_are_written(tmp_path):
    two = document("a", "shop", replicas="2")
    for primary, epoch in (("1", "1"), ("1", "1"), ("0", "2"), ("1", "10")):
        assert write(tmp_path, two, "--primary", primary, "--epoch", epoch).code == 0
    facts = yaml.safe_load((tmp_path / "shop/configmap-a-config.yaml").read_text())["data"]
    assert (facts["home"], facts["epoch"]) == ("1", "10")
    assert write(tmp_path, two, "--primary", "1", "--epoch", "9").code == 3


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("redis-cr: a", "redis-cr: b"),
        lambda text: text.replace('epoch: "1"', "epoch: many"),
        lambda text: text.replace('home: "1"', 'home: "-1"'),
        lambda text: text.partition("data:")[0] + "data: [1]\n",
        lambda text: text.partition("data:")[0],
        lambda text: "a: [",
    ],
)
def test_a_file_that_says_no_home_of_this_redis_stops_nothing(tmp_path, change):
    two = document("a", replicas="2")
    write(tmp_path, two, "--primary", "1", "--epoch", "1")
    file = tmp_path / "configmap-a-config.yaml"
    changed = change(file.read_text())
    assert changed != file.read_text()
    file.write_text(changed)
    assert write(tmp_path, two).code == 0


# -- kustomization.yaml -----------------------------------------------------------------------------------------------


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
