//! What a project says of its architecture: decisions, patterns and guidelines, as documents.
//!
//! [`library`] finds the files at the call's snapshot and keeps what was made of them; a
//! [`document`] is markdown ([`markdown`]), a decision is taken apart besides ([`adr`]). All of
//! them are searched ([`search`]), and code is held against a pattern ([`rules`]). What else the
//! documents mean for a question is for the tools that ask.

// In the order a file meets them.
pub mod library;
mod words;
pub mod document;
pub(crate) mod markdown;
pub(crate) mod adr;
pub mod search;
pub mod alignment;
pub mod rules;
pub mod dependencies;
