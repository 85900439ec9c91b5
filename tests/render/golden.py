"""syrupy under the name golden: one readable YAML file a manifest, `golden/<case>/<kind>-<name>.yaml`."""

from pathlib import Path
from typing import Any

from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from redisop.manifest import Manifest, to_yaml

ROOT = Path(__file__).parent.parent.parent / "golden"


class GoldenYAML(SingleFileSnapshotExtension):
    """Writes a manifest exactly as `redisop render` prints it."""

    file_extension = "yaml"
    _write_mode = WriteMode.TEXT

    def serialize(self, data: Manifest, **_: Any) -> str:
        return to_yaml([data])

    @classmethod
    def dirname(cls, *, test_location: Any) -> str:
        return str(ROOT)

    @classmethod
    def get_file_basename(cls, *, test_location: Any, index: Any) -> str:
        return str(index)

    @classmethod
    def get_snapshot_name(cls, *, test_location: Any, index: Any = 0) -> str:
        return str(index).rpartition("/")[2]
