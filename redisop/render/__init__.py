"""From a `Redis` to its manifests."""
