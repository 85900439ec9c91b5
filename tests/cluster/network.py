"""Addresses inside a test cluster. Clusters side by side share them, as each has network namespaces of its own."""

import ctypes
import os
import subprocess

FABRIC = "10.200.0"  # the control plane is .1, node N is .(10 + N)
PODS = "10.201.0.0/16"  # node N has 10.201.N.0/24
SERVICES = "10.202.0.0/16"
API_SERVICE = "10.202.0.1"
DNS_SERVICE = "10.202.0.10"
CONTROL_PLANE = f"{FABRIC}.1"
API_URL = f"https://{CONTROL_PLANE}:6443"
MOST_NODES = 9

_CLONE_NEWNET = 0x40000000


def node_address(number: int) -> str:
    """Return the address of node NUMBER."""
    return f"{FABRIC}.{10 + number}"


def node_pods(number: int) -> str:
    """Return the range of pod addresses of node NUMBER."""
    return f"10.201.{number}.0/24"


def ip(arguments: str) -> None:
    """Run the program ``ip``."""
    subprocess.run(["ip", *arguments.split()], check=True)


def command_in(namespace: str, command: list[str]) -> list[str]:
    """Return ``command`` such that it runs in the network namespace of that name."""
    # `ip netns exec` would mount another /sys over this one, without the control groups.
    return ["nsenter", f"--net=/run/netns/{namespace}", "--", *command]


def enter(path: str) -> int:
    """Move this thread into the network namespace at ``path``; return a descriptor of the one that it was in."""
    left = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    there = os.open(path, os.O_RDONLY)
    try:
        enter_descriptor(there)
    finally:
        os.close(there)
    return left


def enter_descriptor(descriptor: int) -> None:
    """Move this thread into the network namespace that ``descriptor`` is open on."""
    if ctypes.CDLL(None, use_errno=True).setns(descriptor, _CLONE_NEWNET) != 0:  # os.setns came with Python 3.12
        raise OSError(ctypes.get_errno(), "setns: the network namespace cannot be entered")
