//! Mirrors of repositories: the role `archway sync`.
//!
//! It alone writes below the folder of repositories. What is mirrored is recorded in Postgres.

pub mod remote;
pub mod credentials;
pub mod failure;
pub mod git;
pub mod mirror;
