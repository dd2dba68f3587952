"""Tests of pools: chart and database agree on the pool of each tenant, and installing warns about too many clones
in one pod. They render the chart with the Helm of ARCHWAY_TEST_HELM.
"""

import os
import pathlib
import subprocess
import tempfile
import unittest

import yaml

CHART = pathlib.Path(__file__).resolve().parents[2] / "helm/archway"
SIDECARS = CHART / "ci/sidecars-values.yaml"
POOL = "archway.io/pool"


def helm(*arguments):
    command = [os.environ["ARCHWAY_TEST_HELM"], *map(str, arguments), "--namespace", "archway"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


def cloning_pools(documents):
    """The pool whose workers clone a tenant's repositories, by tenant."""
    found = {}
    for it in documents:
        if it["kind"] != "Deployment" or it["metadata"]["labels"].get("app.kubernetes.io/component") != "worker":
            continue
        for container in it["spec"]["template"]["spec"].get("initContainers", []):
            links = [arg for arg in container["args"] if arg.startswith("--link=/repos/")]
            found.update({link.split("/")[2]: it["metadata"]["labels"][POOL] for link in links})
    return found


class Pools(unittest.TestCase):
    def test_calls_go_to_the_pool_that_clones(self):
        documents = [it for it in yaml.safe_load_all(helm("template", "archway", CHART, "--values", SIDECARS)) if it]
        (file,) = [it["data"]["tenants.yaml"] for it in documents if "tenants.yaml" in (it.get("data") or {})]
        assigned = {tenant["slug"]: tenant.get("pool") for tenant in yaml.safe_load(file)["tenants"]}
        self.assertEqual(assigned, cloning_pools(documents))
        self.assertEqual(assigned, {"acme": "shared", "zeta": "gold"})

    def notes(self, count, mode):
        sources = {f"site-{number}": {"url": "https://git.example.com/a.git"} for number in range(count)}
        values = {"repositories": {"mode": mode, "sources": {"many": sources}}}
        if mode == "syncer":
            values["repositories"]["claim"] = {"create": True}
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            yaml.safe_dump(values, file)
            file.flush()
            minimal = CHART / "ci/minimal-values.yaml"
            arguments = ("--dry-run=client", "--values", minimal, "--values", file.name)
            return helm("install", "archway", CHART, *arguments).partition("NOTES:")[2]

    def test_more_than_ten_clones_in_one_pod_are_warned_about(self):
        self.assertIn("clones 11 repositories itself", self.notes(11, "sidecar"))
        for count, mode in ((10, "sidecar"), (11, "syncer")):
            notes = self.notes(count, mode)
            self.assertIn("When the pods are ready", notes)
            self.assertNotIn("WARNING: each worker", notes)


if __name__ == "__main__":
    unittest.main()
