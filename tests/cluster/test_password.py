"""The password: generated and kept, or the user's own, whatever is in it; and shown to nobody."""

import base64
import contextlib
import json
import threading
from pathlib import Path

KEYS = 200
OWN = "p$a$$ `id` \"two\" 'one' \\ back # hash süß €\n".encode()


class CommandLines(threading.Thread):
    """Looks at the arguments of every process of this machine, again and again, for what must not be there."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.seen: set[bytes] = set()
        self._over = threading.Event()

    def __enter__(self) -> "CommandLines":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join()

    def run(self) -> None:
        while not self._over.wait(0.05):
            for process in Path("/proc").glob("[0-9]*/cmdline"):
                with contextlib.suppress(OSError):  # ended meanwhile
                    self.seen.add(process.read_bytes())


def test_the_generated_password_outlives_the_redis_and_is_told_to_nobody(managed, kubectl, cluster):
    shop = managed(replicas=1, storage="64Mi")
    with CommandLines() as arguments:
        said = [shop.said("reconcile", "--once", "-f", "-", "--dry-run"), shop.up()]
        shop.put(KEYS)
        made, owners = password(kubectl), ownership(shop)
        claims = shop.uids("persistentvolumeclaims")
        assert len(made) == 32
        assert owners.pop("Secret shop-auth") == owners.pop("PersistentVolumeClaim data-shop-0") == []
        assert set(map(str, owners.values())) == {str([kubectl.get("redis", "shop")["metadata"]["uid"]])}

        kubectl("delete", "redis", "shop")
        kubectl.wait_for("nothing but the volume and the Secret", lambda: len(ownership(shop)) == 2)
        kubectl.wait_for("no pods", lambda: not kubectl.list("pods"))
        assert (password(kubectl), shop.uids("persistentvolumeclaims")) == (made, claims)

        said.append(shop.up(persistence={"retention": {"whenDeleted": "Delete"}}))
        shop.wait_until_serving()
        assert (password(kubectl), shop.uids("persistentvolumeclaims")) == (made, claims)
        assert shop.count("shop-0") == KEYS
        owners = ownership(shop)
        assert owners.pop("PersistentVolumeClaim data-shop-0") == [shop.uids("statefulsets")["shop"]]
        assert set(map(str, owners.values())) == {str([kubectl.get("redis", "shop")["metadata"]["uid"]])}

        shop.document["spec"]["persistence"] = {}
        said += [shop.said("diff", "-f", "-", "-o", kind) for kind in ("text", "json", "diff")]
        said += [shop.said("status", "shop", "-o", kind) for kind in ("text", "json")]
        said.append(shop.up())
        assert ownership(shop)["Secret shop-auth"] == []

    events = kubectl("get", "events", "--output=json")
    audit = (cluster.folder / "audit.jsonl").read_text()
    log = kubectl("logs", "shop-0", "--all-containers")
    assert "shop-auth" in audit
    assert b"redisop" in b"".join(arguments.seen)
    for secret in (made.decode(), base64.b64encode(made).decode()):
        assert [text for text in [*said, events, audit, log] if secret in text] == []
        assert [line for line in arguments.seen if secret.encode() in line] == []


def test_a_password_of_the_users_own_with_every_odd_sign_comes_with_a_restart_and_works_from_end_to_end(
    managed, kubectl, pods
):
    shop = managed(replicas=2, storage="64Mi", monitoring={"exporter": {"enabled": True}})
    shop.up()
    shop.put(KEYS)
    processes = shop.run_ids()
    data = {"the.word": base64.b64encode(OWN).decode()}
    kubectl.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "own"}, "data": data})
    shop.document["spec"]["auth"] = {"secretRef": {"name": "own", "key": "the.word"}}
    assert {change["consequence"] for change in shop.differences()} == {"none", "rolling"}
    shop.up()
    assert shop.run_ids() == processes
    assert shop.condition("SecretsInSync")["reason"] == "PasswordDiffers"
    assert shop.condition("UpdatePending")["message"] == "shop-0, shop-1 must restart to run what is wanted"

    pods.delete(*shop.members)
    shop.up()
    shop.wait_until_serving()
    assert shop.condition("SecretsInSync")["reason"] == "InSync"
    assert shop.condition("UpdatePending") is None
    shop.up(config={"timeout": "7"})
    assert [shop.setting(member, "timeout") for member in shop.members] == ["7", "7"]
    assert {member: shop.count(member) for member in shop.members} == dict.fromkeys(shop.members, KEYS)
    assert shop.redis_cli("shop-0", "CONFIG", "GET", "requirepass").encode().endswith(OWN.removesuffix(b"\n"))
    (exporter,) = pods.processes("shop-0", "redis_exporter")
    environment = Path(f"/proc/{exporter}/environ").read_bytes().split(b"\0")
    assert b"REDIS_PASSWORD=" + OWN.removesuffix(b"\n") in environment
    told = json.loads(shop.said("status", "shop", "-o", "json"))
    members = told["redises"][0]["status"]["members"]
    assert [(member["name"], member["role"], member["ready"]) for member in members] == [
        ("shop-0", "primary", True),
        ("shop-1", "replica", True),
    ]


def password(kubectl):
    return base64.b64decode(kubectl.get("secret", "shop-auth")["data"]["password"])


def ownership(shop):
    """Return the uids of the owners of each object of the instance."""
    kinds = "serviceaccounts,secrets,configmaps,services,statefulsets,persistentvolumeclaims"
    found = shop.kubectl.list(kinds, "redis-cr=shop")
    return {
        f"{each['kind']} {each['metadata']['name']}": [
            owner["uid"] for owner in each["metadata"].get("ownerReferences", [])
        ]
        for each in found
    }
