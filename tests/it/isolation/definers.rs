//! The functions with their owner's rights. A new one needs a line here that justifies it.

/// Functions that bypass row-level security, and why they may.
pub(super) const DEFINERS: &[(&str, &str)] = &[
    (
        "find_api_key",
        "the one query before a tenant is known: a record for an id that is random",
    ),
    (
        "find_principal",
        "what a verified token is judged by, before a tenant's transaction can be",
    ),
    (
        "forget_old_revocations",
        "deletes what has ended by itself and answers nothing",
    ),
    (
        "session_changes",
        "what gateways keep of ended sessions: ids that are hashes of nothing, no content",
    ),
    (
        "forget_expired_sessions",
        "deletes what has expired and answers nothing",
    ),
    (
        "report_mounts",
        "a worker says which folders it has; it sees nothing of what others said",
    ),
    (
        "worker_lives",
        "a worker says that it is there; it learns whether any project was added since its report",
    ),
    (
        "report_gateway",
        "a gateway says where its admin port is; it sees nothing of what others said",
    ),
    (
        "forget_gateway",
        "a gateway takes that back, by an id that is random, and is answered nothing",
    ),
    (
        "refuse_memory_loss",
        "a trigger that only refuses, and must see whether the project exists",
    ),
    (
        "append_memory_entry",
        "of current_tenant() alone: rows are added by it and by nobody",
    ),
    ("record_discovery", "of current_tenant() alone, likewise"),
    (
        "memory_entries_with",
        "of current_tenant() alone: an index on words can't be used beneath the fence",
    ),
    (
        "count_memory_entries_with",
        "of current_tenant() alone, likewise",
    ),
    ("own_memory_mark", "of current_tenant() alone: a number"),
    (
        "mounted_projects",
        "projects whose folders the worker names, which it can read anyway",
    ),
    (
        "forget_workflows",
        "a trigger that deletes the cached rows of the row's tenant",
    ),
    ("sessions_at_work", "hashes of sessions, and nothing else"),
    ("erase_ended_workflows", "deletes what has ended"),
    (
        "make_audit_month",
        "makes an empty partition of a month that is near; it sees no row",
    ),
    (
        "index_overview",
        "for the operator's page: names of projects whose index is not whole, and counts",
    ),
    (
        "add_mirrors",
        "for `archway sync`, which serves all tenants: makes rows without content",
    ),
    (
        "mirrors_overview",
        "for `archway sync` alone: counts by state, sizes and ages",
    ),
    (
        "oldest_readers_share",
        "for `archway sync` alone: one number",
    ),
    (
        "lease_mirror",
        "for `archway sync` alone: which repository is due, and where from",
    ),
    (
        "renew_mirror_lease",
        "for `archway sync` alone: a lease that it has",
    ),
    ("release_mirror_lease", "for `archway sync` alone, likewise"),
    ("record_mirror", "for `archway sync` alone, likewise"),
    (
        "record_mirror_failure",
        "for `archway sync` alone, likewise",
    ),
    (
        "vouch_for_mirrors",
        "for `archway sync` alone: puts off runs of all tenants, by times alone",
    ),
    (
        "lease_expired_mirror",
        "for `archway sync` alone: which mirrors nobody uses",
    ),
    (
        "forget_mirror",
        "for `archway sync` alone: one whose project is removed",
    ),
    (
        "mirrors_at",
        "for `archway sync` alone: which mirrors there may be on its volume",
    ),
    (
        "make_mirrors_anew",
        "for `archway sync` alone: those that are gone from its volume are due",
    ),
    (
        "end_sync_process",
        "for `archway sync` alone: it says that it ends",
    ),
    (
        "request_with_new_access",
        "a trigger: a source with another credential is due",
    ),
    (
        "request_in_use_again",
        "a trigger: mirrors of what is in use again are due",
    ),
    (
        "make_listing",
        "a trigger: makes the row of a connection's listings, without content",
    ),
    (
        "lease_listing",
        "for `archway sync` alone: which connection is due, and its settings",
    ),
    (
        "found_sources",
        "for `archway sync` alone: of one connection",
    ),
    (
        "taken_by_tenant",
        "for `archway sync` alone: slugs and URLs of one connection's tenant",
    ),
    (
        "record_found",
        "for `archway sync` alone: projects of one connection, whose lease it has",
    ),
    ("record_lost", "for `archway sync` alone, likewise"),
    ("record_listing", "for `archway sync` alone, likewise"),
    (
        "record_listing_failure",
        "for `archway sync` alone, likewise",
    ),
    (
        "release_listing_lease",
        "for `archway sync` alone, likewise",
    ),
    (
        "find_hook_connection",
        "for `archway sync` alone: the connection that a webhook names",
    ),
    (
        "request_mirrors",
        "for `archway sync` alone: makes one connection's mirrors due",
    ),
    (
        "request_listing",
        "for `archway sync` alone: makes one connection's listing due",
    ),
    (
        "follow_permissions",
        "a trigger: makes the row of a connection whose host says who may read, and forgets what another host said",
    ),
    (
        "count_reader_change",
        "for functions of this schema alone: counts a change of one tenant, and notifies the gateways",
    ),
    (
        "hide_repository",
        "for `archway sync` alone: a repository of one connection is private",
    ),
    (
        "request_readers",
        "for `archway sync` alone: makes readers of one connection's repositories due",
    ),
    (
        "lease_permissions",
        "for `archway sync` alone: which connection is due, and its settings",
    ),
    (
        "due_readers",
        "for `archway sync` alone: which private repositories of one connection are due",
    ),
    (
        "record_readers",
        "for `archway sync` alone: who may read repositories of one connection, whose lease it has",
    ),
    ("end_permissions", "for `archway sync` alone, likewise"),
    (
        "count_usage",
        "a trigger: adds up the records that their gateway appended, and answers nothing",
    ),
    (
        "append_administration",
        "for the owner and its triggers alone: adds a record of what administration changed",
    ),
    (
        "record_emptying",
        "a trigger: says that the owner emptied a table, and answers nothing",
    ),
    (
        "record_administration",
        "a trigger: says which row somebody other than a running part changed, and answers nothing",
    ),
    (
        "month_sums",
        "what gateways hold limits by the month against: ids of tenants that have one, and a number each",
    ),
    (
        "usage_overview",
        "for the admin port: sums of calls by tenant, at most as many as asked for",
    ),
    (
        "limits_overview",
        "for the operator's page: what may be spent, and by whom; gateways judge by it anyway",
    ),
    (
        "report_gateway_state",
        "as report_gateway, with what the gateway says about itself",
    ),
    (
        "console_hours",
        "for the operator's page: calls of the whole installation by hour, tool and outcome; no tenant",
    ),
    (
        "console_processes",
        "for the operator's page: which gateways, workers and syncs are there",
    ),
    (
        "console_syncs",
        "for the operator's page: names of mirrors and connections that are not well, and counts",
    ),
    (
        "console_tenants",
        "for the operator's page: names of tenants and counts, at most as many as asked for",
    ),
    (
        "console_quotas",
        "for the operator's page: tenants that have nearly spent their month",
    ),
    (
        "console_limits",
        "for the operator's page: what one tenant may spend; gateways judge by it anyway",
    ),
    (
        "console_keys",
        "for the operator's page: labels and ids of one tenant's keys; no secret and no hash",
    ),
    (
        "console_projects",
        "for the operator's page: names and states of one tenant's projects; no content",
    ),
    (
        "console_usage",
        "for the operator's page: sums of one tenant's calls",
    ),
    (
        "console_calls",
        "for the operator's page: who called which tool and how it ended; no arguments, no files",
    ),
];
