"""The kinds that the double serves, and its discovery documents."""

import collections

Kind = collections.namedtuple("Kind", "group version plural name namespaced")

KINDS = [
    Kind(group, version, plural, name, namespaced)
    for group, version, plural, name, namespaced in (
        ("", "v1", "namespaces", "Namespace", False),
        ("", "v1", "nodes", "Node", False),
        ("", "v1", "configmaps", "ConfigMap", True),
        ("", "v1", "events", "Event", True),
        ("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", True),
        ("", "v1", "pods", "Pod", True),
        ("", "v1", "secrets", "Secret", True),
        ("", "v1", "serviceaccounts", "ServiceAccount", True),
        ("", "v1", "services", "Service", True),
        ("apps", "v1", "daemonsets", "DaemonSet", True),
        ("apps", "v1", "deployments", "Deployment", True),
        ("apps", "v1", "replicasets", "ReplicaSet", True),
        ("apps", "v1", "statefulsets", "StatefulSet", True),
        ("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", True),
        ("batch", "v1", "cronjobs", "CronJob", True),
        ("batch", "v1", "jobs", "Job", True),
        ("gateway.networking.k8s.io", "v1", "httproutes", "HTTPRoute", True),
        ("monitoring.coreos.com", "v1", "podmonitors", "PodMonitor", True),
        ("monitoring.coreos.com", "v1", "prometheusrules", "PrometheusRule", True),
        ("monitoring.coreos.com", "v1", "servicemonitors", "ServiceMonitor", True),
        ("networking.k8s.io", "v1", "ingresses", "Ingress", True),
        ("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", True),
        ("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", True),
        ("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding", True),
        ("rbac.authorization.k8s.io", "v1", "roles", "Role", True),
    )
]
# Short names.
SHORT = {"deployments": ["deploy"], "namespaces": ["ns"], "persistentvolumeclaims": ["pvc"], "services": ["svc"]}
VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
# Groups of custom resources, whose patches merge no lists.
CUSTOM = {"gateway.networking.k8s.io", "monitoring.coreos.com"}


def api_version(kind):
    return f"{kind.group}/{kind.version}".lstrip("/")


def address(kind):
    """The path of a kind's group."""
    return f"apis/{kind.group}/{kind.version}" if kind.group else f"api/{kind.version}"


def find(group, version, plural):
    for kind in KINDS:
        if kind[:3] == (group, version, plural):
            return kind
    return None


def by_name(version, name):
    """The kind of a document, by its `apiVersion` and `kind`."""
    for kind in KINDS:
        if (api_version(kind), kind.name) == (version, name):
            return kind
    return None


def groups():
    """`/apis`."""
    listed = []
    for group in sorted({kind.group for kind in KINDS} - {""}):
        versions = sorted({kind.version for kind in KINDS if kind.group == group})
        served = [{"groupVersion": f"{group}/{it}", "version": it} for it in versions]
        listed.append({"name": group, "versions": served, "preferredVersion": served[0]})
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": listed}


def resources(group, version):
    """`/apis/GROUP/VERSION`; `None` if nothing is served there."""
    found = [kind for kind in KINDS if (kind.group, kind.version) == (group, version)]
    if not found:
        return None
    listed = [
        {
            "name": kind.plural,
            "singularName": kind.name.lower(),
            "shortNames": SHORT.get(kind.plural, []),
            "namespaced": kind.namespaced,
            "kind": kind.name,
            "verbs": VERBS,
        }
        for kind in found
    ]
    of = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version(found[0])}
    return {**of, "resources": listed}


def openapi_index():
    """`/openapi/v3`."""
    served = sorted({address(kind) for kind in KINDS})
    return {"paths": {it: {"serverRelativeURL": f"/openapi/v3/{it}"} for it in served}}


def openapi(place, version):
    """One of its documents. Clients only check whether a patch takes `fieldValidation`: then they leave the
    validation of fields to the server, which does it."""
    parameters = [
        {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
        for name in ("dryRun", "fieldManager", "fieldValidation", "force")
    ]
    paths = {}
    for kind in KINDS:
        if address(kind) != place:
            continue
        named = {"group": kind.group, "version": kind.version, "kind": kind.name}
        within = "/namespaces/{namespace}" if kind.namespaced else ""
        paths[f"/{place}{within}/{kind.plural}/{{name}}"] = {
            "patch": {
                "parameters": parameters,
                "x-kubernetes-action": "patch",
                "x-kubernetes-group-version-kind": named,
                "responses": {"200": {"description": "OK"}},
            }
        }
    if not paths:
        return None
    info = {"title": "Kubernetes", "version": version}
    return {"openapi": "3.0.0", "info": info, "components": {"schemas": {}}, "paths": paths}
