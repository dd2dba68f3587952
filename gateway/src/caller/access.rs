//! What access rules and git hosts decide about one caller.

use archway_proto::{
    access::{AccessRule, is_given_anywhere},
    host_account::HostAccount,
    pass::{PassAccess, PassHosted},
    refused_by::RefusedBy,
};

/// The rules about one caller, and its accounts, of a tenant that has rules or projects whose readers a host names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallerAccess {
    edition: i64,
    /// By id; `None` if the tenant has no rules.
    rules: Option<Vec<AccessRule>>,
    /// `None` if no host decides.
    at_hosts: Option<CallerAtHosts>,
}

/// What hosts are asked about a caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallerAtHosts {
    /// The ids of rules that name the caller's API key by its label.
    pub(crate) by_label: Vec<i64>,
    /// The caller's accounts.
    pub(crate) accounts: Vec<HostAccount>,
}

impl CallerAccess {
    pub(crate) fn new(
        edition: i64,
        rules: Option<Vec<AccessRule>>,
        at_hosts: Option<CallerAtHosts>,
    ) -> CallerAccess {
        CallerAccess {
            edition,
            rules,
            at_hosts,
        }
    }

    /// Whether rules give tools of this family in any project. Without rules all are given.
    pub(crate) fn covers(&self, family: &str) -> bool {
        let rules = self.rules.as_ref();
        rules.is_none_or(|rules| is_given_anywhere(rules.iter(), family))
    }

    /// The rules that hide a family of tools that is not covered.
    pub(crate) fn hides(&self, family: &str) -> RefusedBy {
        let rules = self.rules.iter().flatten();
        // A rule that denies some projects leaves the family in others.
        let rules = rules.filter(|rule| !rule.deny || rule.denies_everywhere(family));
        RefusedBy::of_access(rules, &[family])
    }

    /// What a pass says of it, for a credential that is for these projects: one of the two.
    pub(super) fn for_pass(
        &self,
        projects: Option<Vec<String>>,
    ) -> (Option<PassAccess>, Option<PassHosted>) {
        let edition = self.edition;
        match &self.at_hosts {
            None => {
                let rules = self.ids().unwrap_or_default();
                let access = PassAccess {
                    edition,
                    rules,
                    projects,
                };
                (Some(access), None)
            }
            Some(at_hosts) => {
                let hosted = PassHosted {
                    edition,
                    rules: self.ids(),
                    by_label: at_hosts.by_label.clone(),
                    accounts: at_hosts.accounts.clone(),
                    projects,
                };
                (None, Some(hosted))
            }
        }
    }

    /// What the caller's cursors are bound to: the rules about it, and its accounts.
    pub(super) fn cursor_scope(&self) -> String {
        let ids = self.ids().unwrap_or_default();
        match &self.at_hosts {
            None => format!("{ids:?}"),
            Some(at_hosts) => format!("{ids:?}{:?}", at_hosts.accounts),
        }
    }

    /// The ids of the rules, ascending; `None` if the tenant has no rules.
    pub(crate) fn ids(&self) -> Option<Vec<i64>> {
        let rules = self.rules.as_ref()?;
        Some(rules.iter().map(|rule| rule.id).collect())
    }
}

#[cfg(test)]
mod tests {
    use archway_proto::host_account::AccountKey;

    use super::*;

    #[test]
    fn a_worker_of_an_earlier_build_finds_no_rules_where_hosts_decide() {
        let account = HostAccount::new("github", AccountKey::Login, "ada").unwrap();
        let at_hosts = CallerAtHosts {
            by_label: Vec::new(),
            accounts: vec![account.clone()],
        };
        let access = CallerAccess::new(7, None, Some(at_hosts));
        let (access_alone, hosted) = access.for_pass(None);
        assert_eq!(access_alone, None);
        let hosted = hosted.unwrap();
        assert_eq!((hosted.edition, hosted.rules), (7, None));
        assert_eq!(hosted.accounts, [account]);
        assert!(access.covers("files"));
    }
}
