//! Where the workers are, as it is configured, and what can be wrong with that.

/// Where the workers are.
#[derive(Clone, Debug, clap::Args)]
pub struct UpstreamConfig {
    /// Workers' addresses, comma-separated: `http://host:port` or `unix:/path`.
    #[arg(
        long = "worker",
        env = "ARCHWAY_WORKERS",
        value_name = "URL",
        value_delimiter = ',',
        required = true
    )]
    pub workers: Vec<String>,
    /// The pool these workers belong to: passes are good for it alone.
    #[arg(
        long,
        env = "ARCHWAY_POOL",
        value_name = "NAME",
        default_value = "shared"
    )]
    pub pool: String,
    /// Seconds a call may take, 1 to 30.
    #[arg(
        long,
        env = "ARCHWAY_CALL_DEADLINE",
        value_name = "SECONDS",
        default_value = "10",
        value_parser = clap::value_parser!(u64).range(1..=30)
    )]
    pub call_deadline: u64,
}

/// Why the workers' addresses are of no use.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// The list is empty.
    #[error("no worker address is configured")]
    NoWorker,
    /// An address does not parse.
    #[error("{address:?} is no worker address (http://host:port or unix:/path)")]
    Address {
        /// As configured.
        address: String,
        /// What tonic said, if it was asked.
        #[source]
        source: Option<tonic::transport::Error>,
    },
}
