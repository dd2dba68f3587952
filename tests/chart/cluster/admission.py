"""Admission: refuses unknown fields, invalid names, changes of immutable fields, and pods that are not
restricted."""

import re

import restricted
import schemas
from cluster.errors import ApiError
from manifests import template

LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
SERVICE = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
SUBDOMAIN = re.compile(r"(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
# The controller appends eleven characters to a CronJob's name, and names of Jobs are labels.
LONGEST_CRON_JOB = 52
# Kinds with a part that clients may not change, and its path.
FIXED = {
    "Deployment": ("selector",),
    "DaemonSet": ("selector",),
    "Job": ("template", "selector", "completionMode"),
    "PersistentVolumeClaim": ("accessModes", "storageClassName", "selector", "volumeMode"),
    "Service": ("clusterIP",),
}
# All else of a StatefulSet is immutable.
FREE_OF_STATEFUL_SETS = {
    "minReadySeconds", "ordinals", "persistentVolumeClaimRetentionPolicy", "replicas",
    "revisionHistoryLimit", "template", "updateStrategy",
}


def judge(kind, new, old, version):
    """Raises the refusal of a cluster of that version; `old` is the object to be replaced."""
    complaints = [*of_names(kind, new), *of_fields(new, version), *of_selector(new)]
    if old is not None:
        complaints += of_changes(kind, new, old)
    if complaints:
        raise ApiError(422, "Invalid", "; ".join(complaints))
    unrestricted = restricted.violations(new)
    if unrestricted:
        raise ApiError(403, "Forbidden", f"violates PodSecurity restricted: {'; '.join(unrestricted)}")


def of_names(kind, new):
    name = new["metadata"].get("name", "")
    pattern = {"Service": SERVICE, "Job": LABEL, "StatefulSet": LABEL, "Namespace": LABEL}
    if not pattern.get(kind.name, SUBDOMAIN).fullmatch(name):
        yield f"metadata.name: {name!r} is no name of a {kind.name}"
    if kind.name == "CronJob" and len(name) > LONGEST_CRON_JOB:
        yield f"metadata.name: {name!r} is longer than {LONGEST_CRON_JOB}"
    templates = (template(new) or {}).get("metadata") or {}
    for labels in (new["metadata"].get("labels"), templates.get("labels")):
        for label, value in (labels or {}).items():
            if not LABEL_VALUE.fullmatch(str(value)):
                yield f"metadata.labels: {label} is {value!r}"


def of_fields(new, version):
    document = {name: value for name, value in new.items() if name != "status"}
    return schemas.violations(document, version)


def of_selector(new):
    """Checks that a workload selects its own pods."""
    if new["kind"] not in ("Deployment", "StatefulSet", "DaemonSet"):
        return
    selected = (new["spec"].get("selector") or {}).get("matchLabels") or {}
    made = (new["spec"]["template"].get("metadata") or {}).get("labels") or {}
    if not selected or not selected.items() <= made.items():
        yield "spec.template.metadata.labels: the selector does not match them"


def of_changes(kind, new, old):
    before, after = old.get("spec") or {}, new.get("spec") or {}
    fixed = FIXED.get(kind.name, ())
    if kind.name == "StatefulSet":
        fixed = (set(before) | set(after)) - FREE_OF_STATEFUL_SETS
    for field in sorted(fixed):
        if before.get(field) != after.get(field):
            yield f"spec.{field}: field is immutable"
    if old.get("immutable") and new.get("data") != old.get("data"):
        yield "data: field is immutable when `immutable` is set"
