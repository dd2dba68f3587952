"""Tests that deploy/kubernetes/archway-admin runs a command in a cluster as it would run locally."""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import threading
import unittest

import yaml

import schemas
from cluster import kinds, pods, references
from cluster.server import Server

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "deploy/kubernetes/archway-admin"
HELM = os.environ["ARCHWAY_TEST_HELM"]
NAMESPACE = "archway"
JOBS = kinds.find("batch", "v1", "jobs")
# Seconds after which a command counts as hanging.
PATIENCE = 60
# Arguments that shells, JSON or a cluster's substitution could change.
ARGUMENTS = [
    "memory", "erase", "two  words", "", " ", "-n", "--", "it's", '"quoted"', "back\\slash\\n", "$HOME", "$(id)",
    "$(ARCHWAY_SECRET_FILE)", "$$", "$$(A)", "`id`", "*", "a;b|c&d", "{{x}}", "naïve — ✓", "%s%n", "\\", '\\"', "a,b", "]}",
]
# What a cluster substitutes:
# https://kubernetes.io/docs/tasks/inject-data-application/define-command-argument-container/
REFERENCE = re.compile(r"\$(\$|\([-._a-zA-Z0-9]+\))")


def filled(argument):
    return REFERENCE.sub(lambda found: "$" if found[1] == "$" else "(a variable)", argument)


class Administration(unittest.TestCase):
    def setUp(self):
        self.server = Server(schemas.newest())
        self.cluster = self.server.cluster
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.addCleanup(self.server.shutdown)
        self.ran, self.ends = [], (0, b"it ran\n")
        self.cluster.run = self.run_pod
        self.cluster.create(kinds.find("", "v1", "namespaces"), None, {"metadata": {"name": NAMESPACE}})
        self.make_kubeconfig()
        values = ROOT / "helm/archway/ci/minimal-values.yaml"
        rendered = subprocess.run(
            [HELM, "template", "archway", ROOT / "helm/archway", "--namespace", NAMESPACE, "--values", values],
            capture_output=True, text=True, check=True, timeout=PATIENCE,
        )
        for document in yaml.load_all(rendered.stdout, Loader=yaml.CSafeLoader):
            if document and document["kind"] in ("CronJob", "Deployment", "ServiceAccount"):
                kind = kinds.by_name(document["apiVersion"], document["kind"])
                self.cluster.create(kind, NAMESPACE, document)

    def make_kubeconfig(self):
        kubectl = pathlib.Path(HELM).with_name("kubectl")
        (self.folder / "bin").mkdir()
        (self.folder / "bin/kubectl").symlink_to(kubectl)
        context = {"cluster": "double", "user": "double"}
        config = {"apiVersion": "v1", "kind": "Config", "current-context": "double"}
        config["clusters"] = [{"name": "double", "cluster": {"server": self.server.url}}]
        config["users"] = [{"name": "double", "user": {}}]
        config["contexts"] = [{"name": "double", "context": context}]
        (self.folder / "kubeconfig").write_text(yaml.safe_dump(config))

    def run_pod(self, pod):
        container = pod["spec"]["containers"][0]
        self.grace = pod["spec"].get("terminationGracePeriodSeconds")
        self.ran.append(([filled(it) for it in container["args"]], container["env"]))
        return self.ends

    def provide(self):
        """The Secrets that a release's operator creates."""
        for name, keys in (
            ("archway-credentials", ("secret", "pass.key", "pass.pub")),
            ("archway-database", ("migrate-url", "gateway-url", "worker-url")),
        ):
            secret = {"metadata": {"name": name}, "stringData": dict.fromkeys(keys, "value")}
            self.cluster.create(references.SECRETS, NAMESPACE, secret)

    def start(self, *arguments, shell="sh", **more):
        environment = {"KUBECONFIG": str(self.folder / "kubeconfig"), "HOME": str(self.folder), **more}
        environment["PATH"] = f"{self.folder}/bin:/usr/bin:/bin"
        asked = [shell, SCRIPT, "--namespace", NAMESPACE, *arguments]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(asked, env=environment, text=True, **pipes)

    def ask(self, *arguments, **more):
        """Exit code, stdout and stderr of a command. Fails if a Job is left."""
        with self.start(*arguments, **more) as process:
            said, complained = process.communicate(timeout=PATIENCE)
        self.assertEqual(self.cluster.list(JOBS, NAMESPACE), [])
        return process.returncode, said, complained

    def test_a_command_gets_its_arguments_as_they_are_and_says_what_it_says(self):
        self.provide()
        for shell in ("sh", "bash"):
            self.ran.clear()
            self.assertEqual(self.ask("--", *ARGUMENTS, shell=shell), (0, "it ran\n", ""))
            self.assertEqual([arguments for arguments, _ in self.ran], [ARGUMENTS])

    def test_it_ends_as_the_command_ended(self):
        self.provide()
        self.ends = (3, b"archway: no tenant acme\n")
        self.assertEqual(self.ask("key", "list", "acme"), (3, "archway: no tenant acme\n", ""))

    def test_status_is_told_of_all_gateways_and_nothing_else_is(self):
        self.provide()
        gateways = [it for it in self.cluster.list(pods.PODS, NAMESPACE) if "gateway" in it["metadata"]["name"]]
        urls = ",".join(f"http://{it['status']['podIP']}:9090" for it in gateways)
        self.assertEqual(self.ask("status", "--json")[0], 0)
        self.assertEqual(self.ask("tenant", "list")[0], 0)
        (_, asked), (_, other) = self.ran
        self.assertEqual(len(gateways), 2)
        self.assertEqual(asked, [*other, {"name": "ARCHWAY_ADMIN_URLS", "value": urls}])

    def test_a_command_that_can_not_start_says_why_and_never_starts_later(self):
        code, said, complained = self.ask("tenant", "list", ARCHWAY_ADMIN_START="0")
        self.assertEqual((code, said), (125, ""))
        self.assertIn("did not start: CreateContainerConfigError Secret archway-", complained)
        self.provide()
        self.assertEqual(self.ran, [])

    def test_interrupted_it_takes_the_command_with_it(self):
        self.provide()
        self.ends = pods.RUNNING
        follows = threading.Event()
        seen = self.server.RequestHandlerClass.log
        self.server.RequestHandlerClass.log = lambda handler, *asked: (follows.set(), seen(handler, *asked))[1]
        with contextlib.ExitStack() as stack:
            stack.callback(setattr, self.server.RequestHandlerClass, "log", seen)
            process = stack.enter_context(self.start("index", "run", "acme"))
            self.assertTrue(follows.wait(PATIENCE))
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 143)
        self.assertEqual(self.grace, 1)
        self.assertEqual(self.cluster.list(JOBS, NAMESPACE), [])

    def test_what_it_can_not_do_it_refuses_before_there_is_a_job(self):
        self.provide()
        for arguments, says in (
            ([], "name a command"),
            (["--frob", "status"], "there is no option --frob"),
            (["--release"], "--release needs a name"),
            (["--release", "other", "status"], "release other has no CronJob for commands"),
            (["key", "issue", "acme"], "prints a secret"),
            (["--", "key", "rotate", "bu6mltErMopy"], "prints a secret"),
            (["--", "--log", "warn", "key", "issue", "acme"], "prints a secret"),
            (["--", "key", "--log", "warn", "issue", "acme"], "prints a secret"),
            (["tenant", "create", "acme", "--name", "two\nlines"], "a line break"),
        ):
            code, said, complained = self.ask(*arguments)
            self.assertEqual((code, said), (125, ""), arguments)
            self.assertIn(says, complained)
        self.assertEqual(self.ran, [])
        self.assertFalse([it for it in self.server.requests if "POST" in it])


if __name__ == "__main__":
    unittest.main()
