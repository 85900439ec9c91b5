"""One node: containerd, kubelet and kube-proxy in namespaces of their own (network, mounts, processes, host name)."""

import json
import subprocess
from pathlib import Path

from tests.cluster import images, network
from tests.cluster.cgroups import Cgroups

DISK = ["/var/lib/kubelet", "/var/lib/containerd", "/var/lib/cni", "/var/log/pods", "/var/log/containers"]
LEASE_SECONDS = 16  # a kubelet says every quarter of it that it is alive


class Node:
    """Node NUMBER of the cluster ``cluster_id``, whose state is in ``cluster_folder``."""

    def __init__(self, number: int, cluster_id: str, cluster_folder: Path, cgroups: Cgroups) -> None:
        self.number = number
        self.name = f"n{number}"
        self.network = f"{cluster_id}-{self.name}"
        self._cluster_id = cluster_id
        self._cluster_folder = cluster_folder
        self._folder = cluster_folder / self.name
        self._cgroups = cgroups
        self._cable = f"v{number}"  # the end of it that is in the control plane's network

    def configure(self, programs: Path, unpacked_images: Path) -> None:
        """Write what the node's daemons read; nothing but images is on its disk."""
        for path in ("cni", *(f"disk{path}" for path in DISK)):
            (self._folder / path).mkdir(parents=True)
        images.copy(unpacked_images, self._folder / "disk/var/lib/containerd")
        (self._folder / "kubelet.yaml").write_text(json.dumps(self._kubelet_configuration()))
        (self._folder / "containerd.toml").write_text(self._containerd_configuration())
        (self._folder / "cni/10-test.conflist").write_text(json.dumps(self._pod_network()))
        (self._folder / "init").write_text(self._init(programs))

    # -- power ---------------------------------------------------------------------------------------------------------

    def boot(self) -> None:
        """Start the node with the disk that it has; a network from before does not survive."""
        self._cgroups.remove(self.name)
        self._remove_network()
        self._create_network()
        isolated = [
            "unshare",
            "--mount",
            "--propagation=private",
            "--uts",
            "--pid",
            "--mount-proc",
            "--fork",
            "--kill-child",
        ]
        command = [*isolated, "sh", str(self._folder / "init")]
        in_network = network.command_in(self.network, command)
        self._cgroups.start(f"{self.name}/init", in_network, self._log("init"))

    def kill(self) -> None:
        """Cut the power: nothing that the dying processes might still say gets out."""
        self.cut()
        self._cgroups.remove(self.name)

    def is_running(self) -> bool:
        """Return whether the node has not been killed."""
        return any(self._cgroups.processes(self.name))

    def freeze(self) -> None:
        """Stop every process of the node."""
        self._cgroups.freeze(self.name, True)

    def thaw(self) -> None:
        """Let every process of the node go on."""
        self._cgroups.freeze(self.name, False)

    # -- images --------------------------------------------------------------------------------------------------------

    def load(self, archive: Path) -> None:
        """Give the node the images in ``archive``, besides those that it was configured with."""
        roots = (Path(f"/proc/{process}/root") for process in self._cgroups.processes(f"{self.name}/init"))
        address = next(socket for root in roots if (socket := root / "run/containerd/containerd.sock").exists())
        ctr = ["ctr", "--address", str(address), "--namespace", "k8s.io"]
        subprocess.run([*ctr, "images", "import", str(archive)], check=True, stdout=subprocess.DEVNULL)

    # -- network -------------------------------------------------------------------------------------------------------

    def cut(self) -> None:
        """Unplug the node."""
        network.ip(f"-n {self._cluster_id} link set {self._cable} down")

    def join(self) -> None:
        """Plug the node in again."""
        network.ip(f"-n {self._cluster_id} link set {self._cable} up")

    def _create_network(self) -> None:
        outside, inside = self._cluster_id, self.network
        address = network.node_address(self.number)
        network.ip(f"netns add {inside}")
        network.ip(f"-n {inside} link set lo up")
        network.ip(f"-n {outside} link add {self._cable} type veth peer name eth0 netns {inside}")
        network.ip(f"-n {outside} link set {self._cable} master br0 up")
        network.ip(f"-n {outside} route replace {network.node_pods(self.number)} via {address}")
        network.ip(f"-n {inside} address add {address}/24 dev eth0")
        network.ip(f"-n {inside} link set eth0 up")
        network.ip(f"-n {inside} route add default via {network.CONTROL_PLANE}")  # which knows no way on from there
        for other in range(1, network.MOST_NODES + 1):
            if other != self.number:
                network.ip(f"-n {inside} route add {network.node_pods(other)} via {network.node_address(other)}")
        forward = "echo 1 >/proc/sys/net/ipv4/ip_forward"
        subprocess.run(network.command_in(inside, ["sh", "-c", forward]), check=True)

    def _remove_network(self) -> None:
        if Path("/run/netns", self.network).exists():
            # The cable first: it would go with the namespace, but only some time after this call.
            subprocess.run(["ip", "-n", self._cluster_id, "link", "delete", self._cable], stderr=subprocess.DEVNULL)
            network.ip(f"netns delete {self.network}")

    # -- configuration -------------------------------------------------------------------------------------------------

    def _log(self, daemon: str) -> Path:
        return self._cluster_folder / f"log/{self.name}-{daemon}"

    def _kubelet_configuration(self) -> dict[str, object]:
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": "0.0.0.0",
            "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
            "authorization": {"mode": "AlwaysAllow"},
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": f"/{self._cgroups.name}/{self.name}",
            "clusterDNS": [network.DNS_SERVICE],
            "clusterDomain": "cluster.local",
            "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
            "enforceNodeAllocatable": [],
            "evictionHard": {"memory.available": "50Mi"},  # and none by how full the machine's disk is
            "failSwapOn": False,
            "imageGCHighThresholdPercent": 100,
            "nodeLeaseDurationSeconds": LEASE_SECONDS,
            "nodeStatusUpdateFrequency": "4s",
            "podPidsLimit": 1024,
            "resolvConf": "",
            "serializeImagePulls": False,
            "syncFrequency": "10s",
            "volumePluginDir": str(self._folder / "volume-plugins"),
        }

    def _containerd_configuration(self) -> str:
        return f"""version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.internal.v1.opt"]
[grpc]
address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{images.PAUSE}"
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "{self._folder}/cni"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
"""

    def _pod_network(self) -> dict[str, object]:
        ranges = [[{"subnet": network.node_pods(self.number)}]]
        return {
            "cniVersion": "0.4.0",
            "name": "test",
            "plugins": [
                {
                    "type": "bridge",
                    "bridge": "cni0",
                    "isGateway": True,
                    "ipMasq": False,
                    "hairpinMode": True,
                    "ipam": {"type": "host-local", "ranges": ranges, "routes": [{"dst": "0.0.0.0/0"}]},
                },
                {"type": "portmap", "capabilities": {"portMappings": True}},
            ],
        }

    def _init(self, programs: Path) -> str:
        """Return the script that runs as process 1: the node's own paths first, then its daemons."""
        credentials = self._cluster_folder / "credentials"
        kubelet = [
            f"{programs}/kubelet",
            f"--config={self._folder}/kubelet.yaml",
            f"--kubeconfig={credentials}/{self.name}.kubeconfig",
            f"--hostname-override={self.name}",
            f"--node-ip={network.node_address(self.number)}",
        ]
        proxy = proxy_command(programs, credentials / "proxy.kubeconfig", self.name)
        return f"""
set -u
hostname {self.name}
mount --make-rshared /
mount -t tmpfs tmpfs /run
for path in {" ".join(DISK)}; do
  mkdir -p $path
  mount --bind {self._folder}/disk$path $path
done
containerd --config {self._folder}/containerd.toml >>{self._log("containerd")} 2>&1 &
until [ -S /run/containerd/containerd.sock ]; do sleep 0.1; done
until [ -e {self._cluster_folder}/api-server-is-ready ]; do sleep 0.1; done
{" ".join(kubelet)} >>{self._log("kubelet")} 2>&1 &
{" ".join(proxy)} >>{self._log("proxy")} 2>&1 &
wait
"""


def proxy_command(programs: Path, kubeconfig: Path, node: str) -> list[str]:
    """Return the command that runs kube-proxy for ``node``; it leaves the machine's conntrack limits alone."""
    return [
        str(programs / "kube-proxy"),
        f"--kubeconfig={kubeconfig}",
        f"--hostname-override={node}",
        "--proxy-mode=iptables",
        f"--cluster-cidr={network.PODS}",
        "--conntrack-max-per-core=0",
        "--conntrack-tcp-timeout-established=0",
        "--conntrack-tcp-timeout-close-wait=0",
    ]
