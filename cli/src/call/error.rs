//! Why a call has no good answer, and what its caller does next.

use std::io;
use std::path::PathBuf;

use http::StatusCode;

use crate::output::OutputError;

/// Why the command ends with 1. Never carries the key.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// No credential was given.
    #[error(
        "there is no API key: put it into the variable ARCHWAY_API_KEY, or name its file with \
         --key-file; `archway key issue` makes one"
    )]
    NoKey,
    /// The file of the credential can't be read.
    #[error("--key-file (ARCHWAY_API_KEY_FILE) {} can't be read", path.display())]
    KeyFile {
        /// The file.
        path: PathBuf,
        /// The operating system's answer.
        #[source]
        source: io::Error,
    },
    /// The credential holds what no header can carry.
    #[error("the API key has characters that no key has: was another file or a part of it taken?")]
    KeyForm,
    /// This machine's certificates are of no use.
    #[error(
        "https can't be spoken: this machine has no authorities to check certificates against \
         (SSL_CERT_FILE names a file with them)"
    )]
    Client(#[source] reqwest::Error),
    /// Asked, and in vain.
    #[error(transparent)]
    Call(#[from] CallFailure),
    /// Nowhere to print.
    #[error("writing to standard output")]
    Output(#[source] OutputError),
}

/// Why a try has no result.
#[derive(Debug, thiserror::Error)]
pub enum CallFailure {
    /// Nobody there, or its answer broke off.
    #[error(
        "{place} can't be reached: check the URL, and that a gateway runs there; --wait SECONDS \
         waits for it"
    )]
    Unreachable {
        /// The endpoint's scheme, host and port.
        place: String,
        /// Its reason, without the URL.
        #[source]
        source: reqwest::Error,
    },
    /// The answer has no end that makes sense.
    #[error("{place} answers more than {most} bytes: is this a gateway's URL?")]
    TooLong {
        /// The endpoint's scheme, host and port.
        place: String,
        /// The bound.
        most: usize,
    },
    /// HTTP says no.
    #[error("{place} answers {status}{said}: {}", advice(*status, *retry_after))]
    Status {
        /// The endpoint's scheme, host and port.
        place: String,
        /// What it says.
        status: StatusCode,
        /// Its words, if they are such that people read: they follow a comma.
        said: String,
        /// Seconds to wait, by its word.
        retry_after: Option<u64>,
    },
    /// Whoever answers does not speak MCP.
    #[error("{place} does not answer as MCP does: the URL is that of a gateway's /mcp")]
    NotMcp {
        /// The endpoint's scheme, host and port.
        place: String,
    },
    /// JSON-RPC says no.
    #[error("not called: {message} (JSON-RPC error {code}): {}", refusal_advice(*code))]
    Refused {
        /// Of JSON-RPC.
        code: i64,
        /// Its words.
        message: String,
    },
    /// The tool ran, and failed.
    #[error("{tool} failed: {said}")]
    Tool {
        /// The tool's name.
        tool: String,
        /// What failed, and what to do next.
        said: String,
    },
}

impl CallFailure {
    /// Whether it may be over by itself soon.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            CallFailure::Unreachable { .. } => true,
            // A key that was issued just now, a gateway that starts, a proxy before none.
            CallFailure::Status { status, .. } => matches!(
                *status,
                StatusCode::UNAUTHORIZED
                    | StatusCode::BAD_GATEWAY
                    | StatusCode::SERVICE_UNAVAILABLE
                    | StatusCode::GATEWAY_TIMEOUT
            ),
            CallFailure::TooLong { .. }
            | CallFailure::NotMcp { .. }
            | CallFailure::Refused { .. }
            | CallFailure::Tool { .. } => false,
        }
    }
}

/// JSON-RPC's code for a fault of whoever answers.
const INTERNAL_ERROR: i64 = -32603;

/// What to do about an error of JSON-RPC.
fn refusal_advice(code: i64) -> &'static str {
    match code {
        INTERNAL_ERROR => {
            "the call itself may be right; the logs of the gateway and of its workers say what \
             failed in them"
        }
        _ => "check the tool's name and --arguments",
    }
}

/// What to do about a status.
fn advice(status: StatusCode, retry_after: Option<u64>) -> String {
    let advice = match status {
        StatusCode::UNAUTHORIZED => {
            "give a key of this installation that is not revoked (`archway key list`), or have one \
             made (`archway key issue`)"
        }
        StatusCode::FORBIDDEN => {
            "the key lacks a scope, or the gateway does not serve this host name (its operator \
             names those that it does with --allowed-host)"
        }
        StatusCode::NOT_FOUND => "the endpoint is the path /mcp of a gateway: check the URL",
        StatusCode::TOO_MANY_REQUESTS => match retry_after {
            Some(seconds) => return format!("try again in {seconds} s"),
            None => "try again in a minute",
        },
        StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT => {
            "`archway healthcheck` asks a gateway's admin port what is missing; --wait SECONDS \
             tries again"
        }
        _ if status.is_redirection() => "give the URL that it leads to",
        _ => "check that the URL is a gateway's, and what is before it",
    };
    advice.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_of_the_gateway_is_not_laid_to_the_arguments() {
        let said = |code| {
            let message = "it broke".to_owned();
            CallFailure::Refused { code, message }.to_string()
        };
        let (fault, refusal) = (said(INTERNAL_ERROR), said(-32602));
        assert!(
            fault.contains("logs") && !fault.contains("--arguments"),
            "{fault}"
        );
        assert!(
            refusal.contains("--arguments") && !refusal.contains("logs"),
            "{refusal}"
        );
    }
}
