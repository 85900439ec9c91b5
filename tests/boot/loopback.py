"""Addresses for many Redis instances on one machine, all on port 6379, since the scripts know no other.

What a killed run left behind must not stand in the way: a block in which anybody listens is never given out.
"""

import os
import socket
from dataclasses import dataclass
from pathlib import Path

PORT = 6379


@dataclass(frozen=True)
class Block:
    """One /24 of 127.0.0.0/8. Its last address is bound as long as it is in use, so no two processes share it."""

    prefix: str
    claim: socket.socket

    @staticmethod
    def take() -> "Block":
        """Return a free block. Raises RuntimeError when there is none, as when a Redis listens on all addresses."""
        taken = _listeners()
        if "0.0.0.0" in taken:
            raise RuntimeError(f"something listens on port {PORT} of all addresses: stop it, the tests need that port")
        start = os.getpid() * 97
        for number in range(start, start + 100 * 256):
            prefix = f"127.{100 + number // 256 % 100}.{number % 256}"
            if any(address.startswith(f"{prefix}.") for address in taken):
                continue
            claim = socket.socket()
            try:
                claim.bind((f"{prefix}.254", PORT))
            except OSError:
                claim.close()
                continue
            return Block(prefix, claim)
        raise RuntimeError("no block of addresses is free in 127.100.0.0 to 127.199.255.0")

    def address(self, member: int, generation: int) -> str:
        """Return the address of `member` (at most 10) in its pod number `generation` (at most 25)."""
        return f"{self.prefix}.{1 + member + 10 * generation}"

    def release(self) -> None:
        self.claim.close()


def _listeners() -> set[str]:
    """Return the IPv4 addresses of this machine with a listener on PORT, from the kernel's own table."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    local = [row[1].split(":") for row in rows if row[3] == "0A"]
    return {socket.inet_ntoa(bytes.fromhex(address)[::-1]) for address, port in local if int(port, 16) == PORT}
