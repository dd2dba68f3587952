//! The access rules about one caller.

use archway_proto::{access::AccessRule, pass::PassAccess};

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

    /// Whether a rule gives tools of this family in any project, and none denies them in all.
    pub(crate) fn covers(&self, family: &str) -> bool {
        let covering = || self.rules.iter().filter(|rule| rule.covers(family));
        let is_given = covering().any(|rule| !rule.deny);
        is_given && !covering().any(|rule| rule.deny && rule.is_about_all_projects())
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
