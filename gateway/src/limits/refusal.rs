//! Why a message was refused: a limit is exceeded, a quota is spent, or limits cannot be counted.
//!
//! The last happens only if the operator chose it: the shared store is down and nothing may pass
//! uncounted (`WhenDown::Closed`).

use archway_proto::{failure::Failure, fault::Fault};
use http::{
    HeaderMap,
    header::{HeaderValue, RETRY_AFTER},
};

use super::{month::MonthQuota, outcome::ExceededLimit};
use crate::error::GatewayError;

/// Seconds until the store is tried again, and so the wait that callers are given.
const RETRY_SECONDS: u64 = 1;

/// A refused message. It was charged nothing, unless only the quota was spent: then the limits by the
/// minute bound how many are refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LimitRefusal {
    /// A limit is exceeded.
    Exceeded(ExceededLimit),
    /// The tenant's units of the month are spent.
    MonthSpent(MonthQuota),
    /// The shared store is down.
    Uncounted,
}

impl LimitRefusal {
    /// Writes `Retry-After`, and the headers of the exceeded limit if there is one.
    pub(crate) fn write_headers(&self, headers: &mut HeaderMap) {
        match self {
            LimitRefusal::Exceeded(over) => over.write_headers(headers),
            LimitRefusal::MonthSpent(month) => month.write_headers(headers),
            LimitRefusal::Uncounted => {
                headers.insert(RETRY_AFTER, HeaderValue::from(RETRY_SECONDS));
            }
        }
    }

    /// The refusal of a tool call. A tool result, because MCP clients drop the body of an HTTP
    /// error.
    pub(crate) fn failure(&self) -> Failure {
        match self {
            LimitRefusal::Exceeded(over) => over.failure(),
            LimitRefusal::MonthSpent(month) => month.failure(),
            LimitRefusal::Uncounted => Failure::new(
                Fault::Unavailable,
                "limits can't be counted at the moment, so nothing is served",
                format!("wait {RETRY_SECONDS} second and try again"),
            )
            .detail("retry_after_seconds", RETRY_SECONDS),
        }
    }

    /// The refusal of any other message.
    pub(crate) fn error(&self) -> GatewayError {
        match self {
            LimitRefusal::Exceeded(over) => over.error(),
            LimitRefusal::MonthSpent(month) => month.error(),
            LimitRefusal::Uncounted => GatewayError::LimitsUncounted,
        }
    }
}
