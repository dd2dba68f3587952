//! Mirrors of repositories: the role `archway sync`.
//!
//! It alone writes below the folder of repositories. What is mirrored is recorded in Postgres.

pub mod hosts;
pub mod remote;
