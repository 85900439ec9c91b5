"""What the controllers of a cluster do for a `Redis`, as far as the loop waits for it: no kubelet, no Redis.

A StatefulSet gets its pods and claims, pods are Ready at once, orphans are adopted, claims are bound and grow where
their class lets them, and once they do not carry HELD.
"""

import contextlib
import hashlib
import json
import threading
from typing import Any

import urllib3

from redisop.manifest import Manifest
from tests.cluster.api_server import ApiServer

MERGE = "application/merge-patch+json"
PAUSE = 0.05
HELD = "test/held"


class Controllers:
    """``with Controllers(server, namespace) as controllers: ...``; `pause` stops them for a while."""

    def __init__(self, server: ApiServer, namespace: str) -> None:
        self._http = urllib3.PoolManager(
            ca_certs=str(server.credentials.authority), headers={"Authorization": "Bearer admin-token"}
        )
        self._core = f"{server.url}/api/v1/namespaces/{namespace}"
        self._apps = f"{server.url}/apis/apps/v1/namespaces/{namespace}"
        self._stop = threading.Event()
        self._working = threading.Lock()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self.problem: Exception | None = None

    def __enter__(self) -> "Controllers":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._http.clear()

    @contextlib.contextmanager
    def pause(self) -> Any:
        with self._working:
            yield

    def _work(self) -> None:
        while not self._stop.wait(PAUSE):
            with self._working:
                self.step()

    def step(self) -> None:
        """Do what is to be done now."""
        sets, pods = self._list(f"{self._apps}/statefulsets"), self._list(f"{self._core}/pods")
        claims = self._list(f"{self._core}/persistentvolumeclaims")
        for each in sets:
            own = [pod for pod in pods if _selects(each, pod)]
            if "deletionTimestamp" in each["metadata"]:
                self._orphan(each, own)
            else:
                self._scale(each, own, claims)
        for claim in claims:
            self._bind(claim)

    def _orphan(self, stateful_set: Manifest, pods: list[Manifest]) -> None:
        for pod in pods:
            self._send("PATCH", self._pod(pod), {"metadata": {"ownerReferences": None}})
        self._send("PATCH", self._set(stateful_set), {"metadata": {"finalizers": None}})

    def _scale(self, stateful_set: Manifest, pods: list[Manifest], claims: list[Manifest]) -> None:
        name, spec = stateful_set["metadata"]["name"], stateful_set["spec"]
        revision = f"{name}-{hashlib.sha256(json.dumps(spec['template']).encode()).hexdigest()[:8]}"
        wanted = [f"{name}-{ordinal}" for ordinal in range(spec["replicas"])]
        there = {pod["metadata"]["name"]: pod for pod in pods}
        for ordinal, pod in enumerate(wanted):
            if pod not in there:
                self._claims(stateful_set, pod, claims)
                self._create_pod(stateful_set, pod, ordinal, revision)
            elif not there[pod]["metadata"].get("ownerReferences"):
                owners = [_owner(stateful_set)]
                self._send("PATCH", self._pod(there[pod]), {"metadata": {"ownerReferences": owners}})
        for pod in there.keys() - set(wanted):
            self._send("DELETE", f"{self._core}/pods/{pod}?gracePeriodSeconds=0")
        status = {
            "replicas": len(wanted),
            "readyReplicas": len(wanted),
            "observedGeneration": stateful_set["metadata"]["generation"],
            "updateRevision": revision,
        }
        if any(stateful_set.get("status", {}).get(field, 0) != value for field, value in status.items()):
            self._send("PATCH", f"{self._set(stateful_set)}/status", {"status": status})

    def _claims(self, stateful_set: Manifest, pod: str, claims: list[Manifest]) -> None:
        for template in stateful_set["spec"].get("volumeClaimTemplates", []):
            name = f"{template['metadata']['name']}-{pod}"
            if name not in {claim["metadata"]["name"] for claim in claims}:
                labels = stateful_set["spec"]["selector"]["matchLabels"]
                claim = {"metadata": {"name": name, "labels": labels}, "spec": template["spec"]}
                self._send("POST", f"{self._core}/persistentvolumeclaims", claim)
                self._bind(claim)  # no pod is Ready without its volume

    def _create_pod(self, stateful_set: Manifest, name: str, ordinal: int, revision: str) -> None:
        template = stateful_set["spec"]["template"]
        labels = {"statefulset.kubernetes.io/pod-name": name, "controller-revision-hash": revision}
        metadata = {
            "name": name,
            "labels": template["metadata"]["labels"] | labels,
            "ownerReferences": [_owner(stateful_set)],
        }
        spec = json.loads(json.dumps(template["spec"]))
        for claim in stateful_set["spec"].get("volumeClaimTemplates", []):
            volume = claim["metadata"]["name"]
            spec["volumes"].append({"name": volume, "persistentVolumeClaim": {"claimName": f"{volume}-{name}"}})
        self._send("POST", f"{self._core}/pods", {"metadata": metadata, "spec": spec})
        ready = {"type": "Ready", "status": "True"}
        status = {"phase": "Running", "podIP": f"127.99.0.{ordinal + 1}", "conditions": [ready]}
        status["podIPs"] = [{"ip": status["podIP"]}]
        self._send("PATCH", f"{self._core}/pods/{name}/status", {"status": status})

    def _bind(self, claim: Manifest) -> None:
        asked = claim["spec"]["resources"]["requests"]["storage"]
        if HELD in claim["metadata"].get("annotations", {}):
            return
        status = {"phase": "Bound", "capacity": {"storage": asked}}
        if {field: claim.get("status", {}).get(field) for field in status} != status:
            name = claim["metadata"]["name"]
            self._send("PATCH", f"{self._core}/persistentvolumeclaims/{name}/status", {"status": status})

    def _pod(self, pod: Manifest) -> str:
        return f"{self._core}/pods/{pod['metadata']['name']}"

    def _set(self, stateful_set: Manifest) -> str:
        return f"{self._apps}/statefulsets/{stateful_set['metadata']['name']}"

    def _list(self, url: str) -> list[Manifest]:
        found: list[Manifest] = self._http.request("GET", url).json()["items"]
        return found

    def _send(self, method: str, url: str, body: Manifest | None = None) -> None:
        """Send it; what was refused is done again the next time, if it still has to be."""
        content = MERGE if method == "PATCH" else "application/json"
        headers = {**self._http.headers, "Content-Type": content}
        self._http.request(method, url, body=json.dumps(body) if body else None, headers=headers)


def _selects(stateful_set: Manifest, pod: Manifest) -> bool:
    return stateful_set["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()


def _owner(stateful_set: Manifest) -> Manifest:
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "name": stateful_set["metadata"]["name"],
        "uid": stateful_set["metadata"]["uid"],
        "controller": True,
    }
