//! The log: to standard error, so that standard output stays a command's answer.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use crate::otlp;

/// How much is logged, and how it looks.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Logging")]
pub struct LogArgs {
    /// What is logged: error, warn, info, debug, trace, or a list such as
    /// `warn,archway_gateway=debug` [default: `warn,rmcp=error`; of gateway and worker
    /// `info,rmcp=error`; of dev `warn,archway::dev=info,rmcp=error`].
    #[arg(
        long, env = "ARCHWAY_LOG", value_name = "FILTER", value_parser = filter, global = true
    )]
    pub log: Option<String>,
    /// How a line of the log looks.
    #[arg(
        long,
        env = "ARCHWAY_LOG_FORMAT",
        value_name = "FORMAT",
        default_value = "text",
        global = true
    )]
    pub log_format: LogFormat,
}

/// How a line of the log looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// For people; in colour on a terminal.
    Text,
    /// An object a line, for programs.
    Json,
}

/// Starts logging, `default` unless something was asked for, and with `traces` what statements are
/// recorded by. Does nothing if the process logs already.
pub fn start(args: &LogArgs, default: &str, traces: bool) {
    let filter = EnvFilter::new(args.log.as_deref().unwrap_or(default));
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal());
    // A filter of its own: what the log shows decides nothing about traces.
    let lines = match args.log_format {
        LogFormat::Text => lines.with_filter(filter).boxed(),
        LogFormat::Json => lines.json().with_filter(filter).boxed(),
    };
    let started = tracing_subscriber::registry()
        .with(lines)
        .with(traces.then(otlp::statements))
        .try_init();
    // Only a second start fails, and the first one's choice stands.
    started.ok();
}

fn filter(text: &str) -> Result<String, tracing_subscriber::filter::ParseError> {
    EnvFilter::try_new(text).map(|_valid| text.to_owned())
}
