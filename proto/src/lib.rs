//! The contract between gateway and workers, and the words of failure both use.
//!
//! Depends on nothing of ours. One generic RPC ([`v1`]) carries every MCP method; beside the
//! message travel a [`pass`] (who is calling, signed) and a [`context`] (call id, deadline, trace).

pub mod catalog;
pub mod chain;
pub mod context;
pub mod failure;
pub mod fault;
pub mod log;
pub mod meta;
pub mod method;
pub mod misleading;
pub mod name;
pub mod nearest;
pub mod pass;
pub mod pool;
pub mod trace;

/// Generated from `proto/archway/v1/worker.proto`.
#[expect(
    missing_docs,
    unused_qualifications,
    clippy::allow_attributes,
    clippy::allow_attributes_without_reason,
    clippy::doc_markdown,
    clippy::too_many_lines,
    reason = "generated"
)]
pub mod v1 {
    tonic::include_proto!("archway.v1");
}

/// The largest message either side accepts, in bytes: a request body of 1 MiB with room for the
/// envelope one way, `read_file`'s largest result (1 MiB of text, JSON-escaped) the other.
pub const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;
