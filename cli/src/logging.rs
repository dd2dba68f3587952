//! The log: to standard error, so that standard output stays a command's answer.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;

/// How much is logged, and how it looks.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Logging")]
pub struct LogArgs {
    /// What is logged: error, warn, info, debug, trace, or a list such as
    /// `warn,archway_gateway=debug` [default: `warn,rmcp=error`; of gateway and worker
    /// `info,rmcp=error`].
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

/// Starts logging, `default` unless something was asked for. Does nothing if the process logs
/// already.
pub fn start(args: &LogArgs, default: &str) {
    let builder = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(args.log.as_deref().unwrap_or(default)))
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal());
    let started = match args.log_format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
    // Only a second start fails, and the first one's choice stands.
    started.ok();
}

fn filter(text: &str) -> Result<String, tracing_subscriber::filter::ParseError> {
    EnvFilter::try_new(text).map(|_valid| text.to_owned())
}
