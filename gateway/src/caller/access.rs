//! The access rules about one caller.

use archway_proto::{
    access::{AccessRule, BASICS},
    pass::PassAccess,
};

/// The rules about one caller, of a tenant that has rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallerAccess {
    edition: i64,
    /// By id.
    rules: Vec<AccessRule>,
}

impl CallerAccess {
    pub(crate) fn new(edition: i64, rules: Vec<AccessRule>) -> CallerAccess {
        CallerAccess { edition, rules }
    }

    /// Whether a rule gives tools of this family in any project, and none denies them in all. Those that say what there
    /// is are given with any other family.
    pub(crate) fn covers(&self, family: &str) -> bool {
        let gives = |rule: &AccessRule| !rule.deny && (family == BASICS || rule.covers(family));
        let denies =
            |rule: &AccessRule| rule.deny && rule.covers(family) && rule.is_about_all_projects();
        self.rules.iter().any(gives) && !self.rules.iter().any(denies)
    }

    /// What a pass says of it, for a credential that is for these projects.
    pub(super) fn for_pass(&self, projects: Option<Vec<String>>) -> PassAccess {
        PassAccess {
            edition: self.edition,
            rules: self.ids(),
            projects,
        }
    }

    /// The ids of the rules, ascending.
    pub(crate) fn ids(&self) -> Vec<i64> {
        self.rules.iter().map(|rule| rule.id).collect()
    }
}
