//! The failures that an agent reads when memory rejects a call or is down.

use std::{sync::LazyLock, time::Duration};

use archway_proto::{chain::Chain, failure::Failure, fault::Fault, meta};
use archway_resilience::LogLimit;

use super::WriteError;
use crate::StoreError;

/// How long an agent should wait before a retry.
const RETRY_AFTER_SECONDS: u64 = 5;
/// The detail that reports whether a write was stored.
const OUTCOME: &str = "outcome";
/// An outage fails every call that needs memory.
static LOG_LIMIT: LazyLock<LogLimit> = LazyLock::new(|| LogLimit::every(Duration::from_secs(60)));

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Failure {
        let message = error.to_string();
        match error {
            WriteError::OtherContent => Failure::new(
                Fault::InvalidArguments,
                "the idempotency key was used for other content within the last 24 hours",
                format!(
                    "give a new key (`_meta` {}) to what is new, or repeat exactly what was \
                     written under this one",
                    meta::IDEMPOTENCY_KEY
                ),
            ),
            WriteError::QuotaExceeded => Failure::new(
                Fault::QuotaExceeded,
                message,
                "nothing was written; ask the operator for more room (the limit memory_mib)",
            ),
            WriteError::UnknownDiscovery => Failure::new(
                Fault::InvalidArguments,
                "supersedes names no discovery of this project",
                "give the id that record_discovery or context_search returned, of the same project",
            ),
            WriteError::NotWritten(source) => unreachable(&source).detail(OUTCOME, "not_written"),
            WriteError::Unknown(source) => {
                let mut failure = unreachable(&source).detail(OUTCOME, "unknown");
                failure.suggestion = format!(
                    "whether it was written is not known: call search_memory before you write \
                     again, or repeat the call with the idempotency key it had (`_meta` {})",
                    meta::IDEMPOTENCY_KEY
                );
                failure
            }
        }
    }
}

/// The failure of a call whose memory query failed or timed out.
pub fn unreachable(error: &StoreError) -> Failure {
    if let Some(suppressed) = LOG_LIMIT.allow() {
        tracing::warn!(error = %Chain(error), suppressed, "memory query failed");
    }
    if error.is_late() {
        return Failure::new(
            Fault::DeadlineExceeded,
            "memory did not answer in time",
            "ask for less (`file`, `since`, rarer words), or try again in a few seconds",
        )
        .detail("retry_after_seconds", RETRY_AFTER_SECONDS);
    }
    Failure::new(
        Fault::Unavailable,
        "memory can't be reached at the moment",
        format!("wait {RETRY_AFTER_SECONDS} seconds and try again; all other tools go on working"),
    )
    .detail("retry_after_seconds", RETRY_AFTER_SECONDS)
}

#[cfg(test)]
mod tests {
    use archway_proto::fault::Blame;

    use super::*;

    #[test]
    fn timeouts_blame_the_work_and_a_lost_connection_blames_memory() {
        let blame = |error: &StoreError| unreachable(error).code.blame();
        assert_eq!(blame(&StoreError::TimedOut("reading memory")), Blame::Work);
        let away = StoreError::Query {
            what: "reading entries",
            source: sqlx::Error::PoolTimedOut,
        };
        assert_eq!(blame(&away), Blame::Callee);
        let unknown = Failure::from(WriteError::Unknown(StoreError::TimedOut(
            "writing to memory",
        )));
        assert_eq!(unknown.code, Fault::DeadlineExceeded);
        assert_eq!(unknown.details.get(OUTCOME), Some(&"unknown".into()));
    }
}
