"""What a manifest is, what identifies one, and how it is printed.

A manifest is a plain dict, so that it looks like its golden file and like what the API server stores. This module must
know nothing about Redis.

The YAML writer is our own because libyaml's leaves `y`, `1e3` or `12:30:45` unquoted, which kubectl reads as something
else, turns a script with a tab or with a space before a line break into one long quoted line, and takes three times as
long.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

Manifest = dict[str, Any]

# What no reader of YAML 1.1 or 1.2 takes for another type: every number and timestamp starts with a digit, a sign or a
# dot, every other special value is one of the words. A unit makes a string of what starts with digits.
_WORDS: Final = "y|n|yes|no|on|off|true|false|null|nan|inf|infinity"
_PLAIN: Final = re.compile(
    rf"(?!(?:{_WORDS})\Z)[a-z_/](?:[\w./+@%=,()~-]|[: ](?=[\w./+@%=,()~-]))*|[0-9]+(?:[KMGTPE]i|ms|[smh])",
    re.ASCII | re.IGNORECASE,
)
_NO_TEXT_FOR_YAML: Final = "\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff"
_NOT_TO_BE_SEEN: Final = "\xa0\xad\u200b-\u200f\u202a-\u202e\u2060-\u206f"
_ESCAPED: Final = re.compile(f"[{_NO_TEXT_FOR_YAML}{_NOT_TO_BE_SEEN}]")
_NOT_IN_A_BLOCK: Final = re.compile(f"[\x00-\x08\x0b-\x1f{_NO_TEXT_FOR_YAML}{_NOT_TO_BE_SEEN}]")
_LONGEST_IMPLICIT_KEY: Final = 128


class Key(NamedTuple):
    """Kind, namespace and name of a manifest; prints as `Kind/namespace/name`."""

    kind: str
    namespace: str | None
    name: str

    def __str__(self) -> str:
        return "/".join(part for part in self if part)


def key(manifest: Manifest) -> Key:
    """Return the `Key` of `manifest`."""
    metadata = manifest["metadata"]
    return Key(manifest["kind"], metadata.get("namespace"), metadata["name"])


def list_of(manifests: Iterable[Manifest]) -> Manifest:
    """Return the `List` that kubectl prints for several manifests, and reads like them."""
    return {"apiVersion": "v1", "kind": "List", "items": list(manifests)}


def to_json(manifest: Manifest) -> str:
    """Return the manifest as JSON, indented as kubectl does."""
    import msgspec  # a fifth of a start, and YAML is what people print

    return msgspec.json.format(msgspec.json.encode(manifest), indent=4).decode() + "\n"


def to_yaml(manifests: Iterable[Manifest]) -> str:
    """Return one YAML document a manifest, `---` between them, keys in the order of the dict.

    Every reader of YAML 1.1 or 1.2, kubectl among them, reads each string as that same string. Raises TypeError for
    what is not exactly a dict with text as keys, list, str, int, float, bool or None, ValueError for half a character
    and for what is not a number.
    """
    return "---\n".join(_document(manifest) for manifest in manifests)


def _document(manifest: Manifest) -> str:
    pieces: list[str] = []
    _write_mapping(manifest, "", "", pieces.append)
    return "".join(pieces)


def _write_mapping(mapping: Manifest, lead: str, indent: str, write: Callable[[str], None]) -> None:
    """Write `mapping`, its first line after `lead`, the others after `indent`."""
    for name, value in mapping.items():
        write(lead + _key(name, indent))
        kind = type(value)
        if kind is dict and value:
            write("\n")
            deeper = indent + "  "
            _write_mapping(value, deeper, deeper, write)
        elif kind is list and value:
            write("\n")
            _write_sequence(value, indent, indent, write)
        else:
            write(f" {_scalar(value, indent)}\n")
        lead = indent


def _write_sequence(items: list[Any], lead: str, indent: str, write: Callable[[str], None]) -> None:
    deeper = indent + "  "
    for item in items:
        write(lead + "- ")
        kind = type(item)
        if kind is dict and item:
            _write_mapping(item, "", deeper, write)
        elif kind is list and item:
            _write_sequence(item, "", deeper, write)
        else:
            write(f"{_scalar(item, indent)}\n")
        lead = indent


def _key(name: object, indent: str) -> str:
    if type(name) is not str:
        raise TypeError(f"a key of a manifest is text, not {name!r}")
    text = name if _PLAIN.fullmatch(name) else _quoted(name)
    return f"{text}:" if len(text) <= _LONGEST_IMPLICIT_KEY else f"? {text}\n{indent}:"


def _scalar(value: object, indent: str) -> str:
    kind = type(value)
    if kind is str:
        return _text(str(value), indent)
    if kind is float:
        return _float(value)
    if kind is bool or value is None or kind is int or value in ([], {}):
        return json.dumps(value)
    raise TypeError(f"a manifest is made of dict, list, str, int, float, bool and None, not {kind.__name__}: {value!r}")


def _text(text: str, indent: str) -> str:
    if _PLAIN.fullmatch(text):
        return text
    if "\n" in text and not text.isspace() and not text.endswith("\n\n") and not _NOT_IN_A_BLOCK.search(text):
        return _literal_block(text, indent + "  ")
    return _quoted(text)


def _literal_block(text: str, indent: str) -> str:
    indentation = "2" if text[0] in " \t\n" else ""
    chomping = "" if text.endswith("\n") else "-"
    lines = re.sub(r"\n(?=[^\n])", f"\n{indent}", f"\n{text}".removesuffix("\n"))
    return f"|{indentation}{chomping}{lines}"


def _float(value: object) -> str:
    """Return the number with a dot: readers of YAML 1.1 take `1e-05` for text."""
    digits, exponent, power = json.dumps(value, allow_nan=False).partition("e")
    return digits + (".0" if exponent and "." not in digits else "") + exponent + power


def _quoted(text: str) -> str:
    return _ESCAPED.sub(_escape, json.dumps(text, ensure_ascii=False))


def _escape(character: re.Match[str]) -> str:
    point = ord(character.group())
    if 0xD800 <= point <= 0xDFFF:
        raise ValueError(f"U+{point:04X} is half a character and cannot be written as text")
    return f"\\u{point:04x}"
