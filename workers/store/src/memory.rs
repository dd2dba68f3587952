//! The memory of one tenant's agents: entries and discoveries, appended and never changed.
//!
//! The worker's role may only read the tables. A database function appends: it counts, enforces the
//! quota, and applies a write once per idempotency key (`migrations/0006_memory.sql`).

mod entries;
mod failure;
mod discoveries;
mod search;
mod words;

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::{Postgres, Transaction};
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

use super::StoreError;

pub use discoveries::{DiscoveryPosition, NewDiscovery, StoredDiscovery};
pub use entries::{MemoryFileContent, NewEntry};
pub use failure::unreachable;
pub use search::{EntryFilter, EntryPosition, StoredEntry};
pub use words::words;

/// Time limit for memory, whatever the call's deadline: longer than a connection and a statement
/// may take by themselves.
const MEMORY_TIMEOUT: Duration = Duration::from_secs(8);

/// A file that entries are appended to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(
    missing_docs,
    reason = "their names say it, and a comment would become part of a tool's schema"
)]
pub enum MemoryFile {
    #[serde(rename = "progress_log.jsonl")]
    ProgressLog,
    #[serde(rename = "decisions.jsonl")]
    Decisions,
}

impl MemoryFile {
    /// All files.
    pub const ALL: [MemoryFile; 2] = [MemoryFile::ProgressLog, MemoryFile::Decisions];

    /// The name in arguments, in results and in the database.
    pub fn name(self) -> &'static str {
        match self {
            MemoryFile::ProgressLog => "progress_log.jsonl",
            MemoryFile::Decisions => "decisions.jsonl",
        }
    }

    /// The file with this name.
    pub fn parse(name: &str) -> Option<MemoryFile> {
        MemoryFile::ALL.into_iter().find(|file| file.name() == name)
    }
}

/// The key under which a write is applied once, however often it arrives.
#[derive(Clone, Debug)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// The client's key, or else the gateway's call id, which stays the same across retries. The
    /// prefixes keep clients from naming another call.
    pub fn new(of_client: Option<&str>, call: Uuid) -> Self {
        IdempotencyKey(match of_client {
            Some(key) => format!("key:{key}"),
            None => format!("call:{call}"),
        })
    }
}

/// The writer, and its idempotency key.
#[derive(Clone, Copy, Debug)]
pub struct Author<'a> {
    /// The caller.
    pub principal: &'a str,
    /// The key under which the write is applied once.
    pub key: &'a IdempotencyKey,
}

/// Why nothing was written, or the outcome is unknown.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Other content was written under the key.
    #[error("other content was written under this key")]
    OtherContent,
    /// The quota is used up.
    #[error("the tenant's memory is full")]
    QuotaExceeded,
    /// The project has no such discovery.
    #[error("there is no such discovery to supersede")]
    UnknownDiscovery,
    /// The database was not reached, or rejected the write.
    #[error("nothing was written")]
    NotWritten(#[source] StoreError),
    /// The commit was sent, but its outcome is unknown.
    #[error("whether it was written is unknown")]
    Unknown(#[source] StoreError),
}

impl WriteError {
    /// Maps the outcome that the database function returned.
    fn check_outcome(outcome: &str) -> Result<(), WriteError> {
        match outcome {
            "written" => Ok(()),
            "other_content" => Err(WriteError::OtherContent),
            "quota_exceeded" => Err(WriteError::QuotaExceeded),
            "unknown_discovery" => Err(WriteError::UnknownDiscovery),
            _ => Err(not_written("reading the outcome of a write")(
                sqlx::Error::RowNotFound,
            )),
        }
    }
}

/// For `map_err`: a statement failed, so its transaction changes nothing.
fn not_written(what: &'static str) -> impl FnOnce(sqlx::Error) -> WriteError {
    move |source| WriteError::NotWritten(StoreError::Query { what, source })
}

/// Commits a write.
async fn commit(tx: Transaction<'static, Postgres>) -> Result<(), WriteError> {
    let what = "committing a write to memory";
    tx.commit()
        .await
        .map_err(|source| WriteError::Unknown(StoreError::Query { what, source }))
}

/// Reads within the call's deadline.
pub async fn read_by<T>(
    deadline: Instant,
    work: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    match timeout_at(capped(deadline), work).await {
        Ok(read) => read,
        Err(_elapsed) => Err(StoreError::TimedOut("reading memory")),
    }
}

/// Writes within the call's deadline. Only an acknowledged write is known to be stored.
pub async fn write_by<T>(
    deadline: Instant,
    work: impl Future<Output = Result<T, WriteError>>,
) -> Result<T, WriteError> {
    match timeout_at(capped(deadline), work).await {
        Ok(written) => written,
        Err(_elapsed) => Err(WriteError::Unknown(StoreError::TimedOut(
            "writing to memory",
        ))),
    }
}

fn capped(deadline: Instant) -> Instant {
    deadline.min(Instant::now() + MEMORY_TIMEOUT)
}
