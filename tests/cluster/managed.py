"""A `Redis` on the test cluster as redisop keeps it, and what must not change while it does."""

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.cluster.instance import REDISOP, Instance

OBJECTS = (
    "serviceaccounts,secrets,configmaps,services,poddisruptionbudgets,networkpolicies,statefulsets,"
    "persistentvolumeclaims"
)
BOOK_KEEPING = {"creationTimestamp", "generation", "managedFields", "resourceVersion", "uid"}
ASSIGNED = {"clusterIP", "clusterIPs", "nodePort", "volumeName"}


class Managed(Instance):
    """An `Instance` that `redisop reconcile --once` brings up and changes."""

    def once(self, *options: str, **how: Any) -> subprocess.CompletedProcess[str]:
        """Run `reconcile --once` on the document, changed by what of `how` are fields of the spec; see `start`."""
        process = self.start(*options, **how)
        out, err = process.communicate()
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def start(
        self, *options: str, timeout: str = "150s", kubeconfig: Path | None = None, **spec: Any
    ) -> subprocess.Popen[str]:
        """Start `reconcile --once` on the document, changed by `spec`."""
        self.document["spec"].update(spec)
        return self.redisop("reconcile", "--once", "-f", "-", "--timeout", timeout, *options, kubeconfig=kubeconfig)

    def up(self, **spec: Any) -> str:
        """Have `reconcile --once` do what it must, and return what it said."""
        done = self.once(**spec)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def redisop(self, *arguments: str, kubeconfig: Path | None = None) -> subprocess.Popen[str]:
        """Start a command of redisop in the namespace, with the document as its standard input."""
        where = ["-n", self.kubectl.namespace, "--kubeconfig", str(kubeconfig or self.kubectl.kubeconfig)]
        pipe = subprocess.PIPE
        process = subprocess.Popen([REDISOP, *arguments, *where], stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        assert process.stdin
        process.stdin.write(json.dumps(self.document))
        process.stdin.close()
        process.stdin = None  # `communicate` would close it again
        return process

    def said(self, *arguments: str) -> str:
        """Return what a command of redisop says, however it ends."""
        return "".join(self.redisop(*arguments).communicate())

    def differences(self) -> list[dict[str, Any]]:
        """Return the changes that `redisop diff` shows."""
        out, err = self.redisop("diff", "-f", "-", "-o", "json").communicate()
        assert out, err
        changes: list[dict[str, Any]] = json.loads(out)["differences"][0]["changes"]
        return changes

    def uids(self, kind: str = "pods") -> dict[str, str]:
        """Return the uid of each pod, or other object, of the instance."""
        found = self.kubectl.list(kind, f"redis-cr={self.name}")
        return {each["metadata"]["name"]: each["metadata"]["uid"] for each in found}

    def run_ids(self) -> dict[str, str]:
        """Return by what each running Redis process is known, with the uid of its pod."""
        return {
            f"{member} {uid}": self.redis_cli.info(member, "server")["run_id"] for member, uid in self.uids().items()
        }

    def setting(self, member: str, key: str) -> str:
        """Return a setting that a member runs with."""
        return str(self.redis_cli.client(member).config_get(key)[key])

    def condition(self, kind: str) -> dict[str, Any] | None:
        """Return a condition of the status."""
        conditions = self.kubectl.get("redis", self.name)["status"]["conditions"]
        return next((each for each in conditions if each["type"] == kind), None)

    def objects(self) -> dict[str, Any]:
        """Return the objects of the instance, as if it were called X, without what no two objects have in common.

        Of Secrets there are the keys only.
        """
        found = {}
        for manifest in json.loads(self.kubectl("get", OBJECTS, "--output=json"))["items"]:
            if self.name in manifest["metadata"]["name"]:
                text = json.dumps(_essence(manifest)).replace(self.name, "X")
                found[f"{manifest['kind']} {manifest['metadata']['name'].replace(self.name, 'X')}"] = json.loads(text)
        return found


def _essence(manifest: dict[str, Any]) -> dict[str, Any]:
    content = {field: value for field, value in manifest.items() if field not in {"metadata", "status"}}
    metadata = {field: value for field, value in manifest["metadata"].items() if field not in BOOK_KEEPING and value}
    metadata["ownerReferences"] = [owner["kind"] for owner in metadata.get("ownerReferences", [])]
    if manifest["kind"] == "Secret":
        content["data"] = list(content["data"])
    if manifest["kind"] == "PersistentVolumeClaim":
        del metadata["annotations"]  # on which node, by which driver
    return _without_assigned(content) | {"metadata": metadata}


def _without_assigned(value: Any) -> Any:
    if isinstance(value, dict):
        return {field: _without_assigned(inner) for field, inner in value.items() if field not in ASSIGNED}
    return [_without_assigned(each) for each in value] if isinstance(value, list) else value
