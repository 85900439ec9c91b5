"""Write keys that never come twice to one address, and note in a file which of them were acknowledged.

    python write_ids.py HOST TAG RATE FILE          the password in the environment variable REDISCLI_AUTH

A line of FILE is ``ack MONOTONIC KEY`` or ``error MONOTONIC KIND``. RATE is writes a second, 0 is as fast as it goes.
"""

import os
import sys
import time
from itertools import count

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

SOCKET_SECONDS = 0.5
RECONNECT_SECONDS = 0.002


def main() -> None:
    """Write until ended."""
    host, tag, rate, path = sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4]
    client = redis.Redis(
        host=host,
        password=os.environb.get(b"REDISCLI_AUTH"),
        socket_timeout=SOCKET_SECONDS,
        socket_connect_timeout=SOCKET_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )
    with open(path, "a", buffering=1) as log:
        due = time.monotonic()
        for number in count():
            key = f"{tag}:{number}"
            try:
                client.set(key, number)
                log.write(f"ack {time.monotonic()} {key}\n")
            except redis.RedisError as error:
                client.connection_pool.disconnect()
                log.write(f"error {time.monotonic()} {str(error).split(' ')[0]}\n")
                time.sleep(RECONNECT_SECONDS)
            if rate:
                due = max(due + 1 / rate, time.monotonic() - 1)
                time.sleep(max(0, due - time.monotonic()))


if __name__ == "__main__":
    main()
