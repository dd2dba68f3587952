//! The search index over a project's code, decisions and discoveries.
//!
//! A text is cut into chunks ([`chunk`]). Of each chunk and its name ([`chunk_text`]), the words are
//! counted ([`terms`]) and, if an embedder is configured, a vector is made ([`embed`]). Both go to a
//! [`vector_store`], which finds the nearest chunks to a query. A chunk depends on the bytes of its
//! text alone, never on the file's path: a renamed file needs no upload.

pub mod openai;
pub mod config;
pub mod metrics;

// In the order of a text's way into the index and out of it.
pub mod chunk;
pub mod chunk_text;
pub mod terms;
pub mod embed;
pub mod vector_store;
mod prepare;
mod thread;
mod documents;
pub mod role;
pub mod reading;
pub mod fuse;
pub mod search;
pub mod signals;
mod change_listener;
pub mod indexer;
