//! Administration as an operator does it: the built binary, with a database per test.

#![expect(clippy::unwrap_used, reason = "a test")]

mod installation;

mod access;
mod access_answers;
mod apply;
mod apply_keys;
mod apply_limits;
mod apply_reset;
mod audit;
mod changes;
mod connecting;
mod connections;
mod dev;
mod discovered;
mod keys;
mod keys_each;
mod limits;
mod memory;
mod misleading;
mod mistakes;
mod output;
mod overview;
mod pages;
mod principals;
mod projects;
mod purge;
mod recorded_tables;
mod status;
mod tenants;
mod usage;
