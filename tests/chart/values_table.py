"""Writes the table of values into the chart's README, from the comments in values.yaml.

values_table.py [--check]: with --check it writes nothing, and exits with 1 if the table is outdated.

A comment directly above a key is its description; the default is what YAML reads. A map whose keys have
comments of their own gets rows for the keys only. Text after an empty line of a comment is an example, and
left out.
"""

import json
import pathlib
import sys

import yaml

CHART = pathlib.Path(__file__).resolve().parents[2] / "helm/archway"
BEGIN, END = "<!-- values: begin -->\n", "<!-- values: end -->\n"


def documented(text):
    """Each key's path and comment, in the order of the lines."""
    path, comment = [], []
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith("#"):
            comment.append(stripped[1:].strip())
        elif not stripped:
            comment = []
        elif not stripped.startswith("- "):
            depth = (len(line) - len(line.lstrip())) // 2
            path = [*path[:depth], stripped.split(":")[0]]
            yield number, tuple(path), meaning(comment)
            comment = []


def meaning(comment):
    """The comment before its example."""
    shown = comment.index("") if "" in comment else len(comment)
    return " ".join(comment[:shown])


def default(values, path):
    for key in path:
        values = values[key]
    return f"`{json.dumps(values, ensure_ascii=False)}`"


def rows(text):
    values = yaml.safe_load(text)
    keys = list(documented(text))
    whole = None
    for number, path, comment in keys:
        if whole and path[: len(whole)] == whole:
            continue
        within = [said for _, key, said in keys if key[: len(path)] == path and key != path]
        if any(within):
            continue
        whole = path
        if not comment:
            sys.exit(f"values.yaml:{number}: {'.'.join(path)} has no comment: say what it means")
        cells = (f"`{'.'.join(path)}`", default(values, path), comment)
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def table(text):
    return "".join(["| value | default | meaning |\n", "|---|---|---|\n", *rows(text)])


def main():
    readme = CHART / "README.md"
    text = readme.read_text()
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    wanted = before + BEGIN + "\n" + table((CHART / "values.yaml").read_text()) + "\n" + END + after
    if sys.argv[1:] == ["--check"]:
        if wanted != text:
            sys.exit("the table in helm/archway/README.md is not that of values.yaml: run tests/chart/values_table.py")
    else:
        readme.write_text(wanted)


main()
