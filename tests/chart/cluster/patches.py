"""Patches: merge patches (RFC 7386) and strategic ones, which know the identifying field of a list's items."""

import copy

# Kinds whose lists are merged; those of others are replaced.
MERGED = {
    "CronJob", "DaemonSet", "Deployment", "Job", "Pod", "ReplicaSet", "Service", "ServiceAccount", "StatefulSet",
}
# The identifying field of lists by name; other lists are replaced. `ports` may be of a container or of a
# Service, which the items' fields show.
IDENTITIES = {
    "conditions": ("type",),
    "containers": ("name",),
    "env": ("name",),
    "ephemeralContainers": ("name",),
    "hostAliases": ("ip",),
    "imagePullSecrets": ("name",),
    "initContainers": ("name",),
    "ownerReferences": ("uid",),
    "ports": ("containerPort", "port"),
    "topologySpreadConstraints": ("topologyKey",),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
}


def merged(target, patch):
    """By RFC 7386: null removes, a list is replaced."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    result = copy.deepcopy(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def strategic(target, patch):
    """As Kubernetes merges its own kinds."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    rest = {name: value for name, value in patch.items() if not name.startswith("$")}
    if patch.get("$patch") == "replace" or not isinstance(target, dict):
        target = {}
    result = copy.deepcopy(target)
    kept = patch.get("$retainKeys")
    if kept is not None:
        result = {name: value for name, value in result.items() if name in kept}
    for name, value in rest.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, list):
            order = patch.get(f"$setElementOrder/{name}")
            result[name] = strategic_list(name, result.get(name) or [], value, order)
        else:
            result[name] = strategic(result.get(name), value)
    for name, gone in patch.items():
        if name.startswith("$deleteFromPrimitiveList/"):
            name = name.split("/", 1)[1]
            result[name] = [item for item in result.get(name, []) if item not in gone]
        elif name.startswith("$setElementOrder/"):
            name = name.split("/", 1)[1]
            if name not in rest and name in result:
                result[name] = ordered(result[name], gone, identity(name, result[name]))
    return result


def identity(name, items):
    """The identifying field of such a list's items, if there is one."""
    for field in IDENTITIES.get(name, ()):
        if items and all(isinstance(it, dict) and field in it for it in items):
            return field
    return None


def strategic_list(name, target, patch, order):
    plain = [item for item in patch if not (isinstance(item, dict) and "$patch" in item)]
    field = identity(name, patch)
    if field is None:
        return [strategic({}, item) for item in plain]
    result = {item[field]: item for item in target}
    for item in patch:
        if item.get("$patch") == "delete":
            result.pop(item[field], None)
        else:
            result[item[field]] = strategic(result.get(item[field]), item)
    return ordered(list(result.values()), order, field)


def ordered(items, order, field):
    """Items in the stated order, unstated ones last."""
    if not order:
        return items
    if field is None:
        wanted = {it: at for at, it in enumerate(order) if not isinstance(it, dict)}
        return sorted(items, key=lambda it: wanted.get(it, len(wanted)))
    wanted = {it[field]: at for at, it in enumerate(order)}
    return sorted(items, key=lambda it: wanted.get(it[field], len(wanted)))
