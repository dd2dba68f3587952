"""Pods of Jobs and ReplicaSets, and their fate.

Nothing runs, unless `Cluster.run` states what a pod does. It gets the pod, and returns its exit code and
the bytes that it wrote, or `RUNNING`, or `None` for an unknown pod.
"""

import copy
import hashlib
import re

from cluster import kinds, references

PODS = kinds.find("", "v1", "pods")
NOTHING_RAN = b"nothing ran: this cluster is a double\n"
RUNNING = object()
URL = re.compile(r"\bhttps?://([a-z0-9.-]+)(?::([0-9]+))?")


def own(cluster, namespace, owner):
    """Creates or deletes the pods of a Job or ReplicaSet as needed. Returns whether that changed any."""
    wanted = names(owner)
    mine = [it for it in cluster.list(PODS, namespace) if owned(it, owner)]
    for pod in mine:
        if pod["metadata"]["name"] not in wanted:
            cluster.kept.pop((PODS, namespace, pod["metadata"]["name"]))
            cluster.record("DELETED", PODS, pod)
    missing = wanted - {it["metadata"]["name"] for it in mine}
    for name in sorted(missing):
        cluster.keep((PODS, namespace, name), made(owner, namespace, name), "ADDED")
    return bool(missing) or len(mine) > len(wanted)


def names(owner):
    name, uid = owner["metadata"]["name"], owner["metadata"]["uid"]
    count = owner["spec"].get("replicas", 1)
    return {f"{name}-{hashlib.sha256(f'{uid}/{number}'.encode()).hexdigest()[:5]}" for number in range(count)}


def owned(pod, owner):
    return any(it["uid"] == owner["metadata"]["uid"] for it in pod["metadata"].get("ownerReferences", []))


def made(owner, namespace, name):
    spec = copy.deepcopy(owner["spec"]["template"])
    labels = spec["metadata"]["labels"]
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"]}
    reference |= {"uid": owner["metadata"]["uid"], "controller": True}
    meta = {"name": name, "namespace": namespace, "uid": f"{owner['metadata']['uid']}-{name[-5:]}"}
    meta |= {"creationTimestamp": owner["metadata"]["creationTimestamp"], "generation": 1}
    meta |= {"labels": labels, "ownerReferences": [reference]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec["spec"]}


def ended(cluster, namespace, pod):
    """How a pod that runs to its end ended: exit code and output, or `RUNNING`."""
    if unreachable(cluster, namespace, pod["spec"]):
        return 1, NOTHING_RAN
    uid = pod["metadata"]["uid"]
    if uid not in cluster.ended:
        cluster.ended[uid] = cluster.run(pod) or (0, NOTHING_RAN)
    return cluster.ended[uid]


def of_pod(cluster, namespace, found):
    """A pod's status."""
    lacks = references.missing(cluster, namespace, found["spec"])
    if lacks:
        waiting = {"waiting": {"reason": "CreateContainerConfigError", "message": ", ".join(lacks)}}
        return status(found, "Pending", waiting)
    since = found["metadata"]["creationTimestamp"]
    running = {"running": {"startedAt": since}}
    if found["spec"].get("restartPolicy", "Always") == "Always":
        return status(found, "Running", running)
    how = ended(cluster, namespace, found)
    if how is RUNNING:
        return status(found, "Running", running)
    terminated = {"terminated": {"exitCode": how[0], "startedAt": since, "finishedAt": since}}
    return status(found, "Failed" if how[0] else "Succeeded", terminated)


def status(found, phase, state):
    ready = {"type": "Ready", "status": "True" if phase == "Running" else "False", "reason": "", "message": ""}
    containers = [{"name": it["name"], "state": state} for it in found["spec"]["containers"]]
    number = int(hashlib.sha256(found["metadata"]["uid"].encode()).hexdigest()[:4], 16)
    address = {"podIP": f"10.244.{number // 256}.{number % 256}"} if phase == "Running" else {}
    return {"phase": phase, "conditions": [ready], "containerStatuses": containers, **address}


def unreachable(cluster, namespace, pod):
    """Cluster addresses in a pod's configuration that lead nowhere."""
    told = [str(env.get("value", "")) for it in pod["containers"] for env in it.get("env") or []]
    told += [str(arg) for it in pod["containers"] for arg in it.get("args") or []]
    return [
        f"{host}:{port}"
        for text in told
        for host, port in URL.findall(text)
        if references.is_inside(host) and not references.leads(cluster, namespace, host, port)
    ]
