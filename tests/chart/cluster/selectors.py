"""Label and field selectors of a request, given as text."""

import re

EQUAL = re.compile(r"([^\s!=]+)\s*(==|!=|=)\s*(\S*)")
AMONG = re.compile(r"(\S+)\s+(in|notin)\s+\(([^)]*)\)")


def selected(it, query):
    """Whether an object matches a query's selectors."""
    labels = it["metadata"].get("labels") or {}
    fields = filter(None, query.get("fieldSelector", "").split(","))
    return by_labels(labels, query.get("labelSelector", "")) and all(by_field(it, term) for term in fields)


def by_labels(labels, selector):
    # Commas also separate the values of a set.
    terms = filter(None, map(str.strip, re.split(r",(?![^(]*\))", selector)))
    return all(by_label(labels, term) for term in terms)


def by_label(labels, term):
    if equal := EQUAL.fullmatch(term):
        return (labels.get(equal[1]) == equal[3]) == (equal[2] != "!=")
    if among := AMONG.fullmatch(term):
        values = [value.strip() for value in among[3].split(",")]
        return (labels.get(among[1]) in values) == (among[2] == "in")
    return (term.lstrip("!") in labels) != term.startswith("!")


def by_field(it, term):
    path, _, value = term.partition("=")
    for step in path.split("."):
        it = it.get(step, "") if isinstance(it, dict) else ""
    return it == value.lstrip("=")
