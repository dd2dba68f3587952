"""References of a pod, and whether they can be resolved."""

from cluster import kinds
from manifests import containers

SECRETS = kinds.find("", "v1", "secrets")
CONFIG_MAPS = kinds.find("", "v1", "configmaps")
CLAIMS = kinds.find("", "v1", "persistentvolumeclaims")
ACCOUNTS = kinds.find("", "v1", "serviceaccounts")
SERVICES = kinds.find("", "v1", "services")


def named(pod):
    """Kind, name and keys of each object without which a pod does not start."""
    if pod.get("serviceAccountName", "default") != "default":
        yield ACCOUNTS, pod["serviceAccountName"], []
    for volume in pod.get("volumes") or []:
        yield from of_volume(volume)
        for source in (volume.get("projected") or {}).get("sources") or []:
            yield from of_volume(source)
    for container in containers(pod):
        for env in container.get("env") or []:
            source = env.get("valueFrom") or {}
            yield from of_key(SECRETS, source.get("secretKeyRef"))
            yield from of_key(CONFIG_MAPS, source.get("configMapKeyRef"))
        for whole in container.get("envFrom") or []:
            yield from of_whole(SECRETS, whole.get("secretRef"), "name")
            yield from of_whole(CONFIG_MAPS, whole.get("configMapRef"), "name")


def of_volume(source):
    secret = source.get("secret")
    yield from of_whole(SECRETS, secret, "secretName" if "secretName" in (secret or {}) else "name")
    yield from of_whole(CONFIG_MAPS, source.get("configMap"), "name")
    if "persistentVolumeClaim" in source:
        yield CLAIMS, source["persistentVolumeClaim"]["claimName"], []


def of_key(kind, reference):
    if reference and not reference.get("optional"):
        yield kind, reference["name"], [reference["key"]]


def of_whole(kind, reference, name):
    if reference and not reference.get("optional"):
        yield kind, reference[name], [it["key"] for it in reference.get("items") or []]


def missing(cluster, namespace, pod, own_claims=()):
    """What a pod waits for, in words; empty if it starts."""
    lacks = []
    for kind, name, keys in named(pod):
        found = cluster.kept.get((kind, namespace, name))
        if found is None and not (kind == CLAIMS and name in own_claims):
            lacks.append(f"{kind.name} {name}")
        elif found is not None:
            there = {**(found.get("data") or {}), **(found.get("binaryData") or {})}
            lacks += [f"{kind.name} {name}: key {key}" for key in keys if key not in there]
    return lacks


def is_inside(host):
    """Whether a host is resolved by the cluster: a Service by its short or full name."""
    return host != "localhost" and ("." not in host or ".svc" in host)


def leads(cluster, namespace, host, port):
    """Whether a Service of that name has the port and ready pods."""
    name, _, rest = host.partition(".")
    within = rest.partition(".")[0] or namespace
    service = cluster.kept.get((SERVICES, within, name))
    if service is None:
        return False
    served = [str(it["port"]) for it in service["spec"]["ports"]]
    return (port or "80") in served and has_pods(cluster, within, service)


def has_pods(cluster, namespace, service):
    selector = (service["spec"].get("selector") or {}).items()
    for (kind, within, _), found in cluster.kept.items():
        if kind.name not in ("Deployment", "StatefulSet") or within != namespace:
            continue
        labels = found["spec"]["template"]["metadata"].get("labels") or {}
        if selector <= labels.items() and found.get("status", {}).get("readyReplicas"):
            return True
    return False
