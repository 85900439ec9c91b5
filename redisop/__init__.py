"""redisop: a Redis operator whose core is one pure function from a `Redis` document to manifests."""

__version__ = "0.1.0"
