"""The double's HTTP: paths and verbs of Kubernetes' API, on a loopback port."""

import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

from cluster import kinds, patches, pods, wire
from cluster.errors import ApiError
from cluster.objects import Cluster
from cluster.selectors import selected

OBJECTS = re.compile(
    r"/(?:api/(?P<core>v1)|apis/(?P<group>[^/]+)/(?P<version>[^/]+))"
    r"(?:/namespaces/(?P<namespace>[^/]+)(?=/))?"
    r"/(?P<plural>[^/]+)(?:/(?P<name>[^/]+))?(?:/(?P<sub>[^/]+))?"
)
RESOURCES = re.compile(r"/(?:api/(?P<core>v1)|apis/(?P<group>[^/]+)/(?P<version>[^/]+))")
# The longest watch in seconds; clients begin another.
LONGEST_WATCH = 300


class Server(ThreadingHTTPServer):
    """Serves one cluster on a port of its own until it is closed."""

    daemon_threads = True

    def __init__(self, version):
        super().__init__(("127.0.0.1", 0), Handler)
        self.cluster = Cluster(version)
        # Every request, for tests of what a client did.
        self.requests = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format, *arguments):
        self.server.requests.append(" ".join(str(it) for it in arguments))

    def handle_request(self):
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = urlsplit(self.path)
        self.query = dict(parse_qsl(parts.query, keep_blank_values=True))
        path = parts.path.rstrip("/")
        try:
            found = self.discovery(path)
            if found is None:
                found = self.objects(path)
            if found is not None:
                self.answer(*found)
        except ApiError as error:
            self.answer(error.code, error.status())
        except OSError:
            self.close_connection = True

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_request

    def answer(self, code, document):
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def discovery(self, path):
        """The discovery documents; `None` for other paths."""
        version = self.server.cluster.version
        if path == "/version":
            major, minor = version.split(".")
            return 200, {"major": major, "minor": minor, "gitVersion": f"v{version}.0"}
        if path == "/api":
            return 200, {"kind": "APIVersions", "versions": ["v1"]}
        if path == "/apis":
            return 200, kinds.groups()
        if path == "/openapi/v3":
            return 200, kinds.openapi_index()
        if path.startswith("/openapi/v3/"):
            return self.found(kinds.openapi(path.removeprefix("/openapi/v3/"), version))
        asked = RESOURCES.fullmatch(path)
        if asked:
            return self.found(kinds.resources(asked["group"] or "", asked["core"] or asked["version"]))
        return None

    def found(self, document):
        if document is None:
            raise ApiError(404, "NotFound", f"nothing is at {self.path}")
        return 200, document

    def objects(self, path):
        asked = OBJECTS.fullmatch(path)
        if not asked:
            raise ApiError(404, "NotFound", f"nothing is at {self.path}")
        kind = kinds.find(asked["group"] or "", asked["core"] or asked["version"], asked["plural"])
        if kind is None:
            raise ApiError(404, "NotFound", f"no resource {asked['plural']}")
        if asked["sub"]:
            return self.log(kind, asked)
        cluster = self.server.cluster
        if self.command == "GET" and self.query.get("watch") in ("1", "true"):
            return self.watch(kind, asked["namespace"])
        with cluster.changed:
            return VERBS[self.command](self, cluster, kind, asked["namespace"], asked["name"])

    def log(self, kind, asked):
        """The log of a pod that ran to its end."""
        if (kind.name, asked["sub"]) != ("Pod", "log"):
            raise ApiError(404, "NotFound", f"{kind.plural} have no {asked['sub']}")
        cluster = self.server.cluster
        with cluster.changed:
            pod = cluster.get(kind, asked["namespace"], asked["name"])
            ended = cluster.ended.get(pod["metadata"]["uid"], (0, pods.NOTHING_RAN))
            if ended is not pods.RUNNING:
                return 200, ended[1]
            gone = (kind, asked["namespace"], asked["name"])
            cluster.changed.wait_for(lambda: gone not in cluster.kept, LONGEST_WATCH)
        return 200, b""

    def get(self, cluster, kind, namespace, name):
        if name:
            return 200, cluster.get(kind, namespace, name)
        items = [it for it in cluster.list(kind, namespace) if selected(it, self.query)]
        listed = {"kind": f"{kind.name}List", "apiVersion": kinds.api_version(kind)}
        revision = {"resourceVersion": str(cluster.revision())}
        return 200, {**listed, "metadata": revision, "items": items}

    def post(self, cluster, kind, namespace, name):
        return 201, cluster.create(kind, namespace, wire.parse(self.body), "dryRun" in self.query)

    def put(self, cluster, kind, namespace, name):
        given, dry = wire.parse(self.body), "dryRun" in self.query
        return 200, cluster.replace(kind, namespace, name, given, dry)

    def patch(self, cluster, kind, namespace, name):
        given, dry = wire.parse(self.body), "dryRun" in self.query
        way = self.headers.get("Content-Type", "").partition(";")[0]
        if way == "application/apply-patch+yaml":
            code = 200 if (kind, namespace, name) in cluster.kept else 201
            return code, cluster.apply(kind, namespace, name, given, dry, self.query.get("force") == "true")
        strategic = way == "application/strategic-merge-patch+json"
        if (strategic and kind.group in kinds.CUSTOM) or not (strategic or way == "application/merge-patch+json"):
            raise ApiError(415, "UnsupportedMediaType", f"{way} of {kind.plural}")
        patch = patches.strategic if strategic and kind.name in patches.MERGED else patches.merged
        old = cluster.get(kind, namespace, name)
        return 200, cluster.replace(kind, namespace, name, patch(old, given), dry)

    def delete(self, cluster, kind, namespace, name):
        if not name:
            raise ApiError(405, "MethodNotAllowed", "name what is deleted")
        cluster.delete(kind, namespace, name)
        return 200, {"kind": "Status", "apiVersion": "v1", "status": "Success"}

    def watch(self, kind, namespace):
        """All changes since a revision. The newer kind of watch, which begins with a list, is refused:
        clients then list first."""
        if self.query.get("sendInitialEvents") == "true":
            raise ApiError(422, "Invalid", "sendInitialEvents is not supported")
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        at = int(self.query.get("resourceVersion") or self.server.cluster.revision())
        end = time.monotonic() + min(int(self.query.get("timeoutSeconds", LONGEST_WATCH)), LONGEST_WATCH)
        for what, it in self.happened(kind, namespace, at, end):
            line = json.dumps({"type": what, "object": it}).encode() + b"\n"
            self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
        self.wfile.write(b"0\r\n\r\n")

    def happened(self, kind, namespace, at, end):
        cluster = self.server.cluster
        while (left := end - time.monotonic()) > 0:
            with cluster.changed:
                if cluster.revision() <= at:
                    cluster.changed.wait(left)
                news, at = cluster.events[at:], cluster.revision()
            for _, what, of, it in news:
                within = namespace in (None, it["metadata"].get("namespace"))
                if of == kind and within and selected(it, self.query):
                    yield what, it


VERBS = {
    "GET": Handler.get,
    "POST": Handler.post,
    "PUT": Handler.put,
    "PATCH": Handler.patch,
    "DELETE": Handler.delete,
}
