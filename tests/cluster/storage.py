"""The cluster's volumes: one folder a claim, provisioned, expanded and removed as a storage driver would do it.

    python storage.py API_URL CA_FILE TOKEN FOLDER

Runs on its own beside the control plane, with nothing but the standard library. Looks at everything again and again,
since a test cluster holds a handful of claims.
"""

import http.client
import json
import shutil
import ssl
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

PROVISIONER = "redisop.test/folder"
CLAIMS = "/api/v1/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
MERGE = "application/merge-patch+json"
CONFLICT = 409
PAUSE_SECONDS = 0.3


class Api:
    """Requests over one connection, as one user."""

    def __init__(self, url: str, authority: str, token: str) -> None:
        context = ssl.create_default_context(cafile=authority)
        self._connection = http.client.HTTPSConnection(urlsplit(url).netloc, context=context, timeout=10)
        self._token = token

    def __call__(self, method: str, path: str, body: object = None, content: str = "application/json") -> Any:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": content, "User-Agent": "storage"}
        try:
            self._connection.request(method, path, json.dumps(body) if body else None, headers)
            answer = self._connection.getresponse()
            read = answer.read()
        except OSError:
            self._connection.close()
            raise
        if answer.status >= 300 and answer.status != CONFLICT:
            raise RuntimeError(f"{method} {path}: {answer.status} {read.decode()}")
        return json.loads(read)


def provision(api: Api, claim: dict[str, Any], folder: Path) -> None:
    """Make the volume of a claim that has none."""
    names, wanted = claim["metadata"], claim["spec"]
    name = f"pvc-{names['uid']}"
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    place.chmod(0o777)  # no fsGroup is applied to a hostPath
    claimed_by = {key: names[key] for key in ("namespace", "name", "uid")}
    api(
        "POST",
        VOLUMES,
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name, "annotations": {"pv.kubernetes.io/provisioned-by": PROVISIONER}},
            "spec": {
                "capacity": {"storage": wanted["resources"]["requests"]["storage"]},
                "accessModes": wanted["accessModes"],
                "persistentVolumeReclaimPolicy": "Delete",
                "storageClassName": wanted["storageClassName"],
                "hostPath": {"path": str(place), "type": "Directory"},
                "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **claimed_by},
            },
        },
    )


def expand(api: Api, claim: dict[str, Any]) -> None:
    """Give a bound claim the size that it asks for."""
    names, capacity = claim["metadata"], {"storage": claim["spec"]["resources"]["requests"]["storage"]}
    api("PATCH", f"{VOLUMES}/{claim['spec']['volumeName']}", {"spec": {"capacity": capacity}}, MERGE)
    path = f"/api/v1/namespaces/{names['namespace']}/persistentvolumeclaims/{names['name']}/status"
    api("PATCH", path, {"status": {"capacity": capacity}}, MERGE)


def remove(api: Api, volume: dict[str, Any], folder: Path) -> None:
    """Remove a volume whose claim is gone, and what is in it."""
    name = volume["metadata"]["name"]
    api("DELETE", f"{VOLUMES}/{name}")
    shutil.rmtree(folder / name, ignore_errors=True)


def look(api: Api, folder: Path) -> None:
    """Do what claims and volumes ask for now."""
    classes = api("GET", "/apis/storage.k8s.io/v1/storageclasses")["items"]
    ours = {each["metadata"]["name"] for each in classes if each["provisioner"] == PROVISIONER}
    for claim in api("GET", CLAIMS)["items"]:
        spec, status = claim["spec"], claim.get("status", {})
        if spec.get("storageClassName") not in ours or "deletionTimestamp" in claim["metadata"]:
            continue
        if status.get("phase") == "Pending" and not spec.get("volumeName"):
            provision(api, claim, folder)
        elif status.get("phase") == "Bound" and status.get("capacity") != spec["resources"]["requests"]:
            expand(api, claim)
    for volume in api("GET", VOLUMES)["items"]:
        if volume.get("status", {}).get("phase") == "Released" and volume["spec"].get("storageClassName") in ours:
            remove(api, volume, folder)


def main() -> None:
    """Look until ended; a failed look is told and repeated."""
    url, authority, token, folder = sys.argv[1:]
    api = Api(url, authority, token)
    while True:
        try:
            look(api, Path(folder))
        except (OSError, RuntimeError, http.client.HTTPException) as error:
            print(error, flush=True)
        time.sleep(PAUSE_SECONDS)


if __name__ == "__main__":
    main()
