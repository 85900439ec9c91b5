"""What `render` makes of each case stands in golden/, one file a manifest."""

import pytest
from syrupy.assertion import SnapshotAssertion

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
    assert sorted(path.name for path in ROOT.iterdir()) == cases.NAMES
