"""The import rule: a module may import only from the layers below its own, and pure ones have no effects."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "redisop"

LAYERS = [  # top to bottom; modules that share a line are strangers to each other
    {"__main__"},
    {"cli"},
    {"live"},
    {"install"},
    {"reconcile"},
    {"status"},
    {"render", "diff", "plan"},
    {"layout", "snapshot"},
    {"api"},
    {"names"},
    {"failures"},
    {"manifest", "documents"},
]
RANK = {module: rank for rank, layer in enumerate(LAYERS) for module in layer}
WORLD = {"cli", "live", "__main__"}  # may touch the world
EFFECTS = {  # libraries that no pure module may import
    *("asyncio", "http", "logging", "multiprocessing", "os", "pathlib", "random", "secrets", "shutil", "signal"),
    *("socket", "ssl", "subprocess", "sys", "tempfile", "threading", "time", "urllib", "uuid"),
    *("click", "kubernetes", "prometheus_client", "rich"),
}
CALLS = {"now", "utcnow", "today", "open", "print", "input", "exec", "eval", "read_text", "write_text", "getenv"}


def layer_of(path: Path, root: Path) -> str:
    return path.relative_to(root).with_suffix("").parts[0]


def imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "write imports in full"
            if node.module == "redisop":
                yield from (f"redisop.{alias.name}" for alias in node.names)
            else:
                yield str(node.module)


def calls(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield getattr(node.func, "attr", getattr(node.func, "id", ""))


def faults(path: Path, root: Path) -> Iterator[str]:
    """Everything that the module at `path` below `root` may not do."""
    own = layer_of(path, root)
    if own not in RANK:
        yield f"{own} has no layer yet"
        return
    tree = ast.parse(path.read_text())
    for name in imports(tree):
        top, _, rest = name.partition(".")
        other = rest.partition(".")[0]
        if top == "redisop" and other != "__version__" and other != own and RANK.get(other, -1) <= RANK[own]:
            yield f"{own} may not import {other}"
        if top in EFFECTS and own not in WORLD:
            yield f"{own} is pure and may not import {top}"
    if own not in WORLD:
        yield from (f"{own} is pure and may not call {call}()" for call in calls(tree) if call in CALLS)


MODULES = [path for path in sorted(ROOT.rglob("*.py")) if path != ROOT / "__init__.py"]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_import_downwards_only_and_pure_ones_have_no_effects(path: Path) -> None:
    assert list(faults(path, ROOT)) == []


@pytest.mark.parametrize(
    ("module", "text", "fault"),
    [
        ("api/rules.py", "from redisop.render import render", "api may not import render"),
        ("api/rules.py", "import redisop.cli", "api may not import cli"),
        ("manifest.py", "from redisop import documents", "manifest may not import documents"),
        ("render/pod.py", "import socket", "render is pure and may not import socket"),
        ("render/pod.py", "from time import time", "render is pure and may not import time"),
        ("render/pod.py", "def f():\n    import kubernetes", "render is pure and may not import kubernetes"),
        ("names.py", "datetime.now()", "names is pure and may not call now()"),
        ("names.py", "open('x')", "names is pure and may not call open()"),
        ("documents.py", "print('x')", "documents is pure and may not call print()"),
        ("stray.py", "", "stray has no layer yet"),
    ],
)
def test_the_rule_finds_what_it_forbids(tmp_path: Path, module: str, text: str, fault: str) -> None:
    path = tmp_path / module
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    assert list(faults(path, tmp_path)) == [fault]
