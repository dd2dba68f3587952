//! Archway's workers: they speak gRPC, run tools on repositories mounted read-only, and keep
//! nothing between calls but caches.
//!
//! A call comes in by [`server`], [`service`] verifies its pass, and it runs in [`tools`]. Tools stand on
//! the crates below: files through [`archway_repo`], history through [`archway_history`], rows through
//! [`archway_store`], meaning through [`archway_index`], decisions and imports through
//! [`archway_architecture`].

// Above the path: what probes and administrators are told.
pub mod admin;
mod report;

// In the order a call meets them.
pub mod server;
mod service;
mod methods;
mod completion;
mod prompts;
mod resources;
pub mod tools;
mod context;
mod projects;
mod workflows;

// Beside the path: what several stops use.
mod blocking;
pub mod chat;
mod metrics;
