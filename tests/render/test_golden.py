"""What `render` makes of each case, and `install` of its own, stands in golden/, one file a manifest."""

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.install import cases as installations
from tests.render import cases
from tests.render.golden import ROOT, GoldenYAML


@pytest.mark.parametrize("case", cases.NAMES)
def test_a_case_renders_as_its_golden_files_say(case: str, snapshot: SnapshotAssertion) -> None:
    golden = snapshot.use_extension(GoldenYAML)
    for manifest in cases.manifests(case):
        name = f"{case}/{manifest['kind'].lower()}-{manifest['metadata']['name']}"
        assert manifest == golden(name=name)


@pytest.mark.parametrize("case", cases.NAMES)
def test_golden_holds_no_file_that_its_case_does_not_render(case: str) -> None:
    rendered = {f"{manifest['kind'].lower()}-{manifest['metadata']['name']}.yaml" for manifest in cases.manifests(case)}
    assert {path.name for path in (ROOT / case).iterdir()} == rendered


def test_golden_holds_no_folder_without_a_case() -> None:
    assert sorted(path.name for path in ROOT.iterdir()) == sorted([*cases.NAMES, "install"])
    assert sorted(path.name for path in (ROOT / "install").iterdir()) == sorted(installations.CASES)


@pytest.mark.parametrize("case", installations.CASES)
def test_an_installation_is_as_its_golden_files_say(case: str, snapshot: SnapshotAssertion) -> None:
    golden = snapshot.use_extension(GoldenYAML)
    for manifest in installations.manifests(case):
        assert manifest == golden(name=installations.path(case, manifest))


@pytest.mark.parametrize("case", installations.CASES)
def test_golden_holds_no_file_that_its_installation_does_not_have(case: str) -> None:
    installed = {f"{installations.path(case, manifest)}.yaml" for manifest in installations.manifests(case)}
    assert {path.relative_to(ROOT).as_posix() for path in (ROOT / "install" / case).rglob("*.yaml")} == installed
