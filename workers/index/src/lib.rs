//! What a project's code, decisions and discoveries are about, made searchable.
//!
//! A text is cut into chunks ([`chunk`]); of each, and of its name ([`named`]), its words are counted ([`terms`]) and, where an
//! embedder is set, a vector is made ([`embed`]). Both go to a home ([`vector_store`]), which finds the
//! nearest chunks again. A chunk depends on the bytes of its text alone, never on what the file is
//! called: a file that was renamed is at home already.

pub mod openai;
pub mod config;
pub mod metrics;

// In the order in which a text comes to be found.
pub mod chunk;
pub mod named;
pub mod terms;
pub mod embed;
pub mod vector_store;
mod prepare;
mod thread;
mod documents;
pub mod fuse;
pub mod meaning;
pub mod indexer;
