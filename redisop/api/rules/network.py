"""Rules about Services, address families and who may connect."""

from __future__ import annotations

from typing import Any, Final

from redisop.api.rules import syntax
from redisop.api.rules.rule import Rule, Scope
from redisop.api.v1 import Service

_FORMS: Final = {"NodePort or LoadBalancer": ("NodePort", "LoadBalancer"), "LoadBalancer": ("LoadBalancer",)}


def _only_with(types: str, field: str, absent: str) -> Rule:
    def holds(service: Service) -> bool:
        return not getattr(service, field) or service.type in _FORMS[types]

    return Rule(
        field=field,
        wrong=f"means nothing for a Service that is not of type {types}",
        right="set type, or leave it out",
        holds=holds,
        cel=f"{absent} || {syntax.among('self.type', _FORMS[types])}",
    )


def _service(path: str) -> tuple[Scope, ...]:
    no_ranges = "!has(self.loadBalancerSourceRanges) || self.loadBalancerSourceRanges.size() == 0"
    return (
        Scope(
            path,
            (
                _only_with("NodePort or LoadBalancer", "nodePort", "!has(self.nodePort)"),
                _only_with("NodePort or LoadBalancer", "externalTrafficPolicy", "!has(self.externalTrafficPolicy)"),
                _only_with("LoadBalancer", "loadBalancerClass", "!has(self.loadBalancerClass)"),
                _only_with("LoadBalancer", "loadBalancerSourceRanges", no_ranges),
                syntax.no_entry_twice("loadBalancerSourceRanges"),
                syntax.spelled(
                    "loadBalancerClass",
                    syntax.LABEL_KEY,
                    "is not the name of a load balancer class",
                    "write [domain/]name",
                ),
            ),
        ),
        Scope(f"{path}.loadBalancerSourceRanges[*]", (_CIDR,)),
    )


_RANGE: Final = "write an address and the length of its prefix, for example 10.0.0.0/8"
_CIDR: Final = Rule(wrong="is not a range of addresses", right=_RANGE, holds=syntax.is_cidr, cel="isCIDR(self)")

_NODE_PORTS: Final = Rule(
    field="read.nodePort",
    wrong="is that of the primary, too",
    right="use another port",
    holds=lambda services: services.read.nodePort is None or services.read.nodePort != services.primary.nodePort,
    cel="!has(self.read.nodePort) || !has(self.primary.nodePort) || self.read.nodePort != self.primary.nodePort",
)
_FAMILIES: Final = Rule(
    field="ipFamilyPolicy",
    wrong="is SingleStack, and ipFamilies names two",
    right="name one family, or use PreferDualStack or RequireDualStack",
    holds=lambda network: network.ipFamilyPolicy != "SingleStack" or len(network.ipFamilies) < 2,
    cel="!has(self.ipFamilyPolicy) || self.ipFamilyPolicy != 'SingleStack' "
    "|| !has(self.ipFamilies) || self.ipFamilies.size() < 2",
)


def _is_of_one_kind(peer: dict[str, Any]) -> bool:
    return ("ipBlock" in peer) != ("podSelector" in peer or "namespaceSelector" in peer)


_PEER: Final = Rule(
    wrong="must have either ipBlock, or podSelector or namespaceSelector or both",
    right="write for example podSelector: {matchLabels: {app: shop}}",
    holds=_is_of_one_kind,
    cel="has(self.ipBlock) != (has(self.podSelector) || has(self.namespaceSelector))",
)
_BLOCK: Final = (
    Rule(
        field="cidr",
        wrong="is not a range of addresses",
        right=_RANGE,
        holds=lambda block: syntax.is_cidr(block["cidr"]),
        cel="isCIDR(self.cidr)",
    ),
    Rule(
        field="except",
        wrong="has something that is not a smaller range inside cidr",
        right="write ranges of which every address is one of cidr's",
        holds=lambda block: all(syntax.is_inside(part, block["cidr"]) for part in block.get("except", ())),
        cel="!has(self.except) || isCIDR(self.cidr) && self.except.all(part, isCIDR(part) "
        "&& cidr(self.cidr).containsCIDR(part) && cidr(part).prefixLength() > cidr(self.cidr).prefixLength())",
    ),
)
_CLIENTS: Final = Rule(
    level="warning",
    field="allowFrom",
    wrong="is empty, so only members and the operator's namespace may connect, and Prometheus cannot reach the "
    "exporter",
    right="name the pods of clients and of Prometheus, or leave enabled out",
    holds=lambda policy: not policy.enabled or bool(policy.allowFrom),
)

SCOPES: Final = (
    *_service("spec.services.primary"),
    *_service("spec.services.read"),
    Scope("spec.services", (_NODE_PORTS,)),
    Scope("spec.network", (_FAMILIES, syntax.no_entry_twice("ipFamilies"))),
    Scope("spec.networkPolicy", (syntax.label_name("operatorNamespace", "namespace"), _CLIENTS)),
    Scope("spec.networkPolicy.allowFrom[*]", (_PEER,)),
    Scope("spec.networkPolicy.allowFrom[*].ipBlock", _BLOCK),
)
