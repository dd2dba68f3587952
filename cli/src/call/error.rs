//! Why a call failed, and what the caller can do about it.

use std::io;
use std::path::PathBuf;

use http::StatusCode;

use crate::output::OutputError;

/// Why the command exits with 1. Never contains the key.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// No credential was given.
    #[error(
        "there is no API key: put it into the variable ARCHWAY_API_KEY, or name its file with \
         --key-file; `archway key issue` makes one"
    )]
    NoKey,
    /// The credential's file cannot be read.
    #[error("--key-file (ARCHWAY_API_KEY_FILE) {} can't be read", path.display())]
    KeyFile {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        #[source]
        source: io::Error,
    },
    /// The credential has characters that no header can carry.
    #[error("the API key has characters that no key has: was another file, or only a part, read?")]
    KeyForm,
    /// This machine has no usable certificate store.
    #[error(
        "https is not available: this machine has no certificate authorities (SSL_CERT_FILE names a \
         file with them)"
    )]
    Client(#[source] reqwest::Error),
    /// The call was made and failed.
    #[error(transparent)]
    Call(#[from] CallFailure),
    /// Standard output cannot be written.
    #[error("writing to standard output")]
    Output(#[source] OutputError),
}

/// Why an attempt has no result.
#[derive(Debug, thiserror::Error)]
pub enum CallFailure {
    /// The connection failed, or the answer broke off.
    #[error(
        "{origin} can't be reached: check the URL, and that a gateway runs there; --wait SECONDS \
         waits for it"
    )]
    Unreachable {
        /// The endpoint's scheme, host and port.
        origin: String,
        /// The cause, without the URL.
        #[source]
        source: reqwest::Error,
    },
    /// The answer exceeds the bound.
    #[error("{origin} answers with more than {most} bytes: is this a gateway's URL?")]
    TooLong {
        /// The endpoint's scheme, host and port.
        origin: String,
        /// The bound, in bytes.
        most: usize,
    },
    /// An HTTP error.
    #[error("{origin} answers {status}{said}: {}", advice(*status, *retry_after))]
    Status {
        /// The endpoint's scheme, host and port.
        origin: String,
        /// The status.
        status: StatusCode,
        /// The answer's message, if it has a readable one, after a comma.
        said: String,
        /// Seconds to wait, by its `Retry-After`.
        retry_after: Option<u64>,
    },
    /// The answer is not MCP.
    #[error("{origin} does not answer with MCP: give the URL of a gateway's /mcp")]
    NotMcp {
        /// The endpoint's scheme, host and port.
        origin: String,
    },
    /// A JSON-RPC error.
    #[error("not called: {message} (JSON-RPC error {code}): {}", refusal_advice(*code))]
    Refused {
        /// The error's code.
        code: i64,
        /// The error's message.
        message: String,
    },
    /// The tool ran and failed.
    #[error("{tool} failed: {said}")]
    Tool {
        /// The tool's name.
        tool: String,
        /// What failed, and what to do next.
        said: String,
    },
}

impl CallFailure {
    /// Whether the failure may be temporary.
    pub(super) fn is_temporary(&self) -> bool {
        match self {
            CallFailure::Unreachable { .. } => true,
            // The key was just issued, the gateway is starting, or a proxy has no gateway yet.
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

/// JSON-RPC's code for a server fault.
const INTERNAL_ERROR: i64 = -32603;

/// What to do about a JSON-RPC error.
fn refusal_advice(code: i64) -> &'static str {
    match code {
        INTERNAL_ERROR => {
            "the call itself may be valid; the logs of the gateway and its workers show what \
             failed"
        }
        _ => "check the tool's name and --arguments",
    }
}

/// What to do about an HTTP status.
fn advice(status: StatusCode, retry_after: Option<u64>) -> String {
    let advice = match status {
        StatusCode::UNAUTHORIZED => {
            "use a key of this installation that is not revoked (`archway key list`), or issue one \
             (`archway key issue`)"
        }
        StatusCode::FORBIDDEN => {
            "the key lacks a scope, or the gateway does not serve this host name (its operator \
             allows host names with --allowed-host)"
        }
        StatusCode::NOT_FOUND => "the endpoint is a gateway's path /mcp: check the URL",
        StatusCode::TOO_MANY_REQUESTS => match retry_after {
            Some(seconds) => return format!("try again in {seconds} s"),
            None => "try again in a minute",
        },
        StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT => {
            "`archway healthcheck` queries a gateway's admin port for what is missing; --wait \
             SECONDS retries"
        }
        _ if status.is_redirection() => "use the URL that it redirects to",
        _ => "check that the URL is a gateway's, and any proxy before it",
    };
    advice.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_fault_is_not_blamed_on_the_arguments() {
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
