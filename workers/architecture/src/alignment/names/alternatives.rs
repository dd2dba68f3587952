//! Products and techniques, grouped by purpose.
//!
//! Each group is a pair of what its products are and their names. Semicolons separate products;
//! commas separate names of one product.

mod frontend;
mod development;
mod data;
mod operations;
mod services;
mod techniques;

/// The kind of a group's products, and their names.
pub(super) type Group = (&'static str, &'static str);

/// All groups, in a fixed order.
pub(super) fn groups() -> impl Iterator<Item = Group> {
    let all = [
        data::GROUPS,
        operations::GROUPS,
        frontend::GROUPS,
        services::GROUPS,
        development::GROUPS,
        techniques::GROUPS,
    ];
    all.into_iter().flatten().copied()
}
