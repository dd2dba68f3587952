"""A double of Kubernetes' API for the pages' helm and kubectl: cluster.py ROOT KUBECONFIG.

Writes the file by which both find it, says so by one line, and goes on until its input is closed. Where
a stage names its database (`DOCS_…`), commands of administration are run by the built binary, with
what their pods name.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

root, kubeconfig = map(pathlib.Path, sys.argv[1:])
sys.path.insert(0, str(root / "tests" / "chart"))

from cluster.server import Server  # noqa: E402

# What the stage has in place of the Secrets of a pod.
OWN = {"ARCHWAY_MIGRATE_DATABASE_URL": "DOCS_OWNER_URL", "ARCHWAY_SECRET_FILE": "DOCS_SECRET_FILE"}
ADMIN_PORT = re.compile(r"http://10\.[0-9.]+:9090")
# Substitutions of a cluster in arguments: variables, and $ for $$.
REFERENCE = re.compile(r"\$(?:\$|\(([-._a-zA-Z0-9]+)\))")
# Longer than any command of a page takes, in seconds.
PATIENCE = 25


def administer(pod):
    """How a command of administration ended, and what it said; nothing of other pods."""
    if pod["metadata"]["labels"].get("app.kubernetes.io/component") != "admin":
        return None
    container = pod["spec"]["containers"][0]
    told = {it["name"]: it.get("value", "") for it in container["env"]}
    urls = ADMIN_PORT.sub(os.environ["DOCS_GATEWAY_ADMIN"], told.get("ARCHWAY_ADMIN_URLS", ""))
    # All gateways are the stage's only one.
    given = {"ARCHWAY_ADMIN_URLS": ",".join(dict.fromkeys(urls.split(",")))} if urls else {}
    given |= {name: os.environ[own] for name, own in OWN.items() if name in told}
    arguments = [REFERENCE.sub(lambda it: told[it[1]] if it[1] else "$", arg) for arg in container["args"]]
    command = [os.environ["DOCS_ARCHWAY"], *arguments]
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    ended = subprocess.run(command, env=given, timeout=PATIENCE, check=False, **both)
    return ended.returncode, ended.stdout


server = Server("1.37")
if "DOCS_OWNER_URL" in os.environ:
    server.cluster.run = administer
context = {"cluster": "double", "user": "double"}
config = {"apiVersion": "v1", "kind": "Config", "current-context": "double"}
config["clusters"] = [{"name": "double", "cluster": {"server": server.url}}]
config["users"] = [{"name": "double", "user": {}}]
config["contexts"] = [{"name": "double", "context": context}]
kubeconfig.write_text(json.dumps(config))
print("there", flush=True)
sys.stdin.read()
