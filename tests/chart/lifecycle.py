"""Helm installs the chart, upgrades it, tests it, rolls it back and takes it away again.

Usage: lifecycle.py CHART HELM OTHER. The cluster is a double (`cluster`), of the newest version that
the chart is for and of the oldest. After each step it must hold what the release says, no less and
no more. What values expect to be there already (Secrets of others, claims) is made first.
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
# What a release begins with and is rolled back to; in between it is upgraded to another's values.
FIRST = "minimal"
# What the other Helm upgrades to: the values that make most.
LARGEST = "production"
# What the server adds, and Helm's own marks, stand in no manifest.
ADDED_SPEC = {"Service": {"clusterIP"}, "Deployment": {"replicas"}, "StatefulSet": {"replicas"}}
HELMS_OWN = {"app.kubernetes.io/managed-by", "meta.helm.sh/release-name", "meta.helm.sh/release-namespace"}
# What autoscalers can count.
SCALED = ("archway-gateway", "archway-worker-shared", "archway-indexer-shared")
# Seconds in which the double can well be ready; a command that hangs ends with a message.
PATIENCE = 120
# Lives at one time.
AT_ONCE = 6


class Release:
    """A release of the chart in a double, by one Helm."""

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
        """What Helm prints, or why it fails; a command that does not end as it should ends the check."""
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
        """Makes what a case's values say that others have made, with the keys that pods ask for."""
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
        """The cluster holds what the release's manifest says, and nothing that it no longer says."""
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
        """What is there for the release: not what others made, nor Helm's records and hooks, nor what
        the cluster made itself, nor what the chart says that it keeps."""
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
    """In what a live object is not what a document says."""
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
    """A release, from the first values through a case's and back, to its end. Whether it had a test."""
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
    """A release that gets an autoscaler keeps the pods that it has. Back before it, a Helm that applies by the server has to be told to
    take their number from the autoscaler."""
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
            # It broke off, and no revision after it would take the autoscalers away: forward once more.
            release.run("rollback", RELEASE, "3", *waiting)
            forced = ["--force-conflicts"]
        release.run("rollback", RELEASE, "1", *waiting, *forced)
        release.holds()


def stillborn(helm, chart, version, case):
    """Without what its values expect, a release is not ready: so the double can say no."""
    with tempfile.TemporaryDirectory() as folder:
        release = Release(helm, chart, version, folder)
        release.deploy("install", case, "--timeout", "3s", fails=True)


def outdated(helm, chart, version, case):
    """A cluster older than the oldest is refused before anything is made."""
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
    # Helm mostly waits, so several lives at once take little longer than one.
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        lives = [pool.submit(life, other, other, chart, oldest, LARGEST)]
        # Who has the older one today has the newer one tomorrow, and the same release.
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
