//! Products and techniques, grouped by purpose.
//!
//! Each group is a pair of what its products are and their names. Semicolons separate products;
//! commas separate names of one product.

mod clients;
mod code;
mod data;
mod running;
mod services;
mod ways;

/// What a group's products are, and their names.
pub(super) type Block = (&'static str, &'static str);

/// All groups, in a fixed order.
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
