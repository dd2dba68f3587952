//! Mirrors of repositories: the role `archway sync`.
//!
//! It alone writes below the folder of repositories. What is mirrored is recorded in Postgres, and a lease there
//! gives each mirror to one process. git's own program does the transport.

// In the order in which a run uses them.
mod config;
mod syncer;
mod lister;
mod permissions;
mod runner;
pub mod store;
mod schedule;
mod overview;
mod cleanup;
mod gone;
mod webhooks;
mod host_work;
mod host_tokens;
mod app_tokens;
pub mod credentials;
pub mod remote;
pub mod mirror;
mod remote_refs;
pub mod git;
pub mod ssh;
pub mod helper;
mod volume;
mod percent;
pub mod failure;
pub mod hosts;
pub mod hooks;
pub mod confine;
mod orphans;
mod metrics;
mod server;

pub use config::SyncConfig;
pub use syncer::{SyncPorts, Syncer, SyncerError};
