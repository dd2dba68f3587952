"""Tests of repositories: they are mirrored by the pool that answers their tenant's calls, they come to `archway apply`
as they were written, and their number changes no object. They render the chart with the Helm of ARCHWAY_TEST_HELM.
"""

import os
import pathlib
import subprocess
import tempfile
import unittest

import yaml

CHART = pathlib.Path(__file__).resolve().parents[2] / "helm/archway"
POOL = "archway.io/pool"


def rendered(*arguments):
    command = [os.environ["ARCHWAY_TEST_HELM"], "template", "archway", CHART, "--namespace", "archway", *arguments]
    asked = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=60, check=True)
    return [it for it in yaml.safe_load_all(asked.stdout) if it]


def values_for_ci(name):
    return CHART / f"ci/{name}-values.yaml"


def tenants_file(documents):
    (file,) = [it["data"]["tenants.yaml"] for it in documents if "tenants.yaml" in (it.get("data") or {})]
    return yaml.safe_load(file)["tenants"]


def of_component(documents, component):
    for it in documents:
        if it["kind"] == "Deployment" and it["metadata"]["labels"]["app.kubernetes.io/component"] == component:
            yield it


def sync(deployment):
    """The variables of the container that mirrors in a Deployment's pods, and its mounts."""
    containers = deployment["spec"]["template"]["spec"]["containers"]
    (container,) = [it for it in containers if it["args"] == ["sync"]]
    return {it["name"]: it.get("value") for it in container["env"]}


class Repositories(unittest.TestCase):
    def test_each_pool_mirrors_for_itself(self):
        documents = rendered("--values", values_for_ci("sync"))
        assigned = {tenant["slug"]: tenant["pool"] for tenant in tenants_file(documents)}
        self.assertEqual(assigned, {"acme": "shared", "zeta": "gold"})
        for component, pools in (("worker", {"shared", "gold"}), ("indexer", {"shared"})):
            found = {it["metadata"]["labels"][POOL]: sync(it) for it in of_component(documents, component)}
            self.assertEqual(set(found), pools)
            for pool, variables in found.items():
                self.assertEqual((variables["ARCHWAY_POOL"], variables["ARCHWAY_SYNC_LOCAL"]), (pool, "true"))

    def test_one_deployment_mirrors_for_all_on_a_shared_volume(self):
        documents = rendered("--values", values_for_ci("production"))
        (deployment,) = of_component(documents, "sync")
        variables = sync(deployment)
        self.assertNotIn("ARCHWAY_POOL", variables)
        self.assertEqual(variables["ARCHWAY_SYNC_LOCAL"], "false")
        for worker in of_component(documents, "worker"):
            (container,) = worker["spec"]["template"]["spec"]["containers"]
            self.assertEqual(container["args"], ["worker"])

    def test_tenants_come_to_apply_as_they_were_written(self):
        written = yaml.safe_load(values_for_ci("sync").read_text())["tenants"]
        passed = tenants_file(rendered("--values", values_for_ci("sync")))
        for ours, theirs in zip(written, passed, strict=True):
            for part in ("connections", "projects"):
                self.assertEqual(ours.get(part), theirs.get(part))

    def test_a_limit_of_the_nodes_disk_is_known_in_bytes(self):
        for size, known in (("20Gi", 20 << 30), ("1.5Ti", 3 << 39), ("5G", 5 * 10**9), ("1000", 1000)):
            documents = rendered(
                "--values", values_for_ci("minimal"), "--set-string", f"repositories.sync.volume.size={size}"
            )
            for worker in of_component(documents, "worker"):
                self.assertEqual(sync(worker)["ARCHWAY_VOLUME_BYTES"], str(known))

    def objects(self, mode, count):
        """Objects and containers of an installation with that many repositories."""
        projects = [
            {"slug": f"p{number}", "git": {"url": f"https://git.example.com/acme/p{number}.git"}} for number in range(count)
        ]
        values = {"tenants": [{"slug": "acme", "projects": projects}], "repositories": {"mode": mode}}
        if mode == "shared":
            values["repositories"]["claim"] = {"create": True}
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            yaml.safe_dump(values, file)
            file.flush()
            documents = rendered("--values", values_for_ci("minimal"), "--values", file.name)
        self.assertEqual(len(tenants_file(documents)[0]["projects"]), count)
        return [it for it in documents if it["kind"] != "ConfigMap"]

    def test_300_repositories_render_to_the_objects_of_one(self):
        for mode in ("sync", "shared"):
            self.assertEqual(self.objects(mode, 1), self.objects(mode, 300))


if __name__ == "__main__":
    unittest.main()
