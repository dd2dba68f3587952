//! Builders of the end-to-end tests: tenants with real git repositories behind a real gateway and
//! a real worker, each test with a database of its own.
//!
//! ```ignore
//! let acme = Tenant::new("acme").project("site", Repo::new().file("a.txt", "sesame").commit());
//! let stack = Harness::new().tenant(acme).start().await;
//! let hits = stack.client("acme").call("grep_codebase", json!({ "pattern": "sesame" })).await;
//! ```
//!
//! Gateway and worker talk gRPC over TCP on loopback. The worker lives on a confined thread of its
//! own; a stack that is dropped tells both to end and waits for neither. There may be several
//! gateways ([`Harness::replicas`]), with a [`Proxy`] that sends each request to the next, and a
//! worker that serves the official conformance suite's tools ([`Harness::fixture`]), or one that never answers ([`Harness::hanging`]).
//! [`Issuer`] makes tokens, good and forged; [`Embeddings`] is a service that makes vectors, and fails
//! on command; [`Qdrant`] one that finds the nearest ones; [`ChatModel`] one that says what a test has
//! it say; [`Collector`] takes traces.

mod chat;
pub mod client;
pub mod collector;
mod database;
mod embeddings;
mod fixture;
pub mod http;
pub mod issuer;
mod past;
mod proxy;
mod qdrant;
mod redis;
mod repo;
mod self_signed;
mod stack;
mod tenant;
mod tls;

pub use chat::{Asked, ChatModel, Manner};
pub use client::{Client, Reply};
pub use collector::Collector;
pub use database::Database;
pub use embeddings::{Embeddings, Mishap, Question};
pub use fixture::Hung;
pub use issuer::Issuer;
pub use past::Past;
pub use proxy::Proxy;
pub use qdrant::Qdrant;
pub use redis::RedisServer;
pub use repo::{Repo, git};
pub use stack::{Harness, RESOURCE, Stack, in_force, limit_in_force, passed};
pub use tenant::{Key, Tenant};
