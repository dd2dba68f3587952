//! A message that is not served: somebody's limit is spent, or nobody can tell whether it is.
//!
//! The second comes up only where the operator asked for it: limits are counted in a store that is
//! away, and nothing may pass uncounted (`WhenDown::Closed`).

use archway_proto::{failure::Failure, fault::Fault};
use http::{
    HeaderMap,
    header::{HeaderValue, RETRY_AFTER},
};

use super::outcome::Over;
use crate::error::GatewayError;

/// Whole seconds after which the store is asked again, and so may be a caller.
const RETRY_SECONDS: u64 = 1;

/// Why a message was not served. It cost nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// A limit is spent.
    Over(Over),
    /// The store of limits is away.
    Uncounted,
}

impl Refused {
    /// Says in an answer's headers when to come again, and what is left if that is known.
    pub(crate) fn tell(&self, headers: &mut HeaderMap) {
        match self {
            Refused::Over(over) => over.tell(headers),
            Refused::Uncounted => {
                headers.insert(RETRY_AFTER, HeaderValue::from(RETRY_SECONDS));
            }
        }
    }

    /// The refusal of a tool call: a result, as clients drop the body of an HTTP error.
    pub(crate) fn failure(&self) -> Failure {
        match self {
            Refused::Over(over) => over.failure(),
            Refused::Uncounted => Failure::new(
                Fault::Unavailable,
                "limits can't be counted at the moment, so nothing is served",
                format!("wait {RETRY_SECONDS} second and try again"),
            )
            .detail("retry_after_seconds", RETRY_SECONDS),
        }
    }

    /// The refusal of anything else.
    pub(crate) fn error(&self) -> GatewayError {
        match self {
            Refused::Over(over) => over.error(),
            Refused::Uncounted => GatewayError::LimitsUncounted,
        }
    }
}
