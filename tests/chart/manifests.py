"""The content of a render: documents, their names, and the pods that they create.

Used by the other programs of this folder.
"""

import pathlib

import yaml

# Kinds with a pod template, and its path.
TEMPLATES = {
    "Deployment": ("spec", "template"),
    "StatefulSet": ("spec", "template"),
    "DaemonSet": ("spec", "template"),
    "ReplicaSet": ("spec", "template"),
    "ReplicationController": ("spec", "template"),
    "Job": ("spec", "template"),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
    "PodTemplate": ("template",),
}
CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


class StrictLoader(yaml.CSafeLoader):
    """YAML as a cluster reads it: a duplicate key is an error, a date is text."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        twice = {key for key in keys if keys.count(key) > 1}
        if twice:
            raise yaml.YAMLError(f"{', '.join(map(str, twice))} stands twice{node.start_mark}")
        return super().construct_mapping(node, deep=deep)


StrictLoader.yaml_implicit_resolvers = {
    first: [(tag, form) for tag, form in forms if tag != "tag:yaml.org,2002:timestamp"]
    for first, forms in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def parse(text):
    """The documents of a text, without empty ones."""
    return [it for it in yaml.load_all(text, Loader=StrictLoader) if it]


def renders(folder):
    """Each render in a folder: its name and its documents."""
    found = sorted(pathlib.Path(folder).glob("*.yaml"))
    if not found:
        raise SystemExit(f"{folder} holds no render: let tests/chart/run make them first")
    for path in found:
        yield path.stem, parse(path.read_text())


def title(document):
    """`Kind/name`, for a message."""
    return f"{document.get('kind')}/{document.get('metadata', {}).get('name')}"


def template(document):
    """The pod or pod template of a document; `None` if it has none."""
    if document.get("kind") == "Pod":
        return document
    if document.get("kind") not in TEMPLATES:
        return None
    found = document
    for step in TEMPLATES[document["kind"]]:
        found = found.get(step) or {}
    return found


def containers(pod):
    """All containers of a pod's spec: init, ordinary and ephemeral."""
    for group in CONTAINERS:
        yield from pod.get(group) or []
