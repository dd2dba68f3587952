//! The family `memory`: what agents write down about a project, and read back.
//!
//! What a reader would get wrong: nothing is ever changed. A decision that no longer holds is
//! superseded by another, and what must not stand there is erased by the operator.

mod write_memory_entry;
mod record_discovery;
mod search_memory;

mod entry;

pub(super) use record_discovery::RecordDiscovery;
pub(super) use search_memory::SearchMemory;
pub(super) use write_memory_entry::WriteMemoryEntry;

/// A moment of the store's, microseconds since 1970, as it is shown: RFC 3339 in UTC.
fn rfc3339(micros: i64) -> String {
    let moment = jiff::Timestamp::from_microsecond(micros);
    format!("{:.6}", moment.unwrap_or(jiff::Timestamp::UNIX_EPOCH))
}
