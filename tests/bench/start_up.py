"""How long `redisop render` takes to start, against the libraries that it cannot do without."""

import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.bench.figures import Figure, alternating, ratio, seconds

EXAMPLE = Path(__file__).parent.parent.parent / "examples/my-redis.yaml"
REDISOP = str(Path(sys.executable).with_name("redisop"))


def measure() -> Iterator[Figure]:
    """Yield the figures of starting up."""
    render, libraries, bare = alternating(
        15,
        lambda: seconds([REDISOP, "render", "-f", str(EXAMPLE)]),
        lambda: seconds([sys.executable, "-c", "import pydantic, click, yaml"]),
        lambda: seconds([sys.executable, "-c", "pass"]),
    )
    yield Figure("redisop render of one document", statistics.median(render) * 1000, "ms")
    yield Figure('python -c "import pydantic, click, yaml"', statistics.median(libraries) * 1000, "ms")
    yield Figure('python -c "pass"', statistics.median(bare) * 1000, "ms")
    yield Figure("start-up, ratio to importing the libraries", ratio(render, libraries), "x", 1.5, more_is_better=False)
