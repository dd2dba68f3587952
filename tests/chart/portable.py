"""Checks that clusters accept the renders that are stricter, or can do less, than Kubernetes itself.

Usage: portable.py FOLDER. No schema covers these rules: they are those of controllers, networks and clouds.
"""

import re
import sys

from manifests import renders, template, title

# What ingress-nginx accepts in a path that is not ImplementationSpecific (strict-validate-path-type).
PLAIN_PATH = re.compile(r"/[A-Za-z0-9/_-]*")


def paths(document):
    if document["kind"] != "Ingress":
        return
    for rule in document["spec"]["rules"]:
        for path in rule["http"]["paths"]:
            if path["pathType"] != "ImplementationSpecific" and not PLAIN_PATH.fullmatch(path["path"]):
                yield f"ingress-nginx refuses {path['path']} as {path['pathType']}"


def named_ports(document):
    """To OVN-Kubernetes, OpenShift's network, a port by name is any port."""
    if document["kind"] != "NetworkPolicy":
        return
    for rule in [*document["spec"].get("ingress", []), *document["spec"].get("egress", [])]:
        for port in rule.get("ports", []):
            if not isinstance(port["port"], int):
                yield f"OVN-Kubernetes opens all ports in place of {port['port']}"


def siblings(document):
    """Other charts of the same parent have pods with the same instance label."""
    if document["kind"] != "NetworkPolicy":
        return
    for labels in matched(document["spec"]):
        if "app.kubernetes.io/instance" in labels and "app.kubernetes.io/name" not in labels:
            yield f"{labels} are pods of a parent chart's other parts, too"


def matched(part):
    """All labels that selectors in a part of a document require."""
    if isinstance(part, dict):
        if "matchLabels" in part:
            yield part["matchLabels"]
        part = list(part.values())
    for inner in part if isinstance(part, list) else []:
        yield from matched(inner)


def claims(document):
    """Up to Kubernetes 1.34 the kubelet waits forever for the second volume of one claim."""
    volumes = ((template(document) or {}).get("spec") or {}).get("volumes") or []
    named = [it["persistentVolumeClaim"]["claimName"] for it in volumes if "persistentVolumeClaim" in it]
    for name in sorted({it for it in named if named.count(it) > 1}):
        yield f"a pod with two volumes of claim {name} never starts"


def probed(document):
    """AKS' load balancers request / on ports that state HTTP, which the agents' port refuses."""
    if document["kind"] != "Service" or document["spec"].get("type") != "LoadBalancer":
        return
    for port in document["spec"]["ports"]:
        if "appProtocol" in port:
            yield f"AKS asks for / at port {port['name']}, because of its appProtocol"


def kept_nodes(document):
    """Cluster Autoscaler keeps a node while a pod has local storage that it does not declare safe to evict."""
    pod = template(document) or {}
    meta = pod.get("metadata") or {}
    if (meta.get("labels") or {}).get("app.kubernetes.io/component") not in ("worker", "indexer"):
        return
    let_go = meta["annotations"].get("cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes", "").split(",")
    for volume in pod["spec"]["volumes"]:
        on_disk = "emptyDir" in volume and volume["emptyDir"].get("medium") != "Memory"
        if on_disk and volume["name"] not in let_go:
            yield f"for volume {volume['name']} a node is never removed"


RULES = [paths, named_ports, siblings, claims, probed, kept_nodes]


def violations(document):
    """The parts of a document that some cluster would refuse or ignore, in words."""
    return [f"{title(document)}: {complaint}" for rule in RULES for complaint in rule(document)]


def main():
    seen, complaints = 0, []
    for name, documents in renders(sys.argv[1]):
        for document in documents:
            seen += 1
            complaints += [f"{name}: {violation}" for violation in violations(document)]
    if complaints:
        print("\n".join(complaints), file=sys.stderr)
        raise SystemExit("not every cluster that the chart is for would do this")
    print(f"{seen} documents ask for nothing that only some clusters do")


if __name__ == "__main__":
    main()
