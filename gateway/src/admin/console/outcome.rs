//! Outcomes of calls in words and colours, and what refuses with each.

use super::table::Color;
use crate::metrics::OutcomeClass;

/// The colour of an outcome.
pub(super) fn color(outcome: &str) -> Color {
    match OutcomeClass::of(outcome) {
        OutcomeClass::Served => Color::Good,
        OutcomeClass::Denied => Color::Warn,
        OutcomeClass::Failed => Color::Bad,
        OutcomeClass::Cancelled => Color::Plain,
    }
}

/// What decided that a call got this outcome; empty for an answer.
pub(super) fn reason(outcome: &str) -> &'static str {
    match outcome {
        "rate_limited" => "a limit by the minute or the month: archway limits show",
        "quota_exceeded" => "the tenant's limit of memory: archway limits show",
        "access_denied" => {
            "a path rule of the project or of Archway, a folder outside of it, or a file's permissions"
        }
        "project_not_found" => {
            "no such project, or an access rule or the key hides it: archway access explain"
        }
        "write_not_allowed" => "the key has no scope to write",
        "refused" => {
            "the message: a tool or method that is unknown or hidden, a scope that the key lacks, or bad parameters"
        }
        "project_required" => {
            "it names no project, and its credential has no default project that it may read"
        }
        "invalid_arguments" | "invalid_pattern" | "invalid_line_range" => {
            "its arguments: they break the tool's schema, or name what does not exist"
        }
        "circuit_open" => "the circuit of the pool and family: too many of its calls had failed",
        "unavailable" => "no worker of the pool could take it, or no permit was free",
        "deadline_exceeded" | "search_timeout" => "its deadline",
        "index_not_ready" => "the project has no complete index yet: archway index status",
        "embedding_unavailable" => "the service of embeddings does not answer",
        "internal_error" => "a fault of gateway or worker: their log has the trace id",
        "cancelled" => "its client, which disconnected",
        "ok" => "",
        _ => "what was asked for: it is not there, or not of a kind that the tool reads",
    }
}
