//! How a request to a service failed, and what follows from it.

use std::time::Duration;

use http::{HeaderMap, StatusCode};

use super::metrics::RequestOutcome;
use super::pacer::requested_wait;

/// Why a request failed. Carries nothing of what was sent or received. `E` says what is wrong with
/// an answer that arrived.
#[derive(Debug, thiserror::Error)]
pub enum Failure<E> {
    /// The connection failed or broke.
    #[error("can't be reached")]
    Unreachable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The service reported an error of its own (5xx).
    #[error("failed with status {status}")]
    Failed {
        /// The HTTP status.
        status: u16,
        /// How long the service asks to wait.
        retry_after: Option<Duration>,
    },
    /// Rate limit (429).
    #[error("takes no more requests")]
    Limited {
        /// How long the service asks to wait.
        retry_after: Option<Duration>,
    },
    /// The service rejected the request (other statuses).
    #[error("refused with status {status}")]
    Refused {
        /// The HTTP status.
        status: u16,
    },
    /// The answer cannot be used.
    #[error("answered something else")]
    Unusable(#[from] E),
    /// The request timed out.
    #[error("did not answer in time")]
    Late,
}

/// Why an answer cannot be read. Quotes nothing of it.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// The body is not JSON, or does not match the API.
    #[error("it is not what the API answers (line {line}, column {column})")]
    Form {
        /// Line of the error, from 1.
        line: usize,
        /// Column in that line.
        column: usize,
    },
    /// The body is longer than any valid answer.
    #[error("it is longer than {most} bytes, the limit for this request")]
    TooLong {
        /// The limit, in bytes.
        most: usize,
    },
}

impl<E> Failure<E> {
    /// Classifies a status other than success.
    pub(super) fn of(status: StatusCode, headers: &HeaderMap) -> Self {
        let retry_after = requested_wait(headers);
        let number = status.as_u16();
        match status {
            StatusCode::TOO_MANY_REQUESTS => Failure::Limited { retry_after },
            // The service timed out reading, or declines early data: neither blames the request.
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY => Failure::Failed {
                status: number,
                retry_after,
            },
            status if status.is_server_error() => Failure::Failed {
                status: number,
                retry_after,
            },
            _ => Failure::Refused { status: number },
        }
    }

    /// The outcome as metrics count it.
    pub fn outcome(&self) -> RequestOutcome {
        match self {
            Failure::Unreachable(_) => RequestOutcome::Unreachable,
            Failure::Failed { .. } => RequestOutcome::Failed,
            Failure::Limited { .. } => RequestOutcome::Limited,
            Failure::Refused { .. } => RequestOutcome::Refused,
            Failure::Unusable(_) => RequestOutcome::Unusable,
            Failure::Late => RequestOutcome::Late,
        }
    }

    /// Replaces the error of an unusable answer.
    pub fn map<F>(self, convert: impl FnOnce(E) -> F) -> Failure<F> {
        match self {
            Failure::Unreachable(source) => Failure::Unreachable(source),
            Failure::Failed {
                status,
                retry_after,
            } => Failure::Failed {
                status,
                retry_after,
            },
            Failure::Limited { retry_after } => Failure::Limited { retry_after },
            Failure::Refused { status } => Failure::Refused { status },
            Failure::Unusable(error) => Failure::Unusable(convert(error)),
            Failure::Late => Failure::Late,
        }
    }

    /// Whether the service is broken or misconfigured, rather than these texts unacceptable. A rate
    /// limit is neither: its answer says how long it lasts.
    pub(super) fn blames_service(&self) -> bool {
        match self {
            Failure::Unreachable(_)
            | Failure::Failed { .. }
            | Failure::Unusable(_)
            | Failure::Late => true,
            Failure::Limited { .. } => false,
            Failure::Refused { status } => !blames_input(*status),
        }
    }

    /// Whether a retry of the same request may succeed.
    pub(super) fn is_retryable(&self) -> bool {
        match self {
            Failure::Unreachable(_)
            | Failure::Failed { .. }
            | Failure::Limited { .. }
            | Failure::Late => true,
            Failure::Refused { .. } | Failure::Unusable(_) => false,
        }
    }

    /// How long the service asked to wait.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Failure::Failed { retry_after, .. } | Failure::Limited { retry_after } => *retry_after,
            Failure::Unreachable(_)
            | Failure::Refused { .. }
            | Failure::Unusable(_)
            | Failure::Late => None,
        }
    }
}

/// Whether the status of a rejection may blame the texts that were sent.
pub fn blames_input(status: u16) -> bool {
    matches!(status, 400 | 413 | 422)
}

impl From<serde_json::Error> for Unreadable {
    /// Drops the error's message, which may quote the answer.
    fn from(error: serde_json::Error) -> Self {
        Unreadable::Form {
            line: error.line(),
            column: error.column(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_decides_on_retries_and_on_blame() {
        for (status, is_retryable, blames_service) in [
            (301, false, true),
            (400, false, false),
            (401, false, true),
            (404, false, true),
            (408, true, true),
            (413, false, false),
            (422, false, false),
            (429, true, false),
            (500, true, true),
            (503, true, true),
        ] {
            let code = StatusCode::from_u16(status).unwrap();
            let failure: Failure<Unreadable> = Failure::of(code, &HeaderMap::new());
            assert_eq!(failure.is_retryable(), is_retryable, "{status}");
            assert_eq!(failure.blames_service(), blames_service, "{status}");
        }
    }
}
