"""Installs the chart with Helm, upgrades it, tests it, rolls it back and uninstalls it.

Usage: lifecycle.py CHART HELM OTHER. The cluster is a double (`cluster`), in the newest and the oldest
version that the chart supports. After each step it must contain exactly what the release states. Objects
that values expect to exist (Secrets, claims) are created first.
"""

import base64
import concurrent.futures
import contextlib
import pathlib
import subprocess
import sys
import tempfile

import yaml

import schemas
from cluster import kinds, references
from cluster.errors import ApiError
from cluster.server import Server
from manifests import parse, template, title

RELEASE = NAMESPACE = "archway"
# The values of the first revision, to which the release is rolled back.
FIRST = "minimal"
# The values to which the other Helm upgrades: those with the most objects.
LARGEST = "production"
# Fields that the server adds, and Helm's own marks, which no manifest contains.
ADDED_SPEC = {"Service": {"clusterIP"}, "Deployment": {"replicas"}, "StatefulSet": {"replicas"}}
HELMS_OWN = {"app.kubernetes.io/managed-by", "meta.helm.sh/release-name", "meta.helm.sh/release-namespace"}
# What autoscalers can scale.
SCALED = ("archway-gateway", "archway-worker-shared", "archway-indexer-shared")
# Seconds within which the double is ready; a command that hangs ends with a message.
PATIENCE = 120
# Concurrent life cycles.
AT_ONCE = 6


class Release:
    """A release of the chart in a double, managed by one Helm."""

    def __init__(self, helm, chart, version, folder):
        self.helm, self.chart, self.folder = helm, chart, pathlib.Path(folder)
        self.server = Server(version)
        self.expected = set()
        server = {"server": self.server.url}
        context = {"cluster": "double", "user": "double", "namespace": NAMESPACE}
        config = {"apiVersion": "v1", "kind": "Config", "current-context": "double"}
        config["clusters"] = [{"name": "double", "cluster": server}]
        config["users"] = [{"name": "double", "user": {}}]
        config["contexts"] = [{"name": "double", "context": context}]
        (self.folder / "kubeconfig").write_text(yaml.safe_dump(config))
        self.server.cluster.create(kinds.find("", "v1", "namespaces"), None, {"metadata": {"name": NAMESPACE}})

    def run(self, *arguments, fails=False):
        """The output of Helm, or its error. A command with an unexpected outcome ends the check."""
        command = [self.helm, *arguments, "--namespace", NAMESPACE]
        environment = {"KUBECONFIG": str(self.folder / "kubeconfig"), "HOME": str(self.folder), "PATH": ""}
        ended = subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=2 * PATIENCE, check=False
        )
        if (ended.returncode != 0) != fails:
            shown = " ".join(map(str, command))
            raise SystemExit(f"{shown}\nended with {ended.returncode}: {ended.stdout[-2000:]}{ended.stderr[-4000:]}")
        return ended.stderr if fails else ended.stdout

    def deploy(self, verb, case, *arguments, fails=False):
        values = self.chart / "ci" / f"{case}-values.yaml"
        waiting = ["--wait", "--wait-for-jobs", *(arguments or ["--timeout", f"{PATIENCE}s"])]
        return self.run(verb, RELEASE, str(self.chart), "--values", str(values), *waiting, fails=fails)

    def expect(self, case):
        """Creates what a case's values expect to exist, with the keys that pods use."""
        values = self.chart / "ci" / f"{case}-values.yaml"
        said = set(leaves(yaml.safe_load(values.read_text()) or {}))
        documents = parse(self.run("template", RELEASE, str(self.chart), "--values", str(values)))
        made = {(it["kind"], it["metadata"]["name"]) for it in documents}
        for document in documents:
            pod = (template(document) or {}).get("spec") or {}
            for kind, name, keys in references.named(pod) if pod else ():
                if (kind.name, name) in made:
                    continue
                if name not in said:
                    raise SystemExit(f"{case}: {title(document)} needs {kind.name} {name}, which nobody makes")
                self.provide(kind, name, keys)

    def provide(self, kind, name, keys):
        cluster = self.server.cluster
        self.expected.add((kind, NAMESPACE, name))
        with contextlib.suppress(ApiError):
            cluster.create(kind, NAMESPACE, premade(kind, name))
        if keys:
            old = cluster.get(kind, NAMESPACE, name)
            data = {key: base64.b64encode(b"value").decode() for key in keys}
            cluster.replace(kind, NAMESPACE, name, {**old, "data": {**(old.get("data") or {}), **data}})

    def holds(self):
        """Checks that the cluster contains what the release's manifest states, and nothing that it no
        longer states."""
        documents = parse(self.run("get", "manifest", RELEASE))
        complaints, said = [], set()
        for document in documents:
            kind = kinds.by_name(document["apiVersion"], document["kind"])
            key = (kind, NAMESPACE, document["metadata"]["name"])
            said.add(key)
            live = self.server.cluster.kept.get(key)
            complaints += [f"{title(document)}: {it}" for it in differences(document, live)]
        for key in self.leftovers() - said:
            complaints.append(f"{key[0].name}/{key[2]} is no longer said and still there")
        if complaints:
            raise SystemExit(f"{self.helm}: the cluster is not as the release says:\n" + "\n".join(complaints))

    def leftovers(self):
        """The objects of the release: without those of others, Helm's records and hooks, those that the
        cluster created, and those that the chart keeps."""
        found = set()
        for key, it in self.server.cluster.kept.items():
            marks = it["metadata"].get("annotations") or {}
            hooked = "helm.sh/hook" in marks or marks.get("helm.sh/resource-policy") == "keep"
            own = it.get("type") == "helm.sh/release.v1" or it["metadata"].get("ownerReferences")
            if key[1] == NAMESPACE and not (hooked or own or key in self.expected):
                found.add(key)
        return found


def premade(kind, name):
    made = {"metadata": {"name": name}}
    if kind == references.CLAIMS:
        size = {"requests": {"storage": "1Gi"}}
        made["spec"] = {"accessModes": ["ReadOnlyMany"], "resources": size}
    return made


def leaves(values):
    """All texts of values."""
    if isinstance(values, dict):
        values = [*values.keys(), *values.values()]
    if not isinstance(values, list):
        return [values] if isinstance(values, str) else []
    return [text for value in values for text in leaves(value)]


def differences(document, live):
    """The differences between a live object and a document."""
    if live is None:
        return ["is not there"]
    wanted = dict(document)
    plain = wanted.pop("stringData", None)
    if plain:
        coded = {name: base64.b64encode(value.encode()).decode() for name, value in plain.items()}
        wanted["data"] = {**(wanted.get("data") or {}), **coded}
    found = []
    for part in sorted((set(wanted) | set(live)) - {"metadata", "status"}):
        added = ADDED_SPEC.get(document["kind"], ()) if part == "spec" else ()
        now = live.get(part)
        if added:
            now = {name: value for name, value in now.items() if name in wanted[part] or name not in added}
        if (now or None) != (wanted.get(part) or None):
            found.append(f"{part} is {now}, not {wanted.get(part)}")
    for part in ("labels", "annotations"):
        said, now = document["metadata"].get(part) or {}, live["metadata"].get(part) or {}
        left = {name: value for name, value in now.items() if name in said or name not in HELMS_OWN}
        if left != said:
            found.append(f"{part} are {left}, not {said}")
    return found


def life(installer, helm, chart, version, case):
    """One life cycle: from the first values to a case's and back, to the end. Returns whether it had a
    test."""
    with tempfile.TemporaryDirectory() as folder:
        release = Release(installer, chart, version, folder)
        release.expect(FIRST)
        release.deploy("install", FIRST)
        release.holds()
        release.helm = helm
        release.expect(case)
        release.deploy("upgrade", case)
        release.holds()
        tested = release.run("test", RELEASE, "--logs", "--timeout", f"{PATIENCE}s")
        release.run("rollback", RELEASE, "1", "--wait", "--timeout", f"{PATIENCE}s")
        release.holds()
        release.run("uninstall", RELEASE, "--wait", "--timeout", f"{PATIENCE}s")
        left = [f"{key[0].name}/{key[2]}" for key in release.leftovers()]
        if left:
            raise SystemExit(f"{helm}: an uninstall leaves {', '.join(sorted(left))}")
        return "Succeeded" in tested


def scaled(helm, chart, version, case, by_server):
    """A release that gets an autoscaler keeps its number of pods. On the way back, a Helm with server-side
    apply must be told to take the number over from the autoscaler."""
    with tempfile.TemporaryDirectory() as folder:
        release = Release(helm, chart, version, folder)
        release.expect(case)
        indexers = ["--timeout", f"{PATIENCE}s", "--set", "worker.indexer.enabled=true"]
        release.deploy("install", case, *indexers)
        cluster, kind = release.server.cluster, kinds.by_name("apps/v1", "Deployment")
        for number, name in enumerate(SCALED):
            cluster.scale(kind, NAMESPACE, name, 5 + number)
        wanted = [f"{role}.autoscaling.enabled=true" for role in ("gateway", "worker", "worker.indexer")]
        on = [*indexers, "--set", ",".join(wanted)]
        for _ in range(2):  # the autoscalers' beginning, and an upgrade under them
            release.deploy("upgrade", case, *on)
            release.holds()
            counts = [cluster.get(kind, NAMESPACE, name)["spec"]["replicas"] for name in SCALED]
            if counts != [5, 6, 7]:
                raise SystemExit(f"{helm}: of 5, 6 and 7 pods an upgrade under autoscalers leaves {counts}")
        waiting, forced = ["--wait", "--timeout", f"{PATIENCE}s"], []
        if by_server:
            said = release.run("rollback", RELEASE, "1", *waiting, fails=True)
            if ".spec.replicas" not in said:
                raise SystemExit(f"{helm}: a rollback under autoscalers fails for another reason: {said}")
            # The rollback stopped, and no later revision would remove the autoscalers: go forward once
            # more.
            release.run("rollback", RELEASE, "3", *waiting)
            forced = ["--force-conflicts"]
        release.run("rollback", RELEASE, "1", *waiting, *forced)
        release.holds()


def stillborn(helm, chart, version, case):
    """Without the objects that its values expect, a release is not ready. This shows that the double can
    refuse."""
    with tempfile.TemporaryDirectory() as folder:
        release = Release(helm, chart, version, folder)
        release.deploy("install", case, "--timeout", "3s", fails=True)


def outdated(helm, chart, version, case):
    """A cluster older than the oldest is refused before anything is created."""
    major, minor = version.split(".")
    with tempfile.TemporaryDirectory() as folder:
        release = Release(helm, chart, f"{major}.{int(minor) - 1}", folder)
        said = release.deploy("install", case, fails=True)
        if "kubeVersion" not in said or release.leftovers():
            raise SystemExit(f"{helm}: a cluster that is too old is not refused at once: {said}")


def main():
    chart, (helm, other) = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    names = sorted(it.name.removesuffix("-values.yaml") for it in (chart / "ci").glob("*-values.yaml"))
    newest, oldest = schemas.newest(), schemas.oldest(chart)
    # Helm mostly waits, so several life cycles at once take little longer than one.
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        lives = [pool.submit(life, other, other, chart, oldest, LARGEST)]
        # Users of the older Helm will have the newer one later, with the same release.
        lives.append(pool.submit(life, other, helm, chart, newest, LARGEST))
        lives += [pool.submit(life, helm, helm, chart, newest, name) for name in names]
        lives += [pool.submit(scaled, it, chart, newest, FIRST, it is helm) for it in (helm, other)]
        lives.append(pool.submit(stillborn, helm, chart, newest, FIRST))
        lives.append(pool.submit(outdated, helm, chart, oldest, FIRST))
        failures = [failure for it in lives if (failure := it.exception())]
    if failures:
        raise SystemExit("\n".join(map(str, failures)))
    if not any(it.result() for it in lives):
        raise SystemExit("no set of values has a test: give one in ci/ a tenant with a key")
    print(f"{len(names)} sets of values: installed, upgraded, tested, rolled back, uninstalled")


if __name__ == "__main__":
    main()
