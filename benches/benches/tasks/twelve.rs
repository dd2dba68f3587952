//! The tasks. Their answers were read from the clones with git and an editor, not with Archway.

use serde_json::json;

use crate::ladder::{Step, Task};

/// A repository that tasks are about.
pub(crate) struct Repository {
    /// The name of its folder.
    pub(crate) name: &'static str,
    /// The commit that the answers are for.
    pub(crate) commit: &'static str,
}

const AXUM: &str = "axum";
const PUBLISHER: &str = "content-publisher";

pub(crate) const REPOSITORIES: [Repository; 2] = [
    Repository {
        name: AXUM,
        commit: "3d78036dcac289d6c1d54934708acb6a5bd73686",
    },
    Repository {
        name: PUBLISHER,
        commit: "a268264bd0ccfb4956f401c328bacced0b5a1d93",
    },
];

/// The twelve, in the order in which they are played.
pub(crate) fn tasks() -> [Task; 12] {
    [
        where_it_is_done(),
        where_it_is_defined(),
        who_calls_it(),
        why_a_line_is_so(),
        what_a_release_changed(),
        which_commit_did_it(),
        what_a_type_offers(),
        a_file_by_half_its_name(),
        a_path_remembered_wrongly(),
        what_became_of_a_class(),
        which_decision_governs(),
        which_decision_a_proposal_meets(),
    ]
}

fn where_it_is_done() -> Task {
    Task {
        repository: AXUM,
        goal: "where is the default limit of a request's body applied",
        answer: &["axum-core/src/ext_traits/request.rs", "with_limited_body"],
        ladder: vec![
            Step::call(
                "context_search",
                json!({ "query": "where is the default limit of a request's body applied" }),
            ),
            Step::call(
                "grep_codebase",
                json!({ "pattern": "DefaultBodyLimitKind" }),
            ),
            Step::call("search_files", json!({ "pattern": "default body limit" })).pages(2),
        ],
    }
}

fn where_it_is_defined() -> Task {
    Task {
        repository: AXUM,
        goal: "where is `merge` of `MethodRouter` defined, with its signature",
        answer: &["axum/src/routing/method_routing.rs", "1171", "pub fn merge"],
        ladder: vec![
            Step::call("find_symbol", json!({ "name": "MethodRouter::merge" })),
            Step::call("grep_codebase", json!({ "pattern": "fn merge\\b" })),
            Step::call("grep_codebase", json!({ "pattern": "merge", "limit": 100 })),
        ],
    }
}

fn who_calls_it() -> Task {
    Task {
        repository: AXUM,
        goal: "who calls `into_limited_body`: each call with what it is in",
        answer: &[
            "axum-core/src/extract/request_parts.rs",
            "BytesMut",
            "JsonLines",
            "Protobuf",
        ],
        ladder: vec![
            Step::call("find_references", json!({ "symbol": "into_limited_body" })),
            Step::call("grep_codebase", json!({ "pattern": "into_limited_body" })),
            Step::call(
                "search_files",
                json!({ "pattern": "into_limited_body", "context_lines": 10 }),
            ),
        ],
    }
}

fn why_a_line_is_so() -> Task {
    const FILE: &str = "axum/src/serve/mod.rs";
    Task {
        repository: AXUM,
        goal: "why does `serve` have a trait `Executor` of its own",
        answer: &["de9f13d", "find a way to bound E"],
        ladder: vec![
            Step::call("grep_codebase", json!({ "pattern": "trait Executor" })),
            Step::call(
                "git_blame",
                json!({ "path": FILE, "start_line": 162, "end_line": 162 }),
            )
            .knowing(&[FILE, "162"])
            .by_habit(),
            Step::call(
                "git_blame",
                json!({ "file_path": FILE, "start_line": 162, "end_line": 162 }),
            )
            .knowing(&[FILE, "162"]),
            Step::call("git_log", json!({ "ref": "de9f13d", "max_count": 1 }))
                .knowing(&["de9f13d"]),
        ],
    }
}

fn what_a_release_changed() -> Task {
    Task {
        repository: AXUM,
        goal: "what changed in axum 0.8.9",
        answer: &["3597", "3611", "3620", "3656"],
        ladder: vec![
            Step::call(
                "git_log",
                json!({ "since": "axum-v0.8.8", "until": "axum-v0.8.9", "max_count": 50 }),
            )
            .pages(2),
            Step::call("grep_codebase", json!({ "pattern": "^# 0\\.8\\.9" })),
            Step::call(
                "read_file",
                json!({ "path": "axum/CHANGELOG.md", "start_line": 50, "end_line": 70 }),
            )
            .knowing(&["axum/CHANGELOG.md"]),
        ],
    }
}

fn which_commit_did_it() -> Task {
    const FILE: &str = "axum/src/extract/multipart.rs";
    Task {
        repository: AXUM,
        goal: "which commit gave a multipart body over the limit an error of its own",
        answer: &["22f769c7", "multipart body limit is exceeded"],
        ladder: vec![
            Step::call("git_log", json!({ "grep": "multipart.*limit" })),
            Step::call(
                "list_files",
                json!({ "pattern": "**/*multipart*", "max_depth": 10 }),
            ),
            Step::call("git_log", json!({ "file_path": FILE }))
                .knowing(&[FILE])
                .pages(3),
            Step::call("git_log", json!({ "max_count": 100 })).pages(5),
        ],
    }
}

fn what_a_type_offers() -> Task {
    const FILE: &str = "axum/src/routing/mod.rs";
    Task {
        repository: AXUM,
        goal: "which public methods has `Router` in `axum/src/routing/mod.rs`",
        answer: &[
            "route_service",
            "nest_service",
            "method_not_allowed_fallback",
            "with_state",
            "into_make_service_with_connect_info",
        ],
        ladder: vec![
            Step::call("outline", json!({ "path": FILE })),
            Step::call("read_file", json!({ "path": FILE })),
        ],
    }
}

fn a_file_by_half_its_name() -> Task {
    Task {
        repository: PUBLISHER,
        goal: "the file whose name has `document_export`",
        answer: &["app/models/whitehall_migration/document_export.rb"],
        ladder: vec![
            Step::call("list_files", json!({ "pattern": "**/*document_export*" })),
            Step::call(
                "list_files",
                json!({ "pattern": "**/*document_export*", "max_depth": 10 }),
            ),
        ],
    }
}

fn a_path_remembered_wrongly() -> Task {
    const FILE: &str = "app/services/assign_edition_status_service.rb";
    Task {
        repository: PUBLISHER,
        goal: "read `app/services/assign_status_service.rb`, which is not quite its name",
        answer: &["class AssignEditionStatusService", "def call"],
        ladder: vec![
            Step::call(
                "read_file",
                json!({ "path": "app/services/assign_status_service.rb" }),
            ),
            Step::call("read_file", json!({ "path": FILE }))
                .knowing(&["assign_edition_status_service.rb"]),
            Step::call("list_files", json!({ "directory": "app/services" })),
            Step::call("read_file", json!({ "path": FILE }))
                .knowing(&["assign_edition_status_service.rb"]),
        ],
    }
}

fn what_became_of_a_class() -> Task {
    Task {
        repository: PUBLISHER,
        goal: "which commit removed the class `ApplicationService`",
        answer: &["5933f87c", "Use a mixin for shared behaviour in services"],
        ladder: vec![
            Step::call("grep_codebase", json!({ "pattern": "ApplicationService" })),
            Step::call("git_log", json!({ "changed": "class ApplicationService" })),
            Step::call(
                "git_log",
                json!({ "file_path": "app/services/application_service.rb" }),
            ),
            Step::call(
                "git_log",
                json!({ "file_path": "app/services", "max_count": 100 }),
            ),
        ],
    }
}

fn which_decision_governs() -> Task {
    Task {
        repository: PUBLISHER,
        goal: "which decision says what deletes may cascade",
        answer: &["0013-permitted-deletion", "`cascade` behaviour"],
        ladder: vec![
            Step::call(
                "search_architecture",
                json!({ "query": "may deleting a row cascade to others" }),
            ),
            Step::call(
                "read_file",
                json!({ "path": "docs/adr/0013-permitted-deletion.md" }),
            )
            .knowing(&["0013-permitted-deletion"]),
            Step::call("grep_codebase", json!({ "pattern": "cascade" })),
        ],
    }
}

fn which_decision_a_proposal_meets() -> Task {
    Task {
        repository: PUBLISHER,
        goal: "which decision a proposal meets that puts logic into a controller",
        answer: &[
            "0011-moving-business-logic-out-of-controllers",
            "Interactor",
        ],
        ladder: vec![
            Step::call(
                "check_adr_alignment",
                json!({ "decision_description": "Put the logic that archives a document into the action of its controller." }),
            ),
            Step::call(
                "search_architecture",
                json!({ "query": "business logic in controllers" }),
            ),
        ],
    }
}
