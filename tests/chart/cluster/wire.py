"""Request bodies: JSON or YAML, and protobuf in Helm's own records (Secrets).

Only the fields of those records are decoded: an object's name, labels, type and data. Field numbers are
those of Kubernetes' `generated.proto` files.
"""

import base64

import yaml

from cluster.errors import ApiError

MAGIC = b"k8s\0"


def parse(body):
    if not body:
        return {}
    if body.startswith(MAGIC):
        return unpacked(body[len(MAGIC):])
    try:
        return yaml.load(body, Loader=yaml.CSafeLoader)
    except yaml.YAMLError as error:
        raise ApiError(400, "BadRequest", f"the body is no YAML: {error}") from None


def number(data, at):
    """A varint, and the position after it."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """The fields of a message: number and value, an integer or bytes."""
    at = 0
    while at < len(data):
        tag, at = number(data, at)
        if tag & 7 == 0:
            value, at = number(data, at)
        elif tag & 7 == 2:
            length, at = number(data, at)
            value, at = data[at:at + length], at + length
        else:
            raise ApiError(415, "UnsupportedMediaType", f"protobuf of wire type {tag & 7}")
        yield tag >> 3, value


def text(data, wanted):
    """A text field, by its number."""
    return dict(fields(data)).get(wanted, b"").decode()


def unpacked(body):
    """The object in an envelope (`runtime.Unknown`): its type, then its own message."""
    envelope = dict(fields(body))
    version, kind = text(envelope[1], 1), text(envelope[1], 2)
    found = {"apiVersion": version, "kind": kind, "metadata": {}}
    if kind == "DeleteOptions":
        return found
    if kind not in ("Secret", "ConfigMap", "Namespace"):
        raise ApiError(415, "UnsupportedMediaType", f"protobuf of a {kind}")
    for field, value in fields(envelope[2]):
        if field == 1:
            found["metadata"] = metadata(value)
        elif field == 2 and kind != "Namespace":
            name, data = entry(value)
            secret = kind == "Secret"
            data = base64.b64encode(data).decode() if secret else data.decode()
            found.setdefault("data", {})[name] = data
        elif field == 3 and kind == "Secret":
            found["type"] = value.decode()
    return found


def entry(data):
    """One entry of a map."""
    pair = dict(fields(data))
    return pair[1].decode(), pair.get(2, b"")


def metadata(data):
    found = {"labels": {}}
    for field, value in fields(data):
        if field == 1:
            found["name"] = value.decode()
        elif field == 6:
            found["resourceVersion"] = value.decode()
        elif field == 11:
            name, label = entry(value)
            found["labels"][name] = label.decode()
    return found
