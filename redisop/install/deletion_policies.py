"""`deletion.protected` before anything is deleted: the API server refuses to delete such a `Redis`, or its namespace.

The finalizer alone cannot do that: a `Redis` that is being deleted stays so, and a namespace takes everything beside it
along. No policy sees which objects the deletion of the CRD ends; there the finalizer keeps them and what they own.
"""

from __future__ import annotations

from typing import Final

from redisop import names
from redisop.api.crd import NAME as CRD_NAME
from redisop.install.options import NAME, Options, metadata
from redisop.manifest import Manifest

_API_VERSION: Final = "admissionregistration.k8s.io/v1"
_OF_REDIS: Final = f"{NAME}-deletion-of-redis"
_OF_NAMESPACE: Final = f"{NAME}-deletion-of-namespace"
_ALLOW: Final = '--type=merge -p \'{\\"spec\\":{\\"deletion\\":{\\"protected\\":false}}}\''


def deletion_policies(options: Options) -> list[Manifest]:
    """Return two policies, the same for everybody, and their bindings, for the namespaces that are looked after."""
    return [
        _policy(
            _OF_REDIS,
            {
                "failurePolicy": "Fail",
                "matchConstraints": _deletion(names.REDIS.group, "v1", names.REDIS.plural),
                "validations": [_unprotected("oldObject", "Redis")],
            },
        ),
        _binding(_OF_REDIS, options, {}),
        _policy(
            _OF_NAMESPACE,
            {
                # Without the CRD there is nothing to ask, and no namespace may stay for that.
                "failurePolicy": "Ignore",
                "paramKind": {"apiVersion": names.REDIS.api_version, "kind": names.REDIS.kind},
                "matchConstraints": _deletion("", "v1", "namespaces"),
                "validations": [_unprotected("params", "in this namespace Redis")],
            },
        ),
        # To the API server the namespace of a Namespace is itself: the policy is asked about each Redis in it.
        _binding(_OF_NAMESPACE, options, {"paramRef": {"selector": {}, "parameterNotFoundAction": "Allow"}}),
    ]


def _policy(name: str, spec: Manifest) -> Manifest:
    head = {"apiVersion": _API_VERSION, "kind": "ValidatingAdmissionPolicy"}
    return head | {"metadata": metadata(name), "spec": spec}


def _binding(policy: str, options: Options, spec: Manifest) -> Manifest:
    head = {"apiVersion": _API_VERSION, "kind": "ValidatingAdmissionPolicyBinding"}
    whole = {"policyName": policy, **spec, "validationActions": ["Deny"]}
    if not options.watch_namespaces:
        return head | {"metadata": metadata(policy), "spec": whole}
    named = {"key": names.NAMESPACE_LABEL, "operator": "In", "values": list(options.watch_namespaces)}
    only = {"namespaceSelector": {"matchExpressions": [named]}}
    return head | {"metadata": metadata(f"{policy}-{options.namespace}"), "spec": whole | {"matchResources": only}}


def _deletion(group: str, version: str, resource: str) -> Manifest:
    rule = {"apiGroups": [group], "apiVersions": [version], "operations": ["DELETE"], "resources": [resource]}
    return {"resourceRules": [rule]}


def _unprotected(redis: str, whose: str) -> Manifest:
    """Return the validation that `redis`, a variable of CEL, may be deleted, with a sentence that says how."""
    name, namespace = f"{redis}.metadata.name", f"{redis}.metadata.namespace"
    sentence = (
        f'"{whose} "',
        name,
        f'" is protected from deletion (spec.deletion.protected). To allow it: kubectl patch {CRD_NAME} "',
        name,
        '" -n "',
        namespace,
        f'" {_ALLOW}"',
    )
    return {
        "expression": f"!{redis}.?spec.?deletion.?protected.orValue(false)",
        "messageExpression": " + ".join(sentence),
        "reason": "Forbidden",
    }
