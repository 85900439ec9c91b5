"""docs/api.md, made from the CRD: every field with its type, default and bounds.

python -m tests.reference > docs/api.md
"""

import sys
from collections.abc import Iterator
from typing import Any

from redisop.api.crd import crd

HEAD = """# Every field of a `Redis`

`apiVersion: example.com/v1`, `kind: Redis`. The first five fields are enough, all others are optional. What follows
from other fields (the image, sizes inside Redis, times) has no default here; `redisop explain -f FILE` shows it for a
document. `redisop validate` checks the rules between fields. This page is made from the CRD.

| Field | Type | Default | What it is |
|---|---|---|---|
"""


def page() -> str:
    """Return the whole page."""
    (version,) = crd()["spec"]["versions"]
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return HEAD + "".join(f"{row}\n" for row in _rows(spec, ""))


def _rows(schema: dict[str, Any], at: str) -> Iterator[str]:
    for name, field in schema.get("properties", {}).items():
        path = f"{at}.{name}" if at else name
        inner = field.get("items", {}) if field.get("type") == "array" else field
        if inner.get("properties"):
            suffix = "[]" if inner is not field else ""
            yield from _rows(inner, path + suffix)
        else:
            yield f"| `{path}` | {_type(field)} | {_default(field)} | {_text(field.get('description', ''))} |"


def _type(field: dict[str, Any]) -> str:
    if field.get("x-kubernetes-int-or-string"):
        return "quantity"
    if "enum" in field:
        return ", ".join(f"`{each}`" for each in field["enum"] if each is not None)
    words = {"integer": "number", "boolean": "bool", "array": "list", "object": "map", "string": "text"}
    word = words.get(field.get("type", ""), "any")
    bounds = [str(field[bound]) for bound in ("minimum", "maximum") if bound in field]
    return f"{word} {' to '.join(bounds)}" if len(bounds) == 2 else word


def _default(field: dict[str, Any]) -> str:
    default = field.get("default")
    if default is None or default in ({}, []):
        return ""
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    if isinstance(default, list):
        return ", ".join(f"`{'/'.join(str(value) for value in each.values())}`" for each in default)
    return f"`{default}`"


def _text(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(page())
