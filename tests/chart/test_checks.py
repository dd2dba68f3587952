"""Tests that the checks of this folder find what they look for: each is given a wrong document."""

import copy
import unittest

import yaml

import restricted
import schemas
from manifests import parse

POD = yaml.safe_load("""
apiVersion: v1
kind: Pod
metadata: {name: good}
spec:
  securityContext: {runAsNonRoot: true, runAsUser: 65532, seccompProfile: {type: RuntimeDefault}}
  volumes: [{name: files, configMap: {name: files}}]
  containers:
    - name: main
      image: example.com/main:1
      securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
""")


def changed(change):
    pod = copy.deepcopy(POD)
    change(pod["spec"], pod["spec"]["containers"][0])
    return pod


def as_group(group):
    """The container, privileged, as one of another group."""
    bad = {**copy.deepcopy(POD["spec"]["containers"][0]), "name": "other"}
    bad["securityContext"]["privileged"] = True
    return lambda pod, _: pod.update({group: [bad]})


def secure(pod, **fields):
    pod["securityContext"].update(fields)


# A change, and words of the message about it.
UNRESTRICTED = [
    (lambda pod, it: pod.update(hostNetwork=True), "hostNetwork"),
    (lambda pod, it: pod.update(hostPID=True), "hostPID"),
    (lambda pod, it: pod.update(hostIPC=True), "hostIPC"),
    (lambda pod, it: pod.update(os={"name": "windows"}), "Linux"),
    (lambda pod, it: pod["volumes"].append({"name": "host", "hostPath": {"path": "/"}}), "hostPath"),
    (lambda pod, it: pod["volumes"].append({"name": "nfs", "nfs": {"server": "x", "path": "/"}}), "nfs"),
    (lambda pod, it: secure(pod, sysctls=[{"name": "kernel.msgmax", "value": "1"}]), "kernel.msgmax"),
    (lambda pod, it: secure(pod, runAsUser=0), "root"),
    (lambda pod, it: secure(pod, runAsNonRoot=None), "runAsNonRoot"),
    (lambda pod, it: secure(it, runAsNonRoot=False), "may run as root"),
    (lambda pod, it: secure(it, runAsUser=0), "root"),
    (lambda pod, it: secure(pod, seccompProfile=None), "seccomp"),
    (lambda pod, it: secure(it, seccompProfile={"type": "Unconfined"}), "seccomp"),
    (lambda pod, it: secure(pod, appArmorProfile={"type": "Unconfined"}), "AppArmor"),
    (lambda pod, it: secure(pod, seLinuxOptions={"user": "root"}), "SELinux"),
    (lambda pod, it: secure(pod, windowsOptions={"hostProcess": True}), "hostProcess"),
    (lambda pod, it: secure(it, privileged=True), "privileged"),
    (lambda pod, it: secure(it, allowPrivilegeEscalation=True), "allowPrivilegeEscalation"),
    (lambda pod, it: secure(it, allowPrivilegeEscalation=None), "allowPrivilegeEscalation"),
    (lambda pod, it: secure(it, capabilities={"drop": ["NET_RAW"]}), "drop ALL"),
    (lambda pod, it: secure(it, capabilities={"drop": ["ALL"], "add": ["SYS_ADMIN"]}), "adds"),
    (lambda pod, it: secure(it, procMount="Unmasked"), "procMount"),
    (lambda pod, it: it.update(ports=[{"containerPort": 1, "hostPort": 1}]), "host's port"),
    (lambda pod, it: it.update(livenessProbe={"httpGet": {"host": "a", "port": 1}}), "another host"),
    (lambda pod, it: it.update(lifecycle={"preStop": {"tcpSocket": {"host": "a"}}}), "another host"),
    (as_group("initContainers"), "other: is privileged"),
    (as_group("ephemeralContainers"), "other: is privileged"),
]


class Checks(unittest.TestCase):
    def test_a_restricted_pod_is_let_through(self):
        self.assertEqual(restricted.violations(POD), [])

    def test_whatever_the_restricted_profile_forbids_is_found(self):
        for change, says in UNRESTRICTED:
            with self.subTest(says):
                self.assertIn(says, "\n".join(restricted.violations(changed(change))))

    def test_a_pod_is_found_wherever_it_is_held(self):
        bad = changed(lambda pod, it: pod.update(hostPID=True))
        for kind in ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job"):
            holder = {"kind": kind, "metadata": {"name": "x"}, "spec": {"template": bad}}
            self.assertTrue(restricted.violations(holder), kind)
        job = {"spec": {"template": bad}}
        holder = {"kind": "CronJob", "metadata": {"name": "x"}, "spec": {"jobTemplate": job}}
        self.assertTrue(restricted.violations(holder))

    def test_unknown_fields_and_kinds_are_refused_in_each_version(self):
        for version in ("1.31", schemas.newest()):
            self.assertEqual(schemas.violations(POD, version), [])
            misspelt = changed(lambda pod, it: it.update(imagePullpolicy="Always"))
            self.assertIn("imagePullpolicy", str(schemas.violations(misspelt, version)))
            for other in ("example.com/v1", "policy/v1beta1"):
                unknown = {**POD, "apiVersion": other}
                self.assertIn("unknown", str(schemas.violations(unknown, version)))

    def test_a_kind_of_others_is_held_against_our_schema(self):
        rule = {"alert": "A", "expr": "up", "for": "5m"}
        rules = {"groups": [{"name": "a", "rules": [rule]}]}
        document = {"apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule"}
        document |= {"metadata": {"name": "a"}, "spec": rules}
        self.assertEqual(schemas.violations(document, "1.31"), [])
        rule["for"] = "5 minutes"
        self.assertIn("5 minutes", str(schemas.violations(document, "1.31")))

    def test_a_key_that_stands_twice_is_refused_and_a_date_stays_text(self):
        with self.assertRaises(yaml.YAMLError):
            parse("a: {b: 1, b: 2}")
        self.assertEqual(parse("---\n---\na: 2026-11-23\n"), [{"a": "2026-11-23"}])


if __name__ == "__main__":
    unittest.main()
