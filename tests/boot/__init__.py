"""The scripts that run inside the Redis pods, on real redis-server processes on loopback: no root, no cluster."""
