//! Why a listing failed: the words that decide what is done next.

use std::time::Duration;

use jiff::Timestamp;

use super::text;

/// Why a host's repositories could not be listed.
///
/// No message shows a token. What a host said is escaped and has at most 300 characters.
#[derive(Debug, thiserror::Error)]
pub enum ListingError {
    /// The host does not accept the credential, or it may not list (401 or 403).
    #[error("the host refused the credential: {said}")]
    Refused {
        /// The host's own words.
        said: String,
    },
    /// There is no such owner, or the host does not show it to this credential.
    #[error(
        "the host knows no {what}, or does not show it to this credential: check its name, and what \
         the credential may read"
    )]
    NotFound {
        /// What was asked for.
        what: &'static str,
    },
    /// The host asks to come later. It is not asked again before that.
    #[error("the host asks to wait until {retry_at}")]
    RateLimited {
        /// At least 1 s and at most 1 h from the answer.
        retry_at: Timestamp,
    },
    /// There are more repositories than are taken.
    #[error("{found} repositories, but at most {limit} are taken: {remedy}")]
    TooMany {
        /// How many were found; reading stops at 100,001.
        found: usize,
        /// How many are taken.
        limit: usize,
        /// What to set instead.
        remedy: &'static str,
    },
    /// The answer is not what the host's API answers.
    #[error("the host's answer is not valid: {what}")]
    Invalid {
        /// What is wrong with it.
        what: String,
    },
    /// The host, its proxy or the network did not answer, or the host is ill (5xx).
    // The causes may quote a certificate, which the other side wrote: they are text here, cleaned.
    #[error("the host can't be reached: {why}")]
    Unreachable {
        /// The chain of causes.
        why: String,
    },
    /// It took too long.
    #[error("the host did not answer within {} s", limit.as_secs_f32())]
    TimedOut {
        /// How long was waited.
        limit: Duration,
    },
}

impl ListingError {
    /// Something that the answer should not be.
    pub(super) fn invalid(what: &str) -> ListingError {
        ListingError::Invalid {
            what: text::shown(what, None),
        }
    }
}
