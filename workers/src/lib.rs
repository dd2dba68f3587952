//! Archway's workers: they speak gRPC, run tools on repositories mounted read-only, and keep
//! nothing between calls but caches.
//!
//! A call comes in by [`server`], is believed by [`service`] (the pass), runs in [`tools`] and
//! reaches files only through [`repo`], what was in them before through `history`, and rows only through [`store`].

// Above the path: what probes and administrators are told.
pub mod admin;
mod report;

// In the order a call meets them.
pub mod server;
mod service;
mod rooms;
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
