//! The tool families by which rules have to give a project.

use archway_proto::access::{AccessRule, BASICS};

/// Tool families of which one has to be given for a project. Empty, or the basics: any.
pub type Families = &'static [&'static str];

/// Whether these stand for any family.
pub(super) fn is_any(families: Families) -> bool {
    matches!(families, [] | [BASICS])
}

/// The families of which rules have to give one: for any, those of the credential, or all.
pub(super) fn needed<'a>(
    families: Families,
    own: Option<&'a [String]>,
    rules: impl Iterator<Item = &'a AccessRule>,
) -> Vec<&'a str> {
    if !is_any(families) {
        return families.to_vec();
    }
    let own = own.into_iter().flatten().map(String::as_str);
    let own: Vec<&str> = own.filter(|family| *family != BASICS).collect();
    if !own.is_empty() {
        return own;
    }
    // A family that no rule names is given like any other one that none names.
    let named = rules.flat_map(|rule| rule.families.iter().flatten());
    std::iter::once("")
        .chain(named.map(String::as_str))
        .collect()
}
