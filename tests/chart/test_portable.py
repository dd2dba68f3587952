"""Tests that portable.py finds what only some clusters do: each rule is given a document that breaks it,
and one that does not."""

import unittest

import yaml

import portable

# What breaks a rule, by words of the message, and what satisfies it.
WORKER = """{kind: Deployment, spec: {template: {
    metadata: {labels: {app.kubernetes.io/component: worker},
        annotations: {cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes: "a,%s"}},
    spec: {volumes: [{name: a, emptyDir: {}}, {name: b, emptyDir: {}}, {name: c, emptyDir: {medium: Memory}}]}}}}"""
BROKEN = [
    (
        "refuses /.well-known as Prefix",
        "{kind: Ingress, spec: {rules: [{http: {paths: [{path: /.well-known, pathType: Prefix}]}}]}}",
        "{kind: Ingress, spec: {rules: [{http: {paths: [{path: /.well-known, pathType: ImplementationSpecific}]}}]}}",
    ),
    (
        "opens all ports in place of admin",
        "{kind: NetworkPolicy, spec: {ingress: [{ports: [{port: 9090}, {port: admin}]}]}}",
        "{kind: NetworkPolicy, spec: {ingress: [{ports: [{port: 9090}]}], egress: [{}]}}",
    ),
    (
        "of a parent chart's other parts, too",
        "{kind: NetworkPolicy, spec: {podSelector: {matchLabels: {app.kubernetes.io/instance: a}}}}",
        "{kind: NetworkPolicy, spec: {podSelector: {matchLabels: {app.kubernetes.io/instance: a, app.kubernetes.io/name: b}}}}",
    ),
    (
        "two volumes of claim a never starts",
        "{kind: Pod, spec: {volumes: [{persistentVolumeClaim: {claimName: a}}, {persistentVolumeClaim: {claimName: a}}]}}",
        "{kind: Pod, spec: {volumes: [{persistentVolumeClaim: {claimName: a}}, {persistentVolumeClaim: {claimName: b}}]}}",
    ),
    (
        "asks for / at port http",
        "{kind: Service, spec: {type: LoadBalancer, ports: [{name: http, appProtocol: http}]}}",
        "{kind: Service, spec: {type: LoadBalancer, ports: [{name: http}]}}",
    ),
    ("for volume b a node is never removed", WORKER % "c", WORKER % "b"),
]


class Rules(unittest.TestCase):
    def test_whatever_only_some_clusters_do_is_found(self):
        for says, bad, good in BROKEN:
            with self.subTest(says):
                self.assertIn(says, "\n".join(portable.violations(yaml.safe_load(bad))))
                self.assertEqual(portable.violations(yaml.safe_load(good)), [])


if __name__ == "__main__":
    unittest.main()
