"""Rules about names, labels and annotations: the user's own, and those that children take over."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from redisop import names
from redisop.api.meta import NAME_LENGTH, NAME_PATTERN
from redisop.api.rules import syntax
from redisop.api.rules.rule import Rule, Scope

_LONGEST_DOMAIN: Final = 253
OWN_LABELS: Final = tuple(sorted(names.labels("")))
_RESERVED_LABELS: Final = (*OWN_LABELS, "controller-revision-hash", "pod-template-hash")
_RESERVED_LABEL_PREFIXES: Final = (
    names.PREFIX,
    "apps.kubernetes.io/",
    "k8s.io/",
    "kubernetes.io/",
    "statefulset.kubernetes.io/",
)
_RESERVED_ANNOTATION_PREFIXES: Final = (
    names.PREFIX,
    "container.apparmor.security.beta.kubernetes.io/",
    "kubectl.kubernetes.io/",
    "seccomp.security.alpha.kubernetes.io/",
)
# By these their tools know what belongs to them: a child that carried one would be pruned or overwritten.
_TOOLS: Final = "^([-a-z0-9.]+[.])?(argoproj[.]io|fluxcd[.]io|kubectl[.]kubernetes[.]io|helm[.]sh)/"
_is_of_a_tool = syntax.matcher(f"{_TOOLS}.*")
_is_value = syntax.matcher(syntax.LABEL_VALUE)
_looks_like_a_key = syntax.matcher(syntax.LABEL_KEY)
_is_name = syntax.matcher(NAME_PATTERN)


def _is_key(key: str) -> bool:
    return key.find("/") <= _LONGEST_DOMAIN and _looks_like_a_key(key)


def _cel_is_key(key: str) -> str:
    return f"{key}.indexOf('/') <= {_LONGEST_DOMAIN} && {key}.matches({syntax.quoted(syntax.LABEL_KEY)})"


_QUALIFIED_NAME = "write [domain/]name, with at most 63 letters, digits, dashes, dots and underscores in the name"

NAME: Final = Rule(
    field="metadata.name",
    wrong="is not a name for a Redis",
    right=f"write lower-case letters, digits and dashes, a letter first, no dash last, at most {NAME_LENGTH}",
    holds=lambda redis: len(redis.metadata.name) <= NAME_LENGTH and _is_name(redis.metadata.name),
    cel=f"self.metadata.name.matches({syntax.quoted(NAME_PATTERN)}) && self.metadata.name.size() <= {NAME_LENGTH}",
)
_KEY: Final = Rule(
    wrong="cannot be a key",
    right=_QUALIFIED_NAME,
    holds=lambda entry: _is_key(entry[0]),
    cel=_cel_is_key("key"),
)
_LABEL_VALUE: Final = Rule(
    wrong="has a value that a label cannot have",
    right="write at most 63 letters, digits, dashes, dots and underscores, a letter or digit first and last",
    holds=lambda entry: len(entry[1]) <= 63 and _is_value(entry[1]),
    cel=f"self[key].matches({syntax.quoted(syntax.LABEL_VALUE)})",
)


def _not_reserved(kind: str, keys: tuple[str, ...], prefixes: tuple[str, ...]) -> Rule:
    taken = [syntax.among("key", keys)] if keys else []
    return Rule(
        wrong=f"is reserved for redisop or Kubernetes as {kind}",
        right="use another key",
        holds=lambda entry: entry[0] not in keys and not entry[0].startswith(prefixes),
        cel=f"!({' || '.join([*taken, syntax.begins('key', prefixes)])})",
    )


_FREE_LABEL: Final = _not_reserved("a label", OWN_LABELS, (names.PREFIX,))
_FREE_POD_LABEL: Final = _not_reserved("a label", _RESERVED_LABELS, _RESERVED_LABEL_PREFIXES)
_FREE_ANNOTATION: Final = _not_reserved("an annotation", (), _RESERVED_ANNOTATION_PREFIXES)


def _inherited(kind: str, own: tuple[str, ...]) -> tuple[Rule, ...]:
    def is_free(key: str) -> bool:
        return key not in own and not key.startswith(names.PREFIX) and not _is_of_a_tool(key)

    taken = [syntax.among("self", own)] if own else []
    refused = [*taken, syntax.begins("self", (names.PREFIX,)), f"self.matches({syntax.quoted(_TOOLS)})"]
    return (
        Rule(
            wrong="cannot be a key",
            right=_QUALIFIED_NAME,
            holds=_is_key,
            cel=f"self.matches({syntax.quoted(syntax.LABEL_KEY)})",
        ),
        Rule(
            wrong=f"is {kind} by which redisop, Argo CD, Flux, Helm or kubectl know what is theirs",
            right="leave it out",
            holds=is_free,
            cel=f"!({' || '.join(refused)})",
        ),
    )


_OTHER_LABELS: Final = (
    "spec.services.primary.labels",
    "spec.services.read.labels",
    "spec.monitoring.podMonitor.labels",
)
_ANNOTATIONS: Final = ("spec.pod.annotations", "spec.services.primary.annotations", "spec.services.read.annotations")


SCOPES: Final = (
    Scope(
        "",
        (
            NAME,
            # The API server refuses what is wrong with the rest of the metadata itself, before it looks at any rule.
            Rule(
                field="metadata.namespace",
                wrong="is not a name for a namespace",
                right="write lower-case letters, digits and dashes, a letter or digit first and last, at most 63",
                holds=lambda redis: redis.metadata.namespace is None or syntax.is_dns_label(redis.metadata.namespace),
            ),
        ),
    ),
    Scope("metadata.labels{}", (replace(_KEY, cel=""), replace(_LABEL_VALUE, cel=""))),
    Scope("metadata.annotations{}", (replace(_KEY, cel=""),)),
    Scope("spec.pod.labels{}", (_KEY, _FREE_POD_LABEL, _LABEL_VALUE)),
    *(Scope(f"{path}{{}}", (_KEY, _FREE_LABEL, _LABEL_VALUE)) for path in _OTHER_LABELS),
    *(Scope(f"{path}{{}}", (_KEY, _FREE_ANNOTATION)) for path in _ANNOTATIONS),
    Scope("spec.scheduling.nodeSelector{}", (_KEY, _LABEL_VALUE)),
    Scope("spec.metadata.inherit", (syntax.no_entry_twice("labels"), syntax.no_entry_twice("annotations"))),
    Scope("spec.metadata.inherit.labels[*]", _inherited("a label", OWN_LABELS)),
    Scope("spec.metadata.inherit.annotations[*]", _inherited("an annotation", ())),
)
