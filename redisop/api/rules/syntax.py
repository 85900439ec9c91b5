"""How names, keys, images and addresses are spelled, in what Go's and Python's regular expressions have in common.

Each pattern is used in Python and in CEL, so that both accept the same texts; it must stay within what both know.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from json import dumps
from typing import Any, Final

from redisop.api.rules.rule import Rule

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]"
_IMAGE_PART = "[a-z0-9]+((_|__|[.]|-+)[a-z0-9]+)*"
_HOST_PART = "[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?"
_HOST = rf"({_HOST_PART}([.]{_HOST_PART})*|\[[a-fA-F0-9:]+\])(:[0-9]+)?"
_TAG = "[a-zA-Z0-9_][-a-zA-Z0-9_.]{0,127}"
_DIGEST = "(sha256:[a-f0-9]{64}|sha512:[a-f0-9]{128})"

CONFIG_KEY: Final = "^[a-z0-9-]{1,64}$"
DNS_LABEL: Final = f"^{_LABEL}$"
DNS_SUBDOMAIN: Final = f"^{_LABEL}([.]{_LABEL})*$"
IMAGE: Final = f"^({_HOST}/)?{_IMAGE_PART}(/{_IMAGE_PART})*(:{_TAG})?(@{_DIGEST})?$"
LABEL_KEY: Final = f"^({_LABEL}([.]{_LABEL})*/)?{_QUALIFIED}$"
LABEL_VALUE: Final = f"^({_QUALIFIED})?$"
MOUNT_PATH: Final = "^(/[^/:]+)+$"
SECRET_KEY: Final = "^[-._a-zA-Z0-9]+$"  # noqa: S105
VARIABLE: Final = "^[-._a-zA-Z][-._a-zA-Z0-9]*$"
VERSION: Final = "^(0|[1-9][0-9]{0,2})([.](0|[1-9][0-9]{0,2})){0,2}$"

_LONGEST_LABEL = 63
_dns_label = re.compile(DNS_LABEL)
_digits = re.compile("0|[1-9][0-9]{0,2}")


def get(part: Any, field: str) -> Any:
    """Return what `field` of a model or of a passed-through map holds; None when it is not there."""
    return part.get(field) if isinstance(part, dict) else getattr(part, field)


def matcher(pattern: str) -> Callable[[str], bool]:
    """Return the function that tells whether a text matches `pattern`."""
    compiled = re.compile(pattern)
    return lambda text: compiled.fullmatch(text) is not None


def quoted(text: str) -> str:
    """Return `text` as a literal of CEL."""
    return dumps(text)


def among(item: str, choices: Iterable[str]) -> str:
    """Return the CEL that tells whether `item` is one of `choices`."""
    return f"{item} in [{', '.join(quoted(choice) for choice in choices)}]"


def begins(item: str, prefixes: Iterable[str]) -> str:
    """Return the CEL that tells whether `item` begins with one of `prefixes`."""
    return " || ".join(f"{item}.startsWith({quoted(prefix)})" for prefix in prefixes)


def spelled(field: str, pattern: str, wrong: str, right: str, longest: int | None = None) -> Rule:
    """Return the rule that text in `field`, when it is there at all, matches `pattern`."""
    matches = matcher(pattern)

    def holds(part: Any) -> bool:
        text = get(part, field)
        return text is None or ((longest is None or len(text) <= longest) and matches(text))

    short = f" && self.{field}.size() <= {longest}" if longest else ""
    cel = f"!has(self.{field}) || self.{field}.matches({quoted(pattern)}){short}"
    return Rule(field=field, wrong=wrong, right=right, holds=holds, cel=cel)


def object_name(field: str, kind: str) -> Rule:
    """Return the rule that `field` can be the name of a `kind`."""
    right = "write lower-case letters, digits, dashes and dots, a letter or digit first and last"
    return spelled(field, DNS_SUBDOMAIN, f"is not a name for a {kind}", right)


def label_name(field: str, kind: str) -> Rule:
    """Return the rule that `field` can be the name of a `kind` that is one label of a DNS name."""
    right = "write lower-case letters, digits and dashes, a letter or digit first and last, at most 63"
    return spelled(field, DNS_LABEL, f"is not a name for a {kind}", right, longest=_LONGEST_LABEL)


def no_entry_twice(field: str) -> Rule:
    """Return the rule that the entries of the list in `field` differ, which the API server holds by the list's type."""

    def holds(part: Any) -> bool:
        entries = get(part, field)
        return len(entries) < 2 or len(set(entries)) == len(entries)

    return Rule(field=field, wrong="has an entry that stands twice", right="remove one of them", holds=holds)


def image(field: str = "image") -> Rule:
    """Return the rule that `field` names an image."""
    right = "write [host[:port]/]path[:tag][@digest], for example redis:8.2-alpine"
    return spelled(field, IMAGE, "is not the name of an image", right)


def is_dns_label(text: str) -> bool:
    """Tell whether `text` is one label of a DNS name, as the names of namespaces are."""
    return len(text) <= _LONGEST_LABEL and _dns_label.fullmatch(text) is not None


def is_cidr(text: str) -> bool:
    """Tell whether `text` is an address with the length of its prefix, as CEL's `isCIDR` does."""
    return _network(text) is not None


def is_inside(text: str, block: str) -> bool:
    """Tell whether the addresses `text` are some of those of `block`, but not all; both are CIDRs, or it is false."""
    inner, outer = _network(text), _network(block)
    if inner is None or outer is None or inner.version != outer.version:
        return False
    return bool(inner.prefixlen > outer.prefixlen and inner.subnet_of(outer))


def _network(text: str) -> Any:
    import ipaddress  # here, since few documents have addresses, and each command would pay for it

    address, _, length = text.partition("/")
    if not _digits.fullmatch(length) or "%" in address:
        return None
    try:
        network = ipaddress.ip_network(f"{address}/{length}", strict=False)
        mapped = ipaddress.ip_address(address)
    except ValueError:
        return None
    return None if getattr(mapped, "ipv4_mapped", None) else network
