//! The harness of the end-to-end tests: tenants with real git repositories behind a real gateway and
//! a real worker. Each test has a database of its own.
//!
//! ```ignore
//! let acme = Tenant::new("acme").project("site", Repo::new().file("a.txt", "sesame").commit());
//! let stack = Harness::new().tenant(acme).start().await;
//! let hits = stack.client("acme").call("grep_codebase", json!({ "pattern": "sesame" })).await;
//! ```
//!
//! Gateway and worker speak gRPC over TCP on loopback. The worker runs on a confined thread of its
//! own. Dropping a stack tells both to end and waits for neither. Variants:
//!
//! - [`Harness::replicas`] starts several gateways, and a [`Proxy`] spreads requests over them.
//! - [`Harness::fixture`] replaces the worker by one with the official conformance suite's tools, and
//!   [`Harness::hanging`] adds a tool that never answers.
//! - [`Issuer`] signs tokens, valid and forged. [`Embeddings`] makes vectors, [`Qdrant`] stores and
//!   searches them, and [`ChatModel`] says what a test chooses; all three fail on command.
//! - [`Collector`] receives traces, and [`RedisServer`] counts shared limits.
//!
//! [`sample_calls`] is the one table of how suites call each tool: a new tool gets its entry there.

mod chat;
pub mod client;
pub mod collector;
mod database;
mod embeddings;
mod fixture;
mod git;
mod git_host;
pub mod http;
pub mod issuer;
mod generated_history;
mod proxy;
mod qdrant;
mod redis;
mod repo;
pub mod sample_calls;
mod self_signed;
mod stack;
mod tenant;
mod tls;

pub use chat::{ChatModel, ChatRequest, Manner};
pub use client::{Client, Reply};
pub use collector::Collector;
pub use database::Database;
pub use embeddings::{EmbeddingRequest, Embeddings, Mishap};
pub use fixture::HangEvent;
pub use generated_history::GeneratedHistory;
pub use git::git;
pub use git_host::{
    GitHost, GivenToken, credentials, send_gitea_hook, send_gitea_push, send_gitlab_hook,
    send_gitlab_push, send_hook, send_payload,
};
pub use issuer::Issuer;
pub use proxy::Proxy;
pub use qdrant::Qdrant;
pub use redis::RedisServer;
pub use repo::Repo;
pub use stack::{Harness, RESOURCE, Stack, until_enforced, until_limit_enforced, was_admitted};
pub use tenant::{Key, Tenant};
