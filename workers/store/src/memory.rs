//! What agents remember, as one tenant sees it: entries and discoveries, appended and never changed.
//!
//! The worker's role may read the tables and nothing else: a function of the database appends,
//! which counts, keeps the quota, and does a write once under its key (`migrations/0006_memory.sql`).

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

pub use discoveries::NewDiscovery;
pub use entries::{MemoryFileContent, NewEntry};
pub use failure::unreachable;
pub use search::{EntryFilter, EntryPosition, StoredEntry};
pub use words::words;

/// How long memory is waited for, whatever the call's deadline: longer than a connection and a
/// statement may take by themselves.
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

    /// The file of a name, or `None`.
    pub fn parse(name: &str) -> Option<MemoryFile> {
        MemoryFile::ALL.into_iter().find(|file| file.name() == name)
    }
}

/// Under which key a write is done once, however often it comes.
#[derive(Clone, Debug)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// The client's own key, else the gateway's id of the call, which its retries keep. The two are
    /// told apart: a client can't name somebody's call.
    pub fn new(of_client: Option<&str>, call: Uuid) -> Self {
        IdempotencyKey(match of_client {
            Some(key) => format!("key:{key}"),
            None => format!("call:{call}"),
        })
    }
}

/// Who writes, and under which key.
#[derive(Clone, Copy, Debug)]
pub struct Author<'a> {
    /// The caller.
    pub principal: &'a str,
    /// The key under which the write is done once.
    pub key: &'a IdempotencyKey,
}

/// Why nothing was written, or nothing is known of it.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Something else was written under the key.
    #[error("other content was written under this key")]
    OtherContent,
    /// No room is left.
    #[error("the tenant's memory is full")]
    QuotaExceeded,
    /// The project has no such discovery.
    #[error("there is no such discovery to supersede")]
    UnknownDiscovery,
    /// The database was not asked, or said no.
    #[error("nothing was written")]
    NotWritten(#[source] StoreError),
    /// The database was told to make it last, and did not say whether it did.
    #[error("whether it was written is unknown")]
    Unknown(#[source] StoreError),
}

impl WriteError {
    /// What a function of the database says of a write.
    fn check_outcome(outcome: &str) -> Result<(), WriteError> {
        match outcome {
            "written" => Ok(()),
            "other_content" => Err(WriteError::OtherContent),
            "quota_exceeded" => Err(WriteError::QuotaExceeded),
            "unknown_discovery" => Err(WriteError::UnknownDiscovery),
            _ => Err(not_written("reading what became of a write")(
                sqlx::Error::RowNotFound,
            )),
        }
    }
}

/// For `map_err`: a statement failed, so its transaction changes nothing.
fn not_written(what: &'static str) -> impl FnOnce(sqlx::Error) -> WriteError {
    move |source| WriteError::NotWritten(StoreError::Query { what, source })
}

/// Makes a write last.
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

/// Writes within the call's deadline. Only what was acknowledged is known to be there.
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
