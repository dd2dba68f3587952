"""A double of a Kubernetes cluster, in one process: enough of its API for Helm, and strict.

It keeps objects, judges them as a cluster's admission would (schemas, restricted Pod Security, what
may not change), applies patches as a cluster does, and says that a workload is ready only when
everything that its pods name is there. It runs nothing, unless a test says what a pod does.

    kinds       what kinds it knows, and how clients are told
    wire        what clients send: JSON, YAML, and the protobuf of Helm's own records
    patches     what a patch makes of an object
    selectors   which objects a request chooses
    admission   what is refused
    objects     what is kept, watched, collected
    references  what pods name, and whether it is there
    pods        what workloads make, and how it fares
    controllers what a cluster would say of it: ready, bound, complete, or why not
    server      HTTP
"""
