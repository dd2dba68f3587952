//! Products and techniques, by what they are for.
//!
//! Each block stands behind what its things are; things stand between semicolons, and between commas
//! the names of one thing.

mod clients;
mod code;
mod data;
mod running;
mod services;
mod ways;

/// What things of a block are, and their names.
pub(super) type Block = (&'static str, &'static str);

/// All blocks, in an order that stays.
pub(super) fn blocks() -> impl Iterator<Item = Block> {
    let all = [
        data::BLOCKS,
        running::BLOCKS,
        clients::BLOCKS,
        services::BLOCKS,
        code::BLOCKS,
        ways::BLOCKS,
    ];
    all.into_iter().flatten().copied()
}
