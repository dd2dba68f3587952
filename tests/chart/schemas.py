"""Checks renders against the schemas of the oldest and the newest Kubernetes that the chart supports.

Usage: schemas.py FOLDER CHART. Strict: an unknown field is an error. A kind outside Kubernetes must be in
`crds.yaml`, whose schemas are our own and cover what we use.
"""

import functools
import json
import pathlib
import re
import sys

import jsonschema
import kubernetes_validate.utils as packaged
import yaml
from referencing import Registry, Resource

from manifests import renders, title

CRDS = pathlib.Path(__file__).with_name("crds.yaml")


class UnknownKind(Exception):
    """Neither Kubernetes nor `crds.yaml` has such a kind."""


def oldest(chart):
    """The oldest version that a chart's kubeVersion accepts."""
    wanted = yaml.safe_load((pathlib.Path(chart) / "Chart.yaml").read_text()).get("kubeVersion", "")
    found = re.fullmatch(r">=\s*(1\.\d+)\.0-0", wanted)
    if not found:
        raise SystemExit(f"kubeVersion of Chart.yaml is {wanted!r}: write it as '>=1.N.0-0'")
    return found[1]


def newest():
    return packaged.major_minor(packaged.latest_version())


def known(version):
    """The version as the package names it; it has all of them or none."""
    for full in packaged.all_versions():
        if packaged.major_minor(full) == version:
            return full
    raise SystemExit(f"kubernetes-validate has no schemas of {version}: pin another one in tests/house.sh")


@functools.cache
def contents(path, version):
    return packaged.schema_contents(f"kubernetes-json-schema/v{known(version)}-local-strict/{path}", version)


@functools.cache
def definitions(version):
    return Resource.from_contents(contents("_definitions.json", version)) @ Registry()


@functools.cache
def validator(api_version, kind, version):
    crd = crds().get((api_version, kind))
    if crd:
        return jsonschema.Draft202012Validator(crd)
    group = re.sub(r"^([^./]*)(?:\.[^/]*)?/", r"\1-", api_version)
    try:
        schema = contents(f"{kind.lower()}-{group}.json", version)
    except FileNotFoundError:
        raise UnknownKind(f"{api_version} {kind} is unknown to {version} and to crds.yaml") from None
    # The file is named by the first part of the group alone.
    named = schema.get("x-kubernetes-group-version-kind", [])
    its = {f"{it['group']}/{it['version']}".lstrip("/") for it in named}
    if api_version not in its:
        raise UnknownKind(f"{api_version} {kind} is unknown to {version}, which has {its}")
    return jsonschema.Draft202012Validator(schema, registry=definitions(version))


@functools.cache
def crds():
    """Schemas of custom kinds, by group, version and kind."""
    found = {}
    for entry in yaml.safe_load(CRDS.read_text()):
        schema = {
            "type": "object",
            "required": ["apiVersion", "kind", "metadata", "spec"],
            "properties": {
                "apiVersion": {"const": entry["apiVersion"]},
                "kind": {"const": entry["kind"]},
                "metadata": {"type": "object", "required": ["name"]},
                "spec": entry["spec"],
            },
            "additionalProperties": False,
        }
        jsonschema.Draft202012Validator.check_schema(schema)
        found[entry["apiVersion"], entry["kind"]] = schema
    return found


def violations(document, version):
    """What a version's API server would refuse, in words."""
    try:
        asked = validator(document.get("apiVersion", ""), document.get("kind", ""), version)
    except UnknownKind as unknown:
        return [f"{title(document)}: {unknown}"]
    errors = sorted(asked.iter_errors(document), key=lambda error: list(map(str, error.path)))
    return [f"{title(document)}: {'.'.join(map(str, it.path))}: {it.message[:300]}" for it in errors]


def main():
    folder, chart = sys.argv[1:]
    versions = (oldest(chart), newest())
    seen, complaints, judged = 0, [], {}
    for name, documents in renders(folder):
        for document in documents:
            seen += 1
            text = json.dumps(document, sort_keys=True)
            for version in versions:
                if (text, version) not in judged:
                    judged[text, version] = violations(document, version)
                complaints += [f"{name}, {version}: {it}" for it in judged[text, version]]
    if complaints:
        print("\n".join(complaints), file=sys.stderr)
        raise SystemExit("a cluster would refuse this: mend the templates, or list a CRD in tests/chart/crds.yaml")
    print(f"{seen} documents are valid in Kubernetes {' and '.join(versions)}")


if __name__ == "__main__":
    main()
