//! The family `memory`: notes that agents write about a project and read later.
//!
//! Entries never change. A newer entry supersedes a decision that no
//! longer holds, and operators can erase entries.

mod write_memory_entry;
mod record_discovery;
mod search_memory;

mod entry;
mod page;

pub(super) use record_discovery::RecordDiscovery;
pub(super) use search_memory::SearchMemory;
pub(super) use write_memory_entry::WriteMemoryEntry;

/// Formats the store's timestamps, microseconds since 1970, as RFC 3339 in UTC.
fn rfc3339(micros: i64) -> String {
    let moment = jiff::Timestamp::from_microsecond(micros);
    format!("{:.6}", moment.unwrap_or(jiff::Timestamp::UNIX_EPOCH))
}
