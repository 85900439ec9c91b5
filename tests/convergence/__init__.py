"""The loop and its client on a real API server, through a proxy that does what networks and servers do."""
