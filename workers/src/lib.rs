//! Archway's workers. They speak gRPC and run tools on repositories that are mounted read-only.
//! Between calls they hold nothing but caches.
//!
//! A call arrives at [`server`], [`service`] verifies its pass, and it runs in [`tools`]. Tools
//! build on the crates below: [`archway_repo`] for files, [`archway_history`] for git's history,
//! [`archway_store`] for rows, [`archway_index`] for search by meaning, [`archway_architecture`]
//! for decisions and imports.

// Outside the path of a call: the admin port and the report of mounted projects.
pub mod admin;
mod mount_report;

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
pub mod access;
mod workflows;

// Shared by several modules above.
mod blocking;
pub mod chat;
mod metrics;
