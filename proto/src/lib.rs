//! The contract between gateway and workers, and the failures that both use.
//!
//! Depends on no other crate of Archway. One generic RPC ([`v1`]) carries every MCP method. Each message
//! is accompanied by a [`pass`] (the caller's signed identity) and a [`context`] (call id, deadline,
//! trace).

pub mod access;
pub mod catalog;
pub mod chain;
pub mod context;
pub mod failure;
pub mod fault;
pub mod host_account;
pub mod log;
pub mod meta;
pub mod method;
pub mod misleading;
pub mod name;
pub mod nearest;
pub mod pass;
pub mod refused_by;
pub mod pool;
pub mod trace;
mod trace_context;

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

/// The largest message that either side accepts, in bytes. Requests are bodies of at most 1 MiB plus the
/// envelope; the largest result is `read_file`'s (1 MiB of text, JSON-escaped).
pub const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;
