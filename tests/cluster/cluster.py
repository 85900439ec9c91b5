"""A whole Kubernetes on one Linux machine: a control plane and nodes, each in a network namespace of its own.

No packet leaves the machine: the namespaces are joined to each other by a bridge and to nothing else. Everything that
a cluster consists of carries its name (namespaces, control groups, one folder of state), so that whatever a killed run
left behind is found and removed before the next start. Needs root.

Not as in a real cluster: volumes can be used from every node at once, as on a file server; NetworkPolicies are stored
but not enforced; kubelets trust everybody.
"""

import contextlib
import fcntl
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

from tests import packages
from tests.cluster import binaries, images, network
from tests.cluster.api_server import api_server_command, audit_path, etcd_command, wait_until_ready
from tests.cluster.audit import AuditLog
from tests.cluster.cgroups import Cgroups
from tests.cluster.credentials import ADMINISTRATORS, Credentials, token
from tests.cluster.kubectl import Kubectl
from tests.cluster.node import Node, proxy_command
from tests.cluster.storage import PROVISIONER

DEFAULT_NAME = "test"
CONTROL_PLANE = "control-plane"  # control groups
CLIENTS = "clients"


class Cluster:
    """``with Cluster() as cluster: cluster.kubectl("get", "nodes"); cluster.kill("n2")``.

    ``name`` tells clusters that run side by side apart (default: ``$REDISOP_TEST_CLUSTER_NAME`` or "test"). A node that
    does not answer counts as lost after ``node_lost_after`` seconds, and its pods are evicted ``evict_after`` seconds
    after that; the defaults are Kubernetes' own.
    """

    def __init__(
        self,
        name: str | None = None,
        nodes: int = 3,
        node_lost_after: int = 50,
        evict_after: int = 300,
        api_server_arguments: Sequence[str] = (),
        controller_manager_arguments: Sequence[str] = (),
    ) -> None:
        self.name = name or os.environ.get("REDISOP_TEST_CLUSTER_NAME") or DEFAULT_NAME
        if not re.fullmatch("[a-z][a-z0-9]*", self.name):
            raise ValueError(f"REDISOP_TEST_CLUSTER_NAME is {self.name!r}: use lower-case letters and digits")
        if not 0 < nodes <= network.MOST_NODES:
            raise ValueError(f"{nodes} nodes: there can be 1 to {network.MOST_NODES}")
        self.id = f"redisop-{self.name}"
        self.folder = Path("/var/tmp") / self.id
        self.kubeconfig = self.folder / "credentials/admin.kubeconfig"
        self.nodes = [f"n{number}" for number in range(1, nodes + 1)]
        self._api_server_arguments = [
            f"--default-not-ready-toleration-seconds={evict_after}",
            f"--default-unreachable-toleration-seconds={evict_after}",
            *api_server_arguments,
        ]
        self._controller_manager_arguments = [
            f"--node-monitor-grace-period={node_lost_after}s",
            *controller_manager_arguments,
        ]
        self._cgroups = Cgroups(self.id)
        self._broken: set[str] = set()
        self._lock: IO[str] | None = None
        self._own_network: int | None = None

    def __enter__(self) -> "Cluster":
        self.up()
        return self

    def __exit__(self, *_: object) -> None:
        self.down()

    # -- life ----------------------------------------------------------------------------------------------------------

    def up(self) -> None:
        """Start the cluster and return when all nodes are Ready. What was there under its name is removed first.

        Raises RuntimeError when a running process uses a cluster of this name, RuntimeError or AssertionError when
        something does not start: all that did is then left to be looked at, until the next start.
        """
        if os.geteuid() != 0:
            raise RuntimeError("a test cluster needs root: it makes network namespaces, mounts and control groups")
        packages.ensure(packages.CLUSTER)
        programs, unpacked_images = binaries.ensure(), images.ensure()
        self._take_lock()
        try:
            self._start(programs, unpacked_images)
        except BaseException:
            self._give_lock_back()
            raise

    def _start(self, programs: Path, unpacked_images: Path) -> None:
        self._remove()
        began = time.time()
        (self.folder / "log").mkdir(parents=True)
        self._create_network()
        for node in self._nodes():
            node.configure(programs, unpacked_images)
            node.boot()
        self._start_control_plane(programs)
        for name in self.nodes:
            self.wait_until_ready(name, began)

    def down(self) -> None:
        """End everything that belongs to the cluster, also what another process started, and remove it."""
        self._take_lock()
        self.leave()
        self._remove()
        self._give_lock_back()

    def wait_until_ready(self, node: str, since: float | None = None, seconds: float = 120) -> None:
        """Return when ``node`` is Ready and has been heard of ``since`` that time, by default since this call."""
        lease = ("get", "lease", node, "--namespace=kube-node-lease", "--output=jsonpath={.spec.renewTime}")
        ready = ("get", "node", node, '--output=jsonpath={.status.conditions[?(@.type=="Ready")].status}')
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(since))
        self.kubectl.wait_for(
            f"node {node} is Ready (see {self.folder}/log)",
            lambda: self.kubectl(*lease) > stamp and self.kubectl(*ready) == "True",
            seconds,
        )

    # -- faults --------------------------------------------------------------------------------------------------------

    def kill(self, node: str) -> None:
        """Cut the power of ``node``: unplugged, every process gone, its disk kept."""
        self._break(node).kill()

    def start(self, node: str) -> None:
        """Boot ``node`` after ``kill``, with its disk as it was."""
        self._node(node).boot()

    def freeze(self, node: str) -> None:
        """Stop every process of ``node`` where it is; its kernel still answers pings and keeps connections."""
        self._break(node).freeze()

    def thaw(self, node: str) -> None:
        """Let a frozen node go on."""
        self._node(node).thaw()

    def cut(self, node: str) -> None:
        """Unplug the network of ``node``; everything on it goes on."""
        self._break(node).cut()

    def join(self, node: str) -> None:
        """Plug the network of ``node`` in again."""
        self._node(node).join()

    def heal(self) -> None:
        """Undo every fault and return when all nodes are Ready again."""
        for name in sorted(self._broken):
            node = self._node(name)
            if node.is_running():
                node.thaw()
                node.join()
            else:
                node.boot()
        for name in sorted(self._broken):
            self.wait_until_ready(name)
        self._broken.clear()

    def load(self, archive: Path) -> None:
        """Give all nodes the images in ``archive``; each keeps them until the cluster goes down."""
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda node: node.load(archive), self._nodes()))

    # -- being inside --------------------------------------------------------------------------------------------------

    def is_up(self) -> bool:
        """Return whether a cluster of this name has been started, by whomever, and not been taken down."""
        return Path("/run/netns", self.id).exists()

    def command_in(self, command: Sequence[str], node: str | None = None) -> list[str]:
        """Return ``command`` such that it runs in the network of ``node``, by default of the control plane.

        From all of them pods and Services are reached.
        """
        return network.command_in(self._node(node).network if node else self.id, [*command])

    def client_command_in(self, command: Sequence[str], node: str | None = None) -> list[str]:
        """Return the same for a process that is to be ended together with the cluster."""
        return self._cgroups.command_in(CLIENTS, self.command_in(command, node))

    def enter(self) -> None:
        """Move this thread, and the threads that it starts later, into the control plane's network."""
        self._own_network = network.enter(f"/run/netns/{self.id}")

    def leave(self) -> None:
        """Undo ``enter``."""
        if self._own_network is not None:
            network.enter_descriptor(self._own_network)
            os.close(self._own_network)
            self._own_network = None

    @property
    def kubectl(self) -> Kubectl:
        """kubectl as the administrator, bound to no namespace."""
        prefix = self.command_in([])
        return Kubectl(binaries.ensure() / "kubectl", self.kubeconfig, self.folder / "kubectl-cache", prefix=prefix)

    @property
    def audit(self) -> AuditLog:
        """Every request that the API server answered."""
        return AuditLog(audit_path(self.folder), self.kubectl)

    # -- parts ---------------------------------------------------------------------------------------------------------

    def _nodes(self) -> list[Node]:
        return [Node(int(name[1:]), self.id, self.folder, self._cgroups) for name in self.nodes]

    def _node(self, name: str) -> Node:
        if not re.fullmatch("n[1-9]", name) or not (self.folder / name).is_dir():
            raise ValueError(f"the cluster {self.name!r} has no node {name!r}")
        return Node(int(name[1:]), self.id, self.folder, self._cgroups)

    def _break(self, name: str) -> Node:
        self._broken.add(name)
        return self._node(name)

    def _create_network(self) -> None:
        network.ip(f"netns add {self.id}")
        network.ip(f"-n {self.id} link set lo up")
        network.ip(f"-n {self.id} link add br0 type bridge")
        network.ip(f"-n {self.id} address add {network.CONTROL_PLANE}/24 dev br0")
        network.ip(f"-n {self.id} link set br0 up")
        # By which device does not matter: kube-proxy rewrites the address.
        network.ip(f"-n {self.id} route add {network.SERVICES} dev br0")
        # What only crosses the bridge is not for the control plane's kube-proxy to touch.
        knobs = "echo 1 >/proc/sys/net/ipv4/ip_forward; echo 0 >/proc/sys/net/bridge/bridge-nf-call-iptables"
        with contextlib.suppress(OSError):  # built into some kernels, a module in others
            subprocess.run(["modprobe", "--all", "--quiet", "br_netfilter", "overlay"], stderr=subprocess.DEVNULL)
        subprocess.run(self.command_in(["sh", "-c", knobs]), check=True)

    def _start_control_plane(self, programs: Path) -> None:
        users = {
            "admin": ("admin", ADMINISTRATORS),
            "coredns": ("coredns", ADMINISTRATORS),
            "storage": ("storage", ADMINISTRATORS),
            "controller-manager": ("system:kube-controller-manager", ""),
            "scheduler": ("system:kube-scheduler", ""),
            "proxy": ("system:kube-proxy", "system:node-proxiers"),
            **{name: (f"system:node:{name}", "system:nodes") for name in self.nodes},
        }
        service = ["kubernetes", "default", "svc", "cluster", "local"]
        service_names = [".".join(service[:count]) for count in (1, 2, 3, 5)]
        host_names = [network.CONTROL_PLANE, network.API_SERVICE, "127.0.0.1", "localhost", *service_names]
        credentials = Credentials(self.folder / "credentials", network.API_URL, host_names, users)
        self._run("etcd", etcd_command(programs, self.folder, 2379, 2380))
        self._run(
            "kube-apiserver",
            [
                *api_server_command(programs, self.folder, credentials, network.CONTROL_PLANE, 6443, 2379),
                f"--service-cluster-ip-range={network.SERVICES}",
                "--authorization-mode=Node,RBAC",
                "--enable-admission-plugins=NodeRestriction",
                "--kubelet-preferred-address-types=InternalIP",
                *self._api_server_arguments,
            ],
        )
        self.enter()
        try:
            wait_until_ready(network.API_URL, credentials, self.folder / "log")
        finally:
            self.leave()
        (self.folder / "api-server-is-ready").touch()
        for name, arguments in {
            "controller-manager": [
                f"--root-ca-file={credentials.authority}",
                f"--service-account-private-key-file={credentials.account_key}",
                "--use-service-account-credentials=true",
                "--allocate-node-cidrs=true",
                f"--cluster-cidr={network.PODS}",
                "--node-cidr-mask-size=24",
                "--node-monitor-period=2s",
                f"--flex-volume-plugin-dir={self.folder}/volume-plugins",
                *self._controller_manager_arguments,
            ],
            "scheduler": [],
        }.items():
            kubeconfig = credentials.kubeconfig(name)
            own = [
                f"--kubeconfig={kubeconfig}",
                f"--authentication-kubeconfig={kubeconfig}",
                f"--authorization-kubeconfig={kubeconfig}",
                "--leader-elect=false",
                "--profiling=false",
                "--kube-api-qps=200",
                "--kube-api-burst=400",
            ]
            self._run(f"kube-{name}", [str(programs / f"kube-{name}"), *own, *arguments])
        # Under a node's name, since a kube-proxy wants a Node; it makes Services reachable from the control plane.
        self._run("kube-proxy", proxy_command(programs, credentials.kubeconfig("proxy"), "n1"))
        self._run("coredns", [str(programs / "coredns"), "-conf", str(self._write_corefile(credentials))])
        storage = [sys.executable, str(Path(__file__).with_name("storage.py"))]
        reached_by = [network.API_URL, str(credentials.authority), token("storage")]
        self._run("storage", [*storage, *reached_by, str(self.folder / "volumes")])
        self.kubectl.apply([*_storage_classes(), *_dns_service(), _proxy_rights()])

    def _run(self, name: str, command: list[str]) -> None:
        """Start a daemon of the control plane; what it says goes to ``log/NAME`` in the state folder."""
        self._cgroups.start(CONTROL_PLANE, self.command_in(command), self.folder / "log" / name)

    def _write_corefile(self, credentials: Credentials) -> Path:
        corefile = self.folder / "Corefile"
        corefile.write_text(
            f"""cluster.local:53 in-addr.arpa:53 {{
  errors
  kubernetes cluster.local in-addr.arpa {{
    endpoint {network.API_URL}
    kubeconfig {credentials.kubeconfig("coredns")}
    pods insecure
    ttl 5
  }}
  cache 5
}}
"""
        )
        return corefile

    # -- leftovers -----------------------------------------------------------------------------------------------------

    def _remove(self) -> None:
        """Remove processes, mounts, network namespaces and files of this name, whoever made them and however far."""
        self._cgroups.remove()
        mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
        for mount in sorted(mounts, reverse=True):
            if mount.startswith(f"{self.folder}/"):
                subprocess.run(["umount", "--lazy", mount], check=True)
        for namespace in Path("/run/netns").glob(f"{self.id}*"):
            if re.fullmatch(f"{self.id}(-n[1-9])?", namespace.name):
                subprocess.run(["ip", "netns", "delete", namespace.name], check=True)
        shutil.rmtree(self.folder, ignore_errors=True)
        self._broken.clear()

    def _take_lock(self) -> None:
        if self._lock:
            return
        path = self.folder.with_suffix(".lock")
        lock = path.open("a+")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.seek(0)
            owner = lock.read()
            lock.close()
            raise RuntimeError(
                f"the test cluster {self.name!r} is in use by process {owner}: "
                "end that, or set REDISOP_TEST_CLUSTER_NAME to have another one beside it"
            ) from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        self._lock = lock

    def _give_lock_back(self) -> None:
        if self._lock:
            self._lock.close()
            self._lock = None


def _storage_classes() -> list[dict[str, object]]:
    """Return ``standard``, the default, and ``fixed``, whose volumes cannot grow."""
    default = {"storageclass.kubernetes.io/is-default-class": "true"}
    return [
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": name, "annotations": annotations},
            "provisioner": PROVISIONER,
            "allowVolumeExpansion": expandable,
        }
        for name, annotations, expandable in (("standard", default, True), ("fixed", {}, False))
    ]


def _dns_service() -> list[dict[str, object]]:
    ports = [{"name": "dns", "port": 53, "protocol": "UDP"}, {"name": "dns-tcp", "port": 53, "protocol": "TCP"}]
    names = {"name": "kube-dns", "namespace": "kube-system"}
    return [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": names,
            "spec": {"clusterIP": network.DNS_SERVICE, "ports": ports},
        },
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {**names, "labels": {"kubernetes.io/service-name": "kube-dns"}},
            "addressType": "IPv4",
            "endpoints": [{"addresses": [network.CONTROL_PLANE]}],
            "ports": ports,
        },
    ]


def _proxy_rights() -> dict[str, object]:
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "test-cluster-proxy"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "system:node-proxier"},
        "subjects": [{"kind": "Group", "name": "system:node-proxiers", "apiGroup": group}],
    }
