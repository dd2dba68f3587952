"""Checks that every value matters: each one, changed, changes some render. Also that no object of the
schema is open, so that a misspelt name is refused everywhere.

Usage: alive.py CHART HELM. A value without effect is misspelt in a template, or obsolete. Lists and maps
that are empty by default are values, too. A value is replaced by the first of many candidates that the
chart's schema accepts.
"""

import concurrent.futures
import copy
import json
import pathlib
import subprocess
import sys
import tempfile

import jsonschema
import yaml

# Values with the most objects come first, since changes show there.
FIRST = ("production", "overrides", "evaluation")
# Candidates for any value: for each type, one fits.
TEXTS = [
    "other", "2Gi", "77s", "https://other.example.com/v1", "https://other.example.com", "other:5432/other",
    "sha256:" + "2" * 64, "fedcba9876543210", "hook", "closed", "claim", "none", "text", "contents",
    "recursive", "[::]", "NodePort", "Always", "Prefix", "34%", "http/protobuf", "",
]
LISTS = [
    ["other.example.com"], ["https://other.example.com"], ["10.1.0.0/16"], ["ReadWriteMany", "ReadOnlyMany"],
    [{"name": "other", "mountPath": "/other", "topologyKey": "other", "key": "other"}], [{"name": "other"}],
    [{"name": "OTHER", "value": "other"}], [{"slug": "other"}], [],
]
MAPS = [
    {"other": "other"}, {"name": "other"}, {"name": "other", "key": "other"}, {"requests": {"cpu": 7}},
    {"type": "Recreate"}, {"other": {"claimName": "other"}}, {"other": {"other": {"url": "https://other.example.com/a.git"}}}, {},
]


def leaves(values, path=()):
    """The paths to all values. An empty map has none below it, so it is a value itself."""
    for name, value in values.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, (*path, name))
        else:
            yield (*path, name)


def merged(base, changes):
    """Merges values as Helm merges one file over another."""
    result = copy.deepcopy(base)
    for name, value in changes.items():
        if isinstance(value, dict) and isinstance(result.get(name), dict):
            result[name] = merged(result[name], value)
        elif value is None:
            result.pop(name, None)
        else:
            result[name] = value
    return result


def at(values, path):
    for step in path:
        values = values.get(step) if isinstance(values, dict) else None
    return values


def nested(path, value):
    for step in reversed(path):
        value = {step: value}
    return value


def replacements(value):
    """Candidates to replace a value, those of its own type first."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1]
    own = {str: TEXTS, list: LISTS, dict: MAPS}.get(type(value), [])
    return [it for it in [*own, 7, *TEXTS, *LISTS, *MAPS] if it != value]


def open_objects(schema, place="values"):
    """Objects that accept any name, except for those that state a reason (`$comment`)."""
    if isinstance(schema, list):
        for number, part in enumerate(schema):
            yield from open_objects(part, f"{place}.{number}")
    if not isinstance(schema, dict):
        return
    is_object = schema.get("type") == "object" or "properties" in schema
    if is_object and "additionalProperties" not in schema and "$comment" not in schema:
        yield place
    if "properties" in schema and schema.get("additionalProperties") is not False:
        yield place
    for name, part in schema.items():
        if not (name == "items" and "$comment" in schema):
            yield from open_objects(part, f"{place}.{name}")


class Chart:
    """The chart, its sets of values and their renders."""

    def __init__(self, folder, helm, scratch):
        self.folder, self.helm, self.scratch = folder, helm, pathlib.Path(scratch)
        self.defaults = yaml.safe_load((folder / "values.yaml").read_text())
        schema = json.loads((folder / "values.schema.json").read_text())
        jsonschema.Draft7Validator.check_schema(schema)
        self.schema = jsonschema.Draft7Validator(schema)
        self.open = sorted(set(open_objects(schema)))
        names = [it.name.removesuffix("-values.yaml") for it in (folder / "ci").glob("*-values.yaml")]
        self.names = sorted(names, key=lambda name: (name not in FIRST, FIRST.index(name) if name in FIRST else name))
        self.values = {name: merged(self.defaults, yaml.safe_load(self.file(name).read_text())) for name in names}
        self.renders = {name: self.rendered(name) for name in names}

    def file(self, name):
        return self.folder / "ci" / f"{name}-values.yaml"

    def rendered(self, name, *more):
        """The render of a set of values; `None` if it is refused."""
        files = [part for it in (self.file(name), *more) for part in ("--values", str(it))]
        command = [self.helm, "template", "archway", str(self.folder), "--namespace", "archway", *files]
        asked = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        return asked.stdout if asked.returncode == 0 else None

    def is_alive(self, path):
        """Whether a value has an effect in any set."""
        change = self.scratch / (".".join(path) + ".yaml")
        for name in self.names:
            for other in replacements(at(self.values[name], path)):
                changed = nested(path, other)
                if not self.schema.is_valid(merged(self.values[name], changed)):
                    continue
                change.write_text(yaml.safe_dump(changed))
                # A refusal counts: the schema accepts the value, so a guard has read it.
                if self.rendered(name, change) != self.renders[name]:
                    return True
                break
        return False


def main():
    with tempfile.TemporaryDirectory() as scratch:
        chart = Chart(pathlib.Path(sys.argv[1]), sys.argv[2], scratch)
        paths = list(leaves(chart.defaults))
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            alive = list(pool.map(chart.is_alive, paths))
    if chart.open:
        print("\n".join(chart.open), file=sys.stderr)
        raise SystemExit("these objects of values.schema.json take any name: say additionalProperties: false")
    dead = [".".join(path) for path, lives in zip(paths, alive) if not lives]
    if dead:
        print("\n".join(f"{path}: changes nothing" for path in dead), file=sys.stderr)
        raise SystemExit("use these values in a template, take them out, or give a set in ci/ in which they count")
    print(f"{len(paths)} values, and each changes something")


if __name__ == "__main__":
    main()
