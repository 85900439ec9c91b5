"""The same document gives the same bytes, whatever machine, place, language, hour and Python it is."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.run import document

ROOT = Path(__file__).parents[2]
DOCUMENT = document(
    replicas="3",
    config='{maxclients: "100", timeout: "5"}',
    pod="{annotations: {b/c: 'größer', a/b: 'on'}, labels: {z: x, a: y1}}",
    monitoring="{exporter: {enabled: true}, podMonitor: {enabled: true}}",
    networkPolicy="{enabled: true}",
    services="{primary: {annotations: &same {d: '1', c: '2', b: '3', a: '4'}}, read: {annotations: {<<: *same}}}",
)


def rendered(
    python: str | Path = sys.executable, folder: Path = ROOT, output: str = "yaml", **environment: str
) -> bytes:
    ended = subprocess.run(
        [python, "-m", "redisop", "render", "-o", output, "-f", "-"],
        input=DOCUMENT.encode(),
        capture_output=True,
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **environment},
    )
    assert ended.returncode == 0, ended.stderr.decode()
    return ended.stdout


@pytest.fixture(scope="module")
def usual() -> bytes:
    text = rendered()
    assert "größer".encode() in text
    return text


@pytest.mark.parametrize(
    "environment",
    [
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"LC_ALL": "POSIX"},
        {"PYTHONIOENCODING": "latin-1"},
        {"PYTHONIOENCODING": "utf-16"},
        {"TZ": "Pacific/Kiritimati"},
        {"TZ": "America/Los_Angeles", "LC_ALL": "C.UTF-8"},
        {"PYTHONHASHSEED": "1"},
        {"PYTHONHASHSEED": "2"},
        {"COLUMNS": "20", "TERM": "xterm", "USER": "nobody", "HOME": "/nonexistent"},
        {"PYTHONOPTIMIZE": "2"},
    ],
    ids=str,
)
def test_in_any_environment(usual, environment):
    assert rendered(**environment) == usual


def test_in_any_folder(usual, tmp_path):
    assert rendered(folder=tmp_path) == usual


def test_as_json_too(tmp_path):
    assert rendered(output="json", folder=tmp_path, LC_ALL="C", PYTHONHASHSEED="3") == rendered(output="json")


def _python(version: str) -> str | None:
    candidates = [shutil.which(f"python{version}"), *Path.home().glob(f".pyenv/versions/{version}.*/bin/python")]
    for candidate in filter(None, candidates):
        done = subprocess.run([candidate, "-c", "import sys; print(sys.version)"], capture_output=True, text=True)
        if done.stdout.startswith(f"{version}."):
            return str(candidate)
    return None


@pytest.mark.full
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
def test_on_another_python(usual, tmp_path, version, request):
    if not request.config.getoption("--full", default=False):
        pytest.skip("makes a virtual environment: needs --full")
    python = _python(version)
    if python is None:
        pytest.skip(f"no Python {version} here")
    subprocess.run([python, "-m", "venv", tmp_path / "venv"], check=True)
    own = tmp_path / "venv/bin/python"
    needed = ["click", "msgspec", "pydantic", "pyyaml"]
    subprocess.run([own, "-m", "pip", "install", "--quiet", *needed], check=True)
    assert rendered(own) == usual
