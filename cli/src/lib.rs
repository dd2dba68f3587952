//! The parts of the binary `archway`: the command line, its commands, and the embedded PostgreSQL that
//! `dev` and the tests run on.
//!
//! This crate is the composition root: the only one that knows both the gateway and the workers.

// Commands, then what they use.
pub mod command;
pub mod admin;
pub mod tenants;
pub mod dev;
pub mod gateway;
pub mod worker;
pub mod sync;
pub mod migrate;
pub mod init;
pub mod secret;
pub mod pass_key;
pub mod settings;
pub mod healthcheck;
pub mod call;

// The state that `apply` and `dev` reconcile the database to.
pub mod desired;

pub mod http_get;
pub mod logging;
pub mod output;
pub mod otlp;
pub mod tls;

pub mod postgres;

pub mod data_dir;
pub mod socket_dir;

mod account;
#[cfg(target_env = "gnu")]
mod allocator;
mod key_file;
pub mod password_file;
pub mod bind;
mod database_role;
pub mod drain;
mod file_limit;
mod host_name;
mod signals;
