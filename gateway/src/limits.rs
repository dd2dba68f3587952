//! Limits: what a message costs is spent before anything is done for it, or it is refused.
//!
//! Met in `mcp` once the message and its session are known, before the catalogue judges it.

mod charge;
mod local;
