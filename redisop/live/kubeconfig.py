"""Which cluster, as whom, and in which namespace: what the `kubernetes` package makes of a kubeconfig or of a pod.

Its loaders know exec plugins, OIDC, proxies and client certificates; here is the choice between them and a sentence for
each way in which it can go wrong. The package's own texts quote the file, tokens included, and are not passed on whole.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import yaml

from redisop.failures import NotConfigured

if TYPE_CHECKING:
    from kubernetes.client import Configuration

IN_CLUSTER: Final = "(in-cluster)"
IN_CLUSTER_NAMESPACE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
DEFAULT_NAMESPACE: Final = "default"


class Access(NamedTuple):
    """How to reach the API server; `context` is the name of the context in the kubeconfig, or `IN_CLUSTER`."""

    configuration: Configuration
    namespace: str
    context: str


def access(kubeconfig: str | None, context: str | None) -> Access:
    """Return the access that `kubeconfig` (None: $KUBECONFIG, ~/.kube/config, the pod's) gives in `context`.

    Reads files and may run a plugin that gets credentials, each time. Raises NotConfigured.
    """
    paths = kubeconfig or os.environ.get("KUBECONFIG") or str(Path("~/.kube/config").expanduser())
    if any(Path(path).expanduser().exists() for path in paths.split(os.pathsep) if path):
        return _from_files(paths, context)
    if kubeconfig is None and context is None and "KUBERNETES_SERVICE_HOST" in os.environ:
        return _from_pod()
    raise NotConfigured(None, f"no kubeconfig at {paths}: name one with --kubeconfig or $KUBECONFIG")


def _from_pod() -> Access:
    from kubernetes.client import Configuration
    from kubernetes.config import ConfigException, load_incluster_config

    configuration = Configuration()
    try:
        load_incluster_config(configuration)  # type: ignore[no-untyped-call]
    except (ConfigException, OSError) as error:
        advice = "mount the token of a ServiceAccount into the pod, or name a kubeconfig with --kubeconfig"
        raise NotConfigured(None, f"the pod's ServiceAccount cannot be used ({error}): {advice}") from None
    try:
        namespace = IN_CLUSTER_NAMESPACE.read_text().strip()
    except OSError:
        namespace = DEFAULT_NAMESPACE
    return Access(configuration, namespace, IN_CLUSTER)


def _from_files(paths: str, wanted: str | None) -> Access:
    from kubernetes.client import Configuration
    from kubernetes.config.kube_config import KubeConfigLoader, KubeConfigMerger

    configuration = Configuration()
    with _explained(paths), _Complaints() as complaints:
        files: Any = KubeConfigMerger(paths)  # type: ignore[no-untyped-call]
        content: dict[str, Any] = files.config.value
        context = wanted or content.get("current-context")
        if not context:
            raise NotConfigured(None, f"{paths} has no current-context: name a context with --context")
        chosen = _named(paths, content, "contexts", context)["context"]
        _named(paths, content, "clusters", chosen["cluster"])
        user = _named(paths, content, "users", chosen["user"])["user"] or {} if chosen.get("user") else {}
        loader: Any = KubeConfigLoader(  # type: ignore[no-untyped-call]
            files.config, context, config_base_path=None, config_persister=files.save_changes
        )
        loader.load_and_set(configuration)
        if "exec" in user and not configuration.api_key and not configuration.cert_file:
            said = "; ".join(complaints.texts) or "it gave neither a token nor a certificate"
            plugin = user["exec"]["command"]
            raise NotConfigured(None, f"{paths}: the plugin {plugin} of the user {chosen['user']} failed: {said}")
        return Access(configuration, chosen.get("namespace") or DEFAULT_NAMESPACE, context)


def _named(paths: str, content: dict[str, Any], section: str, name: object) -> dict[str, Any]:
    """Return the entry called `name` of a section of the merged kubeconfig."""
    entries = {entry["name"]: entry for entry in content[section]}
    if name not in entries:
        known = ", ".join(sorted(entries)) or "none"
        raise NotConfigured(None, f"{paths} has no entry {name} in {section}: choose one of {known}")
    entry = entries[name]
    return dict(getattr(entry, "value", entry))


@contextmanager
def _explained(paths: str) -> Iterator[None]:
    """Raise NotConfigured for all that the package raises for a bad kubeconfig."""
    from kubernetes.config import ConfigException

    try:
        yield
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        raise NotConfigured(None, f"{paths}{line} is not YAML: correct it or name another kubeconfig") from None
    except OSError as error:
        raise NotConfigured(None, f"{error.filename or paths} cannot be read: {error.strerror or error}") from None
    except ConfigException as error:
        raise NotConfigured(None, f"{paths}: {str(error).partition(' in ')[0]}") from None
    except (AttributeError, LookupError, TypeError, ValueError):
        raise NotConfigured(None, f"{paths} is not a kubeconfig: correct it or name another one") from None


class _Complaints(logging.Handler):
    """Collects what is logged while open: the package logs why a plugin failed, and goes on without credentials."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(" ".join(record.getMessage().split()))

    def __enter__(self) -> _Complaints:
        logging.getLogger().addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger().removeHandler(self)
