//! Administration as an operator does it: the built binary against a database of its own.

#![expect(clippy::unwrap_used, reason = "a test")]

mod place;

mod apply;
mod apply_keys;
mod apply_limits;
mod audit;
mod connecting;
mod dev;
mod found;
mod keys;
mod limits;
mod memory;
mod misleading;
mod output;
mod overview;
mod principals;
mod projects;
mod purge;
mod status;
mod tenants;
