//! Architecture documents of a project: decisions, patterns and guidelines.
//!
//! [`library`] finds the files at a snapshot and caches parsed documents. A [`document`] is parsed
//! as [`markdown`]; for a decision, [`adr`] also extracts its fields. [`search`] searches
//! documents, [`alignment`] compares proposals with decisions, and [`rules`] checks code against a
//! pattern. [`dependencies`] finds the files that a source file imports.

// In processing order.
pub mod library;
mod words;
pub mod document;
pub(crate) mod markdown;
pub(crate) mod adr;
pub mod search;
pub mod alignment;
pub mod rules;
pub mod dependencies;
