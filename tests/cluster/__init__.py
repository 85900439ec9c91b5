"""A real Kubernetes with real Redis on one Linux machine, for tests; without a container engine or registry."""
