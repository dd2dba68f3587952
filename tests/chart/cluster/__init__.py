"""A double of a Kubernetes cluster, in one process: enough of its API for Helm, and strict.

It stores objects, checks them as a cluster's admission would (schemas, restricted Pod Security, immutable
fields), applies patches as a cluster does, and reports a workload as ready only when everything that its
pods name exists. It runs nothing, unless a test states what a pod does.

    kinds       the kinds that it serves, and their discovery
    wire        request bodies: JSON, YAML, and the protobuf of Helm's own records
    patches     merge patches
    selectors   label and field selectors
    admission   refusals
    objects     storage, watches, garbage collection
    references  references of pods, and whether they exist
    pods        pods of workloads, and their fate
    controllers statuses: ready, bound, complete, or why not
    server      HTTP
"""
