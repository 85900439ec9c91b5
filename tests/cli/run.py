"""Calls the command line as a person does, inside the process of the test."""

import io
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from redisop.cli import main

EXAMPLE = """\
apiVersion: example.com/v1
kind: Redis
metadata:
  name: my-redis-cluster
spec:
  replicas: 2
  image: redis:7.0-alpine
  memory: 512Mi
  storage: 2Gi
  version: "7.0"
"""


@dataclass(frozen=True)
class Ended:
    """How a call of redisop ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def lines(self) -> list[str]:
        """The lines on stderr."""
        return self.stderr.splitlines()


def redisop(*arguments: str | Path, stdin: str | bytes = "") -> Ended:
    """Call `redisop` with `arguments`; stdin and both outputs are those of the call alone."""
    given = stdin.encode() if isinstance(stdin, str) else stdin
    out, err = io.BytesIO(), io.BytesIO()
    streams = {
        "stdin": io.TextIOWrapper(io.BytesIO(given)),
        "stdout": io.TextIOWrapper(out, encoding="ascii", write_through=True),
        "stderr": io.TextIOWrapper(err, encoding="utf-8", write_through=True),
    }
    with patch.multiple(sys, argv=["redisop", *map(str, arguments)], **streams):
        try:
            main()
        except SystemExit as end:
            code = end.code
    return Ended(int(code or 0), out.getvalue().decode(), err.getvalue().decode())


def document(name: str = "my-redis", namespace: str | None = None, **spec: str) -> str:
    """Return a document without a fault as YAML; its first fields, from line 6 on, are those of `spec`, as written."""
    where = f"  namespace: {namespace}\n" if namespace else ""
    quiet = {"version": '"8.2"', "auth": "{enabled: false}"}
    fields = "".join(f"  {field}: {value}\n" for field, value in (spec | quiet | spec).items())
    return f"apiVersion: example.com/v1\nkind: Redis\nmetadata:\n  name: {name}\n{where}spec:\n{fields}"
