"""docs/errors.md explains every error, warning and note, of documents and of clusters."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from redisop import failures
from redisop.api import rules
from redisop.documents import SYNTAX_ERRORS

ROOT = Path(__file__).parents[2]
DOC = (ROOT / "docs/errors.md").read_text(encoding="utf-8")

# Calls that make an error, and which of their arguments says what is wrong.
SAYING = {
    "_Unreadable": 1,
    "_refusal": 1,
    "Missing": 1,
    "Finding": 4,
    "error": 0,
    "note": 0,
    "Violation": 1,
    "PydanticCustomError": 1,
    "stop": 0,
    "say": 1,
    "UsageError": 0,
    "BadParameter": 0,
    "__init__": 1,
    "Failure": 1,
    **{kind.__name__: 1 for kind in failures.Failure.__subclasses__()},
}


def told(expression: ast.expr) -> str:
    """Return the longest piece of a text that is the same every time, without what would be right."""
    return max(pieces(expression), key=len, default="").partition("; ")[0].strip()


def pieces(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FormattedValue):
            yield from pieces(child)


def texts(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in SAYING and len(node.args) > SAYING[name]:
                yield told(node.args[SAYING[name]])
        elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "wrong":
            yield told(node.value)
        elif isinstance(node, ast.FunctionDef) and ast.unparse(node.returns or ast.Constant(0)) == "Saying":
            yield from (
                told(end.value.elts[0])
                for end in ast.walk(node)
                if isinstance(end, ast.Return) and isinstance(end.value, ast.Tuple)
            )


SOURCES = [
    *(ROOT / "redisop" / name for name in ("documents.py", "failures.py")),
    *(path for folder in ("api", "cli", "live") for path in (ROOT / "redisop" / folder).rglob("*.py")),
]
SAID = {
    *(text for source in SOURCES for text in texts(source)),
    *(wrong for _, _, wrong, _ in SYNTAX_ERRORS if "{" not in wrong),
    *(rule.wrong for scope in rules.SCOPES for rule in scope.rules),
    *(rule.wrong for rule in rules.TRANSITIONS),
} - {""}


@pytest.mark.parametrize("text", sorted(SAID))
def test_what_is_said_is_explained(text):
    assert text in DOC
