"""The cluster's objects, and the history of their changes for watches."""

import base64
import copy
import threading
import time
import uuid

from cluster import controllers, kinds
from cluster.admission import judge
from cluster.errors import ApiError, not_found

# Set by the server, and ignored in changes by clients.
SERVERS_OWN = ("uid", "creationTimestamp", "generation", "resourceVersion", "ownerReferences")


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class Cluster:
    """All objects, by kind, namespace and name. One lock suffices, since one client acts at a time."""

    def __init__(self, version):
        self.version = version
        self.changed = threading.Condition(threading.RLock())
        self.kept = {}
        # Workloads whose replicas belong to an autoscaler.
        self.scaled = set()
        # Each change: its revision, ADDED, MODIFIED or DELETED, the kind, the object at that time.
        self.events = []
        # What a pod that runs to its end does, and how those pods ended.
        self.run = lambda pod: None
        self.ended = {}
        for name in ("default", "kube-system"):
            self.create(kinds.find("", "v1", "namespaces"), None, {"metadata": {"name": name}})

    def get(self, kind, namespace, name):
        found = self.kept.get((kind, namespace, name))
        if found is None:
            raise not_found(kind, name)
        return found

    def list(self, kind, namespace):
        return [
            it
            for (of, within, _), it in sorted(self.kept.items())
            if of == kind and namespace in (None, within)
        ]

    def revision(self):
        return len(self.events)

    def create(self, kind, namespace, given, dry=False):
        new = self.prepared(kind, namespace, given)
        meta = new["metadata"]
        if "name" not in meta and "generateName" in meta:
            meta["name"] = meta["generateName"] + uuid.uuid4().hex[:5]
        key = (kind, namespace, meta.get("name"))
        if key in self.kept:
            raise ApiError(409, "AlreadyExists", f'{kind.plural} "{meta["name"]}" already exists')
        if namespace and (kinds.find("", "v1", "namespaces"), None, namespace) not in self.kept:
            raise ApiError(404, "NotFound", f'namespaces "{namespace}" not found')
        judge(kind, new, None, self.version)
        meta.update(uid=str(uuid.uuid4()), creationTimestamp=now(), generation=1)
        controllers.complete(kind, new, self.revision())
        if not dry:
            self.keep(key, new, "ADDED")
            controllers.settle(self)
        return new

    def replace(self, kind, namespace, name, given, dry=False):
        old = self.get(kind, namespace, name)
        new = self.prepared(kind, namespace, given)
        wanted = (given.get("metadata") or {}).get("resourceVersion")
        if wanted and wanted != old["metadata"]["resourceVersion"]:
            raise ApiError(409, "Conflict", f'{kind.plural} "{name}" was changed meanwhile')
        kept = {field: value for field, value in old["metadata"].items() if field in SERVERS_OWN}
        new["metadata"].update(kept, name=name)
        if "status" in old:
            new["status"] = old["status"]
        controllers.carry(kind, new, old)
        judge(kind, new, old, self.version)
        new["metadata"]["generation"] += new.get("spec") != old.get("spec")
        if not dry and new != old:
            self.keep((kind, namespace, name), new, "MODIFIED")
            controllers.settle(self)
        return new

    def scale(self, kind, namespace, name, replicas):
        """Sets replicas as an autoscaler does. From now on it owns the number."""
        live = self.get(kind, namespace, name)
        self.replace(kind, namespace, name, {**live, "spec": {**live["spec"], "replicas": replicas}})
        self.scaled.add((kind, namespace, name))

    def apply(self, kind, namespace, name, given, dry=False, force=False):
        """Server-side apply: only force changes a field of another owner. Here an autoscaler's replicas are
        the only such field."""
        key = (kind, namespace, name)
        if key not in self.kept:
            return self.create(kind, namespace, given, dry)
        wanted = (given.get("spec") or {}).get("replicas")
        if key in self.scaled and wanted not in (None, self.kept[key]["spec"]["replicas"]):
            if not force:
                other = 'conflict with "kube-controller-manager" with subresource "scale": .spec.replicas'
                raise ApiError(409, "Conflict", f"Apply failed with 1 conflict: {other}")
            self.scaled.discard(key)
        return self.replace(kind, namespace, name, given, dry)

    def delete(self, kind, namespace, name):
        gone = self.get(kind, namespace, name)
        del self.kept[kind, namespace, name]
        self.record("DELETED", kind, gone)
        owned = [
            key
            for key, it in self.kept.items()
            for owner in it["metadata"].get("ownerReferences", [])
            if owner["uid"] == gone["metadata"]["uid"]
        ]
        for key in owned:
            self.delete(*key)
        controllers.settle(self)
        return gone

    def prepared(self, kind, namespace, given):
        """A copy as the server stores it: typed, in its namespace, with encoded secrets."""
        new = copy.deepcopy(given)
        new.setdefault("metadata", {}).pop("managedFields", None)
        said = new.get("apiVersion"), new.get("kind")
        mine = kinds.api_version(kind), kind.name
        if any(it and it != own for it, own in zip(said, mine)):
            raise ApiError(400, "BadRequest", f"{said} was sent to {mine}")
        new["apiVersion"], new["kind"] = mine
        if namespace:
            if new["metadata"].setdefault("namespace", namespace) != namespace:
                raise ApiError(400, "BadRequest", "the namespace is not that of the request")
        plain = new.pop("stringData", None) if kind.name == "Secret" else None
        for name, value in (plain or {}).items():
            new.setdefault("data", {})[name] = base64.b64encode(value.encode()).decode()
        return new

    def keep(self, key, new, what):
        """Stores an object; also for controllers, which skip admission."""
        self.kept[key] = new
        self.record(what, key[0], new)

    def record(self, what, kind, it):
        with self.changed:
            it["metadata"]["resourceVersion"] = str(self.revision() + 1)
            self.events.append((self.revision() + 1, what, kind, copy.deepcopy(it)))
            self.changed.notify_all()
