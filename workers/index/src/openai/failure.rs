//! How one request to the service failed, and what follows from it: in one table.

use std::time::Duration;

use http::{HeaderMap, StatusCode};

use super::metrics::Asked;
use super::pace::asked_to_wait;

/// Why one request brought nothing. Carries nothing of what was sent or answered. `E` is why an
/// answer is not what was asked for.
#[derive(Debug, thiserror::Error)]
pub enum Failure<E> {
    /// No connection, or it broke.
    #[error("can't be reached")]
    Unreachable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// It says that it failed.
    #[error("failed with status {status}")]
    Failed {
        /// The HTTP status.
        status: u16,
        /// When the service wants the next request, if it says so.
        retry_after: Option<Duration>,
    },
    /// It takes no more for now.
    #[error("takes no more requests")]
    Limited {
        /// When the service wants the next request, if it says so.
        retry_after: Option<Duration>,
    },
    /// It refuses such requests.
    #[error("refused with status {status}")]
    Refused {
        /// The HTTP status.
        status: u16,
    },
    /// It answered something else.
    #[error("answered something else")]
    Unusable(#[from] E),
    /// The time for one request was up.
    #[error("did not answer in time")]
    Late,
}

/// Why an answer can't be read. Quotes nothing of it.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// Not JSON, or of another form.
    #[error("it is not what the API answers (line {line}, column {column})")]
    Form {
        /// Where reading it ended.
        line: usize,
        /// In that line.
        column: usize,
    },
    /// Longer than what was asked for can be.
    #[error("it is longer than {most} bytes, which what was asked for can't take")]
    TooLong {
        /// What it may take.
        most: usize,
    },
}

impl<E> Failure<E> {
    /// What a status other than success says.
    pub(super) fn of(status: StatusCode, headers: &HeaderMap) -> Self {
        let retry_after = asked_to_wait(headers);
        let number = status.as_u16();
        match status {
            StatusCode::TOO_MANY_REQUESTS => Failure::Limited { retry_after },
            // It gave up waiting for us, or does not want to be first: neither is about the request.
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

    /// The word for the metrics.
    pub fn asked(&self) -> Asked {
        match self {
            Failure::Unreachable(_) => Asked::Unreachable,
            Failure::Failed { .. } => Asked::Failed,
            Failure::Limited { .. } => Asked::Limited,
            Failure::Refused { .. } => Asked::Refused,
            Failure::Unusable(_) => Asked::Unusable,
            Failure::Late => Asked::Late,
        }
    }

    /// The same, where an answer's fault is told in other words.
    pub fn map<F>(self, told: impl FnOnce(E) -> F) -> Failure<F> {
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
            Failure::Unusable(error) => Failure::Unusable(told(error)),
            Failure::Late => Failure::Late,
        }
    }

    /// Whether it says that the service is ill or wrongly set up, rather than that these texts are
    /// not to its liking. To be limited is no illness: it says itself how long that lasts.
    pub(super) fn is_the_services(&self) -> bool {
        match self {
            Failure::Unreachable(_)
            | Failure::Failed { .. }
            | Failure::Unusable(_)
            | Failure::Late => true,
            Failure::Limited { .. } => false,
            Failure::Refused { status } => !is_about_texts(*status),
        }
    }

    /// Whether the same request may go better a moment later.
    pub(super) fn may_pass(&self) -> bool {
        match self {
            Failure::Unreachable(_)
            | Failure::Failed { .. }
            | Failure::Limited { .. }
            | Failure::Late => true,
            Failure::Refused { .. } | Failure::Unusable(_) => false,
        }
    }

    /// How long it asked to be left alone.
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

/// Whether a refusal may be about the texts that were sent, as far as its status tells.
pub fn is_about_texts(status: u16) -> bool {
    matches!(status, 400 | 413 | 422)
}

impl From<serde_json::Error> for Unreadable {
    /// Its text may quote the answer, so only the place is kept.
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
    fn a_status_says_whether_to_ask_again_and_whose_fault_it_is() {
        for (status, may_pass, is_the_services) in [
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
            assert_eq!(failure.may_pass(), may_pass, "{status}");
            assert_eq!(failure.is_the_services(), is_the_services, "{status}");
        }
    }
}
