"""Tests that the double of a cluster refuses what a cluster refuses, and merges as a cluster does."""

import copy
import unittest

import lifecycle
import schemas
from cluster import kinds, patches, pods, references, selectors, wire
from cluster.errors import ApiError
from cluster.objects import Cluster
from test_checks import POD

DEPLOYMENT = kinds.find("apps", "v1", "deployments")
JOB = kinds.find("batch", "v1", "jobs")
LABELS = {"app": "main"}


def workload(**pod):
    """A Deployment's document, with changes to its pods."""
    made = {"metadata": {"labels": LABELS}, "spec": {**copy.deepcopy(POD["spec"]), "volumes": [], **pod}}
    spec = {"selector": {"matchLabels": LABELS}, "template": made}
    return {"metadata": {"name": "main"}, "spec": spec}


def job(url):
    made = copy.deepcopy(POD["spec"]) | {"volumes": [], "restartPolicy": "Never"}
    made["containers"][0]["env"] = [{"name": "URL", "value": url}]
    return {"metadata": {"name": "call"}, "spec": {"template": {"spec": made}}}


class Double(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(schemas.newest())

    def create(self, kind, document):
        return self.cluster.create(kind, "default", document)

    def status(self, kind, name):
        return self.cluster.get(kind, "default", name)["status"]

    def refused(self, ask, code, says):
        with self.assertRaises(ApiError) as refusal:
            ask()
        self.assertEqual(refusal.exception.code, code)
        self.assertIn(says, refusal.exception.message)

    def test_a_workload_is_ready_once_all_that_its_pods_name_is_there(self):
        secret = {"name": "files", "secret": {"secretName": "keys", "items": [{"key": "a", "path": "a"}]}}
        self.create(DEPLOYMENT, workload(volumes=[secret]))
        self.assertEqual(self.status(DEPLOYMENT, "main")["readyReplicas"], 0)
        self.create(references.SECRETS, {"metadata": {"name": "keys"}, "stringData": {"b": "1"}})
        self.assertEqual(self.status(DEPLOYMENT, "main")["readyReplicas"], 0)
        keys = {"metadata": {"name": "keys"}, "stringData": {"a": "1"}}
        self.cluster.replace(references.SECRETS, "default", "keys", keys)
        self.assertEqual(self.status(DEPLOYMENT, "main")["readyReplicas"], 1)

    def test_an_autoscalers_number_is_changed_on_the_server_by_force_alone(self):
        self.create(DEPLOYMENT, workload())
        self.cluster.scale(DEPLOYMENT, "default", "main", 5)
        said = workload()
        said["spec"]["replicas"] = 5
        self.cluster.apply(DEPLOYMENT, "default", "main", said)
        said["spec"]["replicas"] = 2
        self.refused(lambda: self.cluster.apply(DEPLOYMENT, "default", "main", said), 409, ".spec.replicas")
        self.cluster.apply(DEPLOYMENT, "default", "main", said, force=True)
        self.assertEqual(self.cluster.get(DEPLOYMENT, "default", "main")["spec"]["replicas"], 2)

    def test_a_job_fails_unless_its_addresses_lead_to_pods(self):
        self.create(JOB, job("http://main:80/mcp"))
        self.assertEqual(self.status(JOB, "call")["conditions"][0]["type"], "Failed")
        self.cluster.delete(JOB, "default", "call")
        self.create(DEPLOYMENT, workload())
        service = {"selector": LABELS, "ports": [{"port": 80}]}
        self.create(references.SERVICES, {"metadata": {"name": "main"}, "spec": service})
        for url, ends in (("http://main/mcp", "Complete"), ("http://main:81/mcp", "Failed")):
            self.create(JOB, job(url))
            self.assertEqual(self.status(JOB, "call")["conditions"][0]["type"], ends, url)
            self.cluster.delete(JOB, "default", "call")

    def test_what_a_cluster_refuses_is_refused(self):
        self.create(DEPLOYMENT, workload())
        self.refused(lambda: self.create(DEPLOYMENT, workload()), 409, "already exists")
        privileged = workload(hostNetwork=True) | {"metadata": {"name": "other"}}
        self.refused(lambda: self.create(DEPLOYMENT, privileged), 403, "hostNetwork")
        misspelt = workload(hostnetwork=True) | {"metadata": {"name": "other"}}
        self.refused(lambda: self.create(DEPLOYMENT, misspelt), 422, "hostnetwork")
        named = workload() | {"metadata": {"name": "Other"}}
        self.refused(lambda: self.create(DEPLOYMENT, named), 422, "no name")
        other = workload()
        other["spec"]["selector"]["matchLabels"] = {"app": "other"}
        self.refused(lambda: self.cluster.replace(DEPLOYMENT, "default", "main", other), 422, "immutable")
        self.refused(lambda: self.cluster.create(DEPLOYMENT, "nowhere", workload()), 404, "nowhere")

    def test_what_an_object_owned_goes_with_it(self):
        self.create(DEPLOYMENT, workload())
        sets = kinds.find("apps", "v1", "replicasets")
        self.assertEqual(len(self.cluster.list(sets, "default")), 1)
        self.cluster.delete(DEPLOYMENT, "default", "main")
        self.assertEqual(self.cluster.list(sets, "default"), [])

    def test_a_deployment_has_the_pods_of_its_newest_template(self):
        self.create(DEPLOYMENT, workload())
        changed = workload(terminationGracePeriodSeconds=7)
        changed["spec"]["replicas"] = 3
        self.cluster.replace(DEPLOYMENT, "default", "main", changed)
        grace = [it["spec"].get("terminationGracePeriodSeconds") for it in self.cluster.list(pods.PODS, "default")]
        self.assertEqual(grace, [7, 7, 7])

    def test_a_job_ends_as_its_pod_does(self):
        for ended, ends in (((0, b""), "succeeded"), ((3, b""), "failed"), (pods.RUNNING, "active")):
            self.cluster.run = lambda pod, ended=ended: ended
            self.create(JOB, job("http://elsewhere.example.com"))
            self.assertIn(ends, self.status(JOB, "call"))
            self.cluster.delete(JOB, "default", "call")
            self.assertEqual(self.cluster.list(pods.PODS, "default"), [])

    def test_strategic_patches_know_items_by_their_names(self):
        old = {"containers": [{"name": "a", "image": "1"}, {"name": "b", "args": ["x"]}]}
        patch = {
            "$setElementOrder/containers": [{"name": "c"}, {"name": "a"}],
            "containers": [{"name": "a", "image": "2"}, {"name": "c"}, {"$patch": "delete", "name": "b"}],
        }
        new = {"containers": [{"name": "c"}, {"name": "a", "image": "2"}]}
        self.assertEqual(patches.strategic(old, patch), new)
        self.assertEqual(patches.strategic({"args": ["a"], "x": 1}, {"args": ["b"], "x": None}), {"args": ["b"]})

    def test_merge_patches_replace_lists(self):
        old = {"a": {"b": [1, 2], "c": 1}}
        self.assertEqual(patches.merged(old, {"a": {"b": [3], "c": None}}), {"a": {"b": [3]}})

    def test_selectors_choose(self):
        labels = {"a": "1", "b": "2"}
        for selector in ("", "a=1", "a==1,b!=1", "a in (1, 2),b notin (1)", "a,!c"):
            self.assertTrue(selectors.by_labels(labels, selector), selector)
        for selector in ("a=2", "a!=1", "a in (2)", "c", "!a"):
            self.assertFalse(selectors.by_labels(labels, selector), selector)

    def test_protobuf_of_helms_records_is_read(self):
        def field(number, data):
            return bytes([number << 3 | 2, len(data)]) + data

        label = field(11, field(1, b"owner") + field(2, b"helm"))
        secret = field(1, field(1, b"it") + label) + field(2, field(1, b"release") + field(2, b"!")) + field(3, b"t")
        envelope = field(1, field(1, b"v1") + field(2, b"Secret")) + field(2, secret)
        read = wire.parse(wire.MAGIC + envelope)
        self.assertEqual(read["metadata"], {"name": "it", "labels": {"owner": "helm"}})
        self.assertEqual((read["kind"], read["data"], read["type"]), ("Secret", {"release": "IQ=="}, "t"))

    def test_what_differs_from_a_manifest_is_told(self):
        document = {"apiVersion": "apps/v1", "kind": "Deployment", **workload()}
        live = self.create(DEPLOYMENT, document)
        self.assertEqual(lifecycle.differences(document, live), [])
        self.assertEqual(lifecycle.differences(document, None), ["is not there"])
        live["spec"]["template"]["spec"]["containers"][0]["image"] = "other"
        self.assertIn("other", str(lifecycle.differences(document, live)))
        live["metadata"]["labels"] = {"stale": "yes"}
        self.assertIn("stale", str(lifecycle.differences(document, live)))


if __name__ == "__main__":
    unittest.main()
