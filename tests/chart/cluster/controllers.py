"""Controllers: whether pods start, and the status that follows for other objects.

A pod starts when everything that it names exists: Secrets, ConfigMaps and their keys, claims, its service
account. A pod that runs to its end also needs the Services that its addresses lead to, with pods behind
them.
"""

import copy
import hashlib
import json

from cluster import kinds, pods, references

# A workload settles in one or two steps. More would mean a controller that changes its mind.
STEPS = 10


def complete(kind, new, number):
    """Adds the server's fields to a new or changed object."""
    spec = new.get("spec")
    if kind.name in ("Deployment", "StatefulSet"):
        spec.setdefault("replicas", 1)
    elif kind.name == "Job":
        uid = {"batch.kubernetes.io/controller-uid": new["metadata"]["uid"]}
        spec.setdefault("selector", {"matchLabels": uid})
        labels = spec["template"].setdefault("metadata", {}).setdefault("labels", {})
        labels.update(uid | {"batch.kubernetes.io/job-name": new["metadata"]["name"]})
    elif kind.name == "Service" and spec.get("type", "ClusterIP") != "ExternalName":
        spec.setdefault("clusterIP", f"10.96.{number // 250 % 250}.{number % 250 + 1}")


def carry(kind, new, old):
    """Copies the server's fields to a changed object, unless it states its own."""
    if kind.name == "Service" and "clusterIP" in old["spec"]:
        new["spec"].setdefault("clusterIP", old["spec"]["clusterIP"])
    complete(kind, new, 0)


def settle(cluster):
    """Brings every status up to date."""
    for _ in range(STEPS):
        if not any([step(cluster, key) for key in sorted(cluster.kept)]):
            return
    raise RuntimeError("the double's controllers don't come to rest")


def step(cluster, key):
    """Updates the status of one object. Returns whether that changed anything."""
    kind, namespace, _ = key
    found = cluster.kept.get(key)
    if found is None or kind.name not in STATUSES:
        return False
    if kind.name == "Deployment":
        own_replica_set(cluster, namespace, found)
    moved = kind.name in ("Job", "ReplicaSet") and pods.own(cluster, namespace, found)
    status = STATUSES[kind.name](cluster, namespace, found)
    if status == found.get("status"):
        return moved
    new = copy.deepcopy(found)
    new["status"] = status
    cluster.keep(key, new, "MODIFIED")
    return True


def condition(kind, holds, reason=""):
    stands = "True" if holds else "False"
    return {"type": kind, "status": stands, "reason": reason, "message": ""}


def generation(found):
    return {"observedGeneration": found["metadata"]["generation"]}


def starts(cluster, namespace, pod):
    return not references.missing(cluster, namespace, pod)


def of_deployment(cluster, namespace, found):
    wanted = found["spec"].get("replicas", 1)
    ready = wanted if starts(cluster, namespace, found["spec"]["template"]["spec"]) else 0
    done = ready == wanted
    reason = "NewReplicaSetAvailable" if done else "ReplicaSetUpdated"
    counts = {"replicas": wanted, "updatedReplicas": wanted, "unavailableReplicas": wanted - ready}
    conditions = [condition("Available", done), condition("Progressing", True, reason)]
    counts |= {"readyReplicas": ready, "availableReplicas": ready, "conditions": conditions}
    return generation(found) | counts


def of_stateful_set(cluster, namespace, found):
    wanted = found["spec"].get("replicas", 1)
    claims = [it["metadata"]["name"] for it in found["spec"].get("volumeClaimTemplates", [])]
    lacks = references.missing(cluster, namespace, found["spec"]["template"]["spec"], claims)
    ready = 0 if lacks else wanted
    revision = digest(found["spec"]["template"])
    counts = {"replicas": wanted, "updatedReplicas": wanted, "currentReplicas": wanted}
    counts |= {"readyReplicas": ready, "availableReplicas": ready}
    return generation(found) | counts | {"currentRevision": revision, "updateRevision": revision}


def of_replica_set(cluster, namespace, found):
    wanted = found["spec"].get("replicas", 1)
    ready = wanted if starts(cluster, namespace, found["spec"]["template"]["spec"]) else 0
    return generation(found) | {"replicas": wanted, "readyReplicas": ready, "availableReplicas": ready}


def of_job(cluster, namespace, found):
    pod = next((it for it in cluster.list(pods.PODS, namespace) if pods.owned(it, found)), None)
    phase = (pod or {}).get("status", {}).get("phase")
    if phase == "Failed":
        return {"failed": 1, "conditions": [condition("Failed", True, "BackoffLimitExceeded")]}
    if phase == "Succeeded":
        return {"succeeded": 1, "conditions": [condition("Complete", True)]}
    return {"active": 1}


def of_claim(*_):
    return {"phase": "Bound"}


def of_budget(_cluster, _namespace, found):
    return generation(found) | {"currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1, "disruptionsAllowed": 1}


def of_scaler(cluster, namespace, found):
    wanted = found["spec"]["scaleTargetRef"]
    kind = kinds.by_name(wanted.get("apiVersion"), wanted["kind"])
    scales = (kind, namespace, wanted["name"]) in cluster.kept
    conditions = [condition("AbleToScale", scales), condition("ScalingActive", scales)]
    return {"currentReplicas": 1, "desiredReplicas": 1, "conditions": conditions}


STATUSES = {
    "Deployment": of_deployment,
    "HorizontalPodAutoscaler": of_scaler,
    "Job": of_job,
    "PersistentVolumeClaim": of_claim,
    "Pod": pods.of_pod,
    "PodDisruptionBudget": of_budget,
    "ReplicaSet": of_replica_set,
    "StatefulSet": of_stateful_set,
}


def digest(template):
    return hashlib.sha256(json.dumps(template, sort_keys=True).encode()).hexdigest()[:10]


def scale(cluster, kind, found, replicas):
    if found["spec"]["replicas"] != replicas:
        scaled = {**found, "spec": {**found["spec"], "replicas": replicas}}
        key = (kind, found["metadata"]["namespace"], found["metadata"]["name"])
        cluster.keep(key, copy.deepcopy(scaled), "MODIFIED")


def own_replica_set(cluster, namespace, found):
    """A Deployment's pods belong to a ReplicaSet of their template, which Helm 3 looks for."""
    kind = kinds.find("apps", "v1", "replicasets")
    spec = copy.deepcopy(found["spec"])
    revision = digest(spec["template"])
    name = f"{found['metadata']['name']}-{revision}"
    wanted = spec.get("replicas", 1)
    for other in cluster.list(kind, namespace):
        if pods.owned(other, found):
            scale(cluster, kind, other, wanted if other["metadata"]["name"] == name else 0)
    if (kind, namespace, name) in cluster.kept:
        return
    labels = spec["template"]["metadata"]["labels"]
    labels["pod-template-hash"] = revision
    selector = {"matchLabels": {**spec["selector"]["matchLabels"], "pod-template-hash": revision}}
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": found["metadata"]["name"]}
    owner |= {"uid": found["metadata"]["uid"], "controller": True}
    made = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"{found['metadata']['uid']}-{revision}",
            "creationTimestamp": found["metadata"]["creationTimestamp"],
            "generation": 1,
            "labels": dict(labels),
            "ownerReferences": [owner],
        },
        "spec": {"replicas": wanted, "selector": selector, "template": spec["template"]},
    }
    cluster.keep((kind, namespace, name), made, "ADDED")
