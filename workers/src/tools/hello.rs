//! `hello`: check the connection.

use archway_proto::failure::Failure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Reply, Tool, ToolContext};

/// Answers with a greeting, so that a client knows its connection works.
pub(super) struct Hello;

/// The empty arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct HelloArgs {}

#[derive(Serialize, JsonSchema)]
pub(super) struct Greeting {
    message: &'static str,
    /// The server's clock, RFC 3339 in UTC.
    timestamp: String,
}

impl Tool for Hello {
    const NAME: &'static str = "hello";
    const TITLE: &'static str = "Hello";
    const DESCRIPTION: &'static str =
        "Check that the connection works. Returns a greeting and the server's time.";
    const FAMILY: &'static str = "basics";
    const PER_MINUTE: Option<u32> = Some(100);
    const UNTRUSTED: bool = false;
    type Args = HelloArgs;
    type Output = Greeting;

    async fn run(_cx: &ToolContext, _args: HelloArgs) -> Result<Reply<Greeting>, Failure> {
        let timestamp = format!("{:.3}", jiff::Timestamp::now());
        Ok(Reply::new(Greeting {
            message: "Hello from Archway!",
            timestamp,
        }))
    }
}
