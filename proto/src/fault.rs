//! The closed list of failures, and one table of what each means at every boundary.
//!
//! A worker sends a fault either inside a tool result (the agent can act on it) or as a gRPC status. The
//! gateway maps it to a tool result or a JSON-RPC error. A new variant does not compile until every column
//! is decided.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why a call failed. The wire name is its snake case, which agents see in `error.code`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(
    missing_docs,
    reason = "the names are the documentation of TOOLS' error codes"
)]
pub enum Fault {
    InvalidArguments,
    ProjectRequired,
    ProjectNotFound,
    FileNotFound,
    DirectoryNotFound,
    AccessDenied,
    FileTooLarge,
    BinaryFile,
    InvalidPattern,
    SearchTimeout,
    DeadlineExceeded,
    NotAGitRepository,
    RevisionNotFound,
    FileNotTracked,
    InvalidLineRange,
    IndexNotReady,
    EmbeddingUnavailable,
    WriteNotAllowed,
    EntryTooLarge,
    QuotaExceeded,
    PatternNotFound,
    RateLimited,
    CircuitOpen,
    Unavailable,
    InternalError,
}

impl Fault {
    /// All faults, in the order of the documentation.
    pub const ALL: [Fault; 25] = [
        Fault::InvalidArguments,
        Fault::ProjectRequired,
        Fault::ProjectNotFound,
        Fault::FileNotFound,
        Fault::DirectoryNotFound,
        Fault::AccessDenied,
        Fault::FileTooLarge,
        Fault::BinaryFile,
        Fault::InvalidPattern,
        Fault::SearchTimeout,
        Fault::DeadlineExceeded,
        Fault::NotAGitRepository,
        Fault::RevisionNotFound,
        Fault::FileNotTracked,
        Fault::InvalidLineRange,
        Fault::IndexNotReady,
        Fault::EmbeddingUnavailable,
        Fault::WriteNotAllowed,
        Fault::EntryTooLarge,
        Fault::QuotaExceeded,
        Fault::PatternNotFound,
        Fault::RateLimited,
        Fault::CircuitOpen,
        Fault::Unavailable,
        Fault::InternalError,
    ];

    /// Its name for agents and metrics.
    pub fn code(self) -> &'static str {
        self.row().0
    }

    /// Who is to blame for it.
    pub fn blame(self) -> Blame {
        self.row().1
    }

    /// The gRPC code with which a worker sends this fault outside a tool result.
    pub fn grpc(self) -> tonic::Code {
        self.row().2
    }

    /// The fault of a gRPC status that names none: the transport failed, or the other side is not an
    /// Archway worker.
    pub fn from_grpc(code: tonic::Code) -> Fault {
        match code {
            // tonic reports closed connections as Cancelled. A caller that cancels does not wait for
            // a status.
            tonic::Code::Unavailable
            | tonic::Code::ResourceExhausted
            | tonic::Code::Aborted
            | tonic::Code::Cancelled => Fault::Unavailable,
            tonic::Code::DeadlineExceeded => Fault::DeadlineExceeded,
            tonic::Code::InvalidArgument => Fault::InvalidArguments,
            tonic::Code::PermissionDenied | tonic::Code::Unauthenticated => Fault::AccessDenied,
            _ => Fault::InternalError,
        }
    }

    /// The fault with a wire name, or `None` if this build does not know it.
    pub fn from_code(code: &str) -> Option<Fault> {
        Fault::ALL.into_iter().find(|fault| fault.code() == code)
    }

    fn row(self) -> (&'static str, Blame, tonic::Code) {
        use tonic::Code;
        match self {
            Fault::InvalidArguments => ("invalid_arguments", Blame::Caller, Code::InvalidArgument),
            Fault::ProjectRequired => ("project_required", Blame::Caller, Code::InvalidArgument),
            Fault::ProjectNotFound => ("project_not_found", Blame::Caller, Code::NotFound),
            Fault::FileNotFound => ("file_not_found", Blame::Caller, Code::NotFound),
            Fault::DirectoryNotFound => ("directory_not_found", Blame::Caller, Code::NotFound),
            Fault::AccessDenied => ("access_denied", Blame::Caller, Code::PermissionDenied),
            Fault::FileTooLarge => ("file_too_large", Blame::Caller, Code::FailedPrecondition),
            Fault::BinaryFile => ("binary_file", Blame::Caller, Code::FailedPrecondition),
            Fault::InvalidPattern => ("invalid_pattern", Blame::Caller, Code::InvalidArgument),
            Fault::SearchTimeout => ("search_timeout", Blame::Caller, Code::DeadlineExceeded),
            Fault::DeadlineExceeded => ("deadline_exceeded", Blame::Work, Code::DeadlineExceeded),
            Fault::NotAGitRepository => (
                "not_a_git_repository",
                Blame::Caller,
                Code::FailedPrecondition,
            ),
            Fault::RevisionNotFound => ("revision_not_found", Blame::Caller, Code::NotFound),
            Fault::FileNotTracked => ("file_not_tracked", Blame::Caller, Code::NotFound),
            Fault::InvalidLineRange => ("invalid_line_range", Blame::Caller, Code::OutOfRange),
            Fault::IndexNotReady => ("index_not_ready", Blame::Caller, Code::FailedPrecondition),
            Fault::EmbeddingUnavailable => {
                // A third party's failure; a search by words alone still has an answer.
                ("embedding_unavailable", Blame::Caller, Code::Unavailable)
            }
            Fault::WriteNotAllowed => ("write_not_allowed", Blame::Caller, Code::PermissionDenied),
            Fault::EntryTooLarge => ("entry_too_large", Blame::Caller, Code::InvalidArgument),
            Fault::QuotaExceeded => ("quota_exceeded", Blame::Caller, Code::ResourceExhausted),
            Fault::PatternNotFound => ("pattern_not_found", Blame::Caller, Code::NotFound),
            Fault::RateLimited => ("rate_limited", Blame::Caller, Code::ResourceExhausted),
            Fault::CircuitOpen => ("circuit_open", Blame::Caller, Code::Unavailable),
            Fault::Unavailable => ("unavailable", Blame::Callee, Code::Unavailable),
            Fault::InternalError => ("internal_error", Blame::Callee, Code::Internal),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// Who is to blame for a failure. Circuits depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The caller: the request cannot be served, which says nothing about the worker.
    Caller,
    /// The work: too much for its deadline. Either the caller or a slow worker can be the cause.
    Work,
    /// The callee: no request can cause it.
    Callee,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unavailable_and_internal_errors_blame_the_worker() {
        let callee = Fault::ALL.into_iter();
        let callee: Vec<Fault> = callee
            .filter(|fault| fault.blame() == Blame::Callee)
            .collect();
        assert_eq!(callee, [Fault::Unavailable, Fault::InternalError]);
    }

    #[test]
    fn every_fault_has_one_name_for_its_code_and_serde() {
        for fault in Fault::ALL {
            assert_eq!(Fault::from_code(fault.code()), Some(fault));
            assert_eq!(serde_json::json!(fault), fault.code());
        }
    }
}
