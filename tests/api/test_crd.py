"""The CRD as a document; what an API server makes of it is a test of its own."""

import json
import re
from pathlib import Path
from typing import Any

from redisop.api.crd import crd
from redisop.manifest import to_yaml

COMMITTED = Path(__file__).parents[2] / "crds" / "redises.yaml"
SPEC = crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]


def parts(schema: Any, path: str = "") -> Any:
    yield path, schema
    for name, inner in schema.get("properties", {}).items():
        yield from parts(inner, f"{path}.{name}")
    for name in ("items", "additionalProperties"):
        if name in schema:
            yield from parts(schema[name], f"{path}[]")


def test_the_committed_crd_is_up_to_date():
    assert COMMITTED.read_text() == to_yaml([crd()]), "nox -s crds writes it anew"


def test_without_a_webhook_only_v1_exists():
    assert crd()["spec"]["conversion"] == {"strategy": "None"}
    assert [version["name"] for version in crd()["spec"]["versions"]] == ["v1"]


def test_it_fits_into_the_annotation_in_which_kubectl_keeps_what_it_applied():
    # kubectl's limit is 256 KiB, and other tools add their own copies.
    both = crd(conversion={"url": "https://redisop.example.com/convert"})
    assert len(json.dumps(both, separators=(",", ":"))) < 100_000


def test_the_whole_status_of_the_specification_is_there():
    status = crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
    assert set(status) == {
        "phase",
        "message",
        "conditions",
        "masterPodName",
        "slavePodNames",
        "observedGeneration",
        "replicas",
        "readyReplicas",
        "selector",
        "mode",
        "image",
        "defaultsRevision",
        "endpoints",
        "members",
        "lastFailover",
        "pendingChanges",
        "drift",
        "storage",
    }


def test_what_follows_from_other_fields_has_no_default():
    defaults = {path for path, schema in parts(SPEC) if "default" in schema}
    assert not defaults & {".image", ".version", ".persistence.mode", ".tuning.replicationBacklog", ".defaultsRevision"}


def test_every_text_list_and_map_of_ours_is_bounded():
    for path, schema in parts(SPEC):
        match schema.get("type"):
            case "string":
                assert "enum" in schema or "maxLength" in schema, path
            case "array":
                assert "maxItems" in schema, path
            case "object" if "additionalProperties" in schema:
                assert "maxProperties" in schema, path


def test_every_list_says_how_it_is_merged():
    # The inner lists of what is passed through to a pod belong to Kubernetes.
    inside_a_pod = re.compile(r"\.(securityContext|containerSecurityContext|sidecars|initContainers|allowFrom)\b.*\.")
    for path, schema in parts(SPEC):
        if schema.get("type") == "array" and not inside_a_pod.search(f"{path}"):
            assert "x-kubernetes-list-type" in schema, path


def test_every_message_is_one_short_line():
    for _, schema in parts(SPEC):
        for validation in schema.get("x-kubernetes-validations", []):
            text = validation.get("message", "a")
            assert len(text) < 300
            assert text.isprintable()
