"""What objects say about themselves is told in Kubernetes' own words; each object here passes its schema."""

import copy

import kubernetes_validate
import pytest

from redisop.snapshot.health import Health, health

SPEC = {"containers": [{"name": "redis", "image": "redis:7.0"}]}
READY = {"type": "Ready", "status": "True"}
NOT_READY = {
    "type": "Ready",
    "status": "False",
    "reason": "ContainersNotReady",
    "message": "containers with unready status: [redis]",
}


def valid(manifest):
    kubernetes_validate.validate(copy.deepcopy(manifest), "1.34", strict=True)
    return manifest


def pod(status, **metadata):
    meta = {"name": "cache-0", "namespace": "shop", **metadata}
    return valid({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": SPEC, "status": status})


def container(state, last=None, name="redis"):
    facts = {"name": name, "image": "redis:7.0", "imageID": "", "ready": False, "restartCount": 0, "state": state}
    return facts | ({"lastState": last} if last else {})


def waiting(reason, message=None):
    return {"waiting": {"reason": reason} | ({"message": message} if message else {})}


PODS = [
    ({"phase": "Running", "conditions": [READY]}, Health("Current", "Ready")),
    (
        {"phase": "Running", "conditions": [NOT_READY], "containerStatuses": [container({"running": {}})]},
        Health("InProgress", "ContainersNotReady", "containers with unready status: [redis]"),
    ),
    ({}, Health("InProgress", "NotReady")),
    ({"phase": "Pending"}, Health("InProgress", "NotReady")),
    (
        {
            "phase": "Pending",
            "conditions": [
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "reason": "Unschedulable",
                    "message": "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.",
                }
            ],
        },
        Health(
            "InProgress",
            "Unschedulable",
            "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.",
        ),
    ),
    (
        {"phase": "Pending", "conditions": [NOT_READY], "containerStatuses": [container(waiting("ContainerCreating"))]},
        Health("InProgress", "ContainerCreating", "container redis"),
    ),
    (
        {
            "phase": "Pending",
            "conditions": [NOT_READY],
            "initContainerStatuses": [container({"running": {}}, name="prepare")],
            "containerStatuses": [container(waiting("PodInitializing"))],
        },
        Health("InProgress", "PodInitializing", "container redis"),
    ),
    (
        {
            "phase": "Pending",
            "conditions": [NOT_READY],
            "containerStatuses": [
                container(waiting("ContainerCreating"), name="exporter"),
                container(waiting("ImagePullBackOff", 'Back-off pulling image "redis:7.0.none"')),
            ],
        },
        Health("Failed", "ImagePullBackOff", 'container redis; Back-off pulling image "redis:7.0.none"'),
    ),
    (
        {
            "phase": "Pending",
            "conditions": [NOT_READY],
            "containerStatuses": [container(waiting("CreateContainerConfigError", 'secret "cache" not found'))],
        },
        Health("Failed", "CreateContainerConfigError", 'container redis; secret "cache" not found'),
    ),
    (
        {
            "phase": "Running",
            "conditions": [NOT_READY],
            "containerStatuses": [
                container(
                    waiting("CrashLoopBackOff", "back-off 40s restarting failed container"),
                    last={"terminated": {"exitCode": 137, "reason": "OOMKilled"}},
                )
            ],
        },
        Health(
            "Failed",
            "CrashLoopBackOff",
            "container redis; back-off 40s restarting failed container; last ended with code 137 (OOMKilled)",
        ),
    ),
    (
        {
            "phase": "Running",
            "conditions": [NOT_READY],
            "containerStatuses": [container({"terminated": {"exitCode": 1, "reason": "Error"}})],
        },
        Health("Failed", "Error", "container redis; ended with code 1 (Error)"),
    ),
    (
        {
            "phase": "Running",
            "conditions": [READY],
            "initContainerStatuses": [
                container({"terminated": {"exitCode": 0, "reason": "Completed"}}, name="prepare")
            ],
            "containerStatuses": [container({"running": {}})],
        },
        Health("Current", "Ready"),
    ),
    (
        {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."},
        Health("Failed", "Evicted", "The node was low on resource: memory."),
    ),
    ({"phase": "Succeeded"}, Health("Failed", "Succeeded")),
]


@pytest.mark.parametrize(("status", "expected"), PODS, ids=lambda each: getattr(each, "reason", ""))
def test_a_pod_says_how_it_fares(status, expected):
    assert health(pod(status)) == expected


def test_a_pod_without_a_status_is_on_its_way():
    assert health({"kind": "Pod", "metadata": {"name": "cache-0"}, "spec": SPEC}) == Health("InProgress", "NotReady")


@pytest.mark.parametrize(("status", "expected"), PODS, ids=lambda each: getattr(each, "reason", ""))
def test_whatever_else_it_says_a_pod_that_is_being_deleted_is_terminating(status, expected):
    assert health(pod(status, deletionTimestamp="2026-01-02T03:04:05Z")) == Health("Terminating", "Terminating")


def test_an_object_that_waits_for_a_finalizer_says_for_which():
    waits = pod({}, deletionTimestamp="2026-01-02T03:04:05Z", finalizers=["example.com/a", "example.com/b"])
    assert health(waits).message == "waits for the finalizers example.com/a, example.com/b"


def stateful_set(status, strategy="RollingUpdate", replicas=3):
    labels = {"app": "redis"}
    return valid(
        {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": {"name": "cache", "namespace": "shop", "generation": 4},
            "spec": {
                "serviceName": "cache-headless",
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": SPEC},
                "updateStrategy": {"type": strategy},
                **({} if replicas is None else {"replicas": replicas}),
            },
            "status": status,
        }
    )


DONE = {"observedGeneration": 4, "replicas": 3, "readyReplicas": 3, "updatedReplicas": 3}


@pytest.mark.parametrize(
    ("status", "strategy", "expected"),
    [
        (DONE, "RollingUpdate", Health("Current", "Ready", "3 pods are Ready")),
        (
            {**DONE, "observedGeneration": 3},
            "RollingUpdate",
            Health("InProgress", "NotObserved", "generation 4 was not seen yet by its controller"),
        ),
        ({**DONE, "replicas": 2}, "RollingUpdate", Health("InProgress", "Scaling", "2 of 3 pods exist")),
        ({**DONE, "replicas": 4}, "RollingUpdate", Health("InProgress", "Scaling", "4 of 3 pods exist")),
        ({**DONE, "readyReplicas": 1}, "RollingUpdate", Health("InProgress", "NotReady", "1 of 3 pods are Ready")),
        (
            {**DONE, "updatedReplicas": 1},
            "RollingUpdate",
            Health("InProgress", "Updating", "1 of 3 pods are of the newest revision"),
        ),
        ({**DONE, "updatedReplicas": 1}, "OnDelete", Health("Current", "Ready", "3 pods are Ready")),
    ],
)
def test_a_stateful_set_says_how_it_fares(status, strategy, expected):
    assert health(stateful_set(status, strategy)) == expected


def test_a_hibernated_stateful_set_is_as_it_should_be():
    status = {"observedGeneration": 4, "replicas": 0}
    assert health(stateful_set(status, replicas=0)) == Health("Current", "Ready", "0 pods are Ready")


def test_a_stateful_set_without_a_number_of_replicas_has_one():
    status = {"observedGeneration": 4, "replicas": 1, "readyReplicas": 1, "updatedReplicas": 1}
    assert health(stateful_set(status, replicas=None)) == Health("Current", "Ready", "1 pods are Ready")


def claim(status, wanted="1Gi", storage_class="standard"):
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": wanted}}}
    if storage_class:
        spec["storageClassName"] = storage_class
    meta = {"name": "data-cache-0", "namespace": "shop"}
    return valid(
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec, "status": status}
    )


BOUND = {"phase": "Bound", "capacity": {"storage": "1Gi"}}


def bound_and(kind, message=None):
    condition = {"type": kind, "status": "True"} | ({"message": message} if message else {})
    return {**BOUND, "conditions": [condition]}


@pytest.mark.parametrize(
    ("status", "wanted", "expected"),
    [
        (BOUND, "1Gi", Health("Current", "Bound")),
        (BOUND, "1024Mi", Health("Current", "Bound")),
        (BOUND, "500Mi", Health("Current", "Bound")),
        (BOUND, "2Gi", Health("InProgress", "Resizing", "has 1Gi of 2Gi")),
        (bound_and("Resizing"), "2Gi", Health("InProgress", "Resizing")),
        (
            bound_and("FileSystemResizePending", "Waiting for user to (re-)start a pod to finish file system resize"),
            "2Gi",
            Health(
                "InProgress",
                "FileSystemResizePending",
                "Waiting for user to (re-)start a pod to finish file system resize",
            ),
        ),
        (
            bound_and("ControllerResizeError", "the disk is at its limit"),
            "2Gi",
            Health("Failed", "ControllerResizeError", "the disk is at its limit"),
        ),
        (bound_and("NodeResizeError", "no"), "2Gi", Health("Failed", "NodeResizeError", "no")),
        (
            {**BOUND, "allocatedResourceStatuses": {"storage": "ControllerResizeInfeasible"}},
            "2Gi",
            Health("Failed", "ControllerResizeInfeasible"),
        ),
        (
            {**BOUND, "allocatedResourceStatuses": {"storage": "NodeResizePending"}},
            "2Gi",
            Health("InProgress", "Resizing", "has 1Gi of 2Gi"),
        ),
        ({"phase": "Pending"}, "1Gi", Health("InProgress", "Pending", "storage class standard")),
        ({}, "1Gi", Health("InProgress", "Pending", "storage class standard")),
        ({"phase": "Lost"}, "1Gi", Health("Failed", "Lost", "storage class standard")),
    ],
)
def test_a_claim_says_how_it_fares(status, wanted, expected):
    assert health(claim(status, wanted)) == expected


def test_a_claim_that_waits_for_the_default_class_says_so():
    assert health(claim({"phase": "Pending"}, storage_class=None)).message == "storage class (default)"


def test_a_kind_without_states_exists():
    assert health({"kind": "ConfigMap", "metadata": {"name": "cache-config"}}) == Health("Current", "Exists")
