//! The access rules of tenants: which of them are about a caller. And which of their connections say by a git host who
//! may read what: which of the caller's accounts count.
//!
//! A tenant's rules are read once for all its callers and cached like records of keys: a change notification about
//! the tenant ends their use. So a change is in force within a second. While Postgres is away, callers keep what their
//! confirmed records say.

use std::sync::Arc;

use archway_proto::{
    access::{AccessRule, Caller, Who},
    host_account::HostAccount,
};
use uuid::Uuid;

use super::{
    lookup::{FRESH, LookupError},
    versions::{RecordVersion, RecordVersions},
};
use crate::{
    caller::{CallerAccess, CallerAtHosts},
    store::{StoreError, Stores},
};

/// Tenants whose rules are cached: a few bytes each for those without rules.
const MOST_TENANTS: u64 = 10_000;

/// The rules of a tenant.
#[derive(Debug)]
pub(super) struct TenantAccess {
    edition: i64,
    rules: Vec<AccessRule>,
    /// Connections whose host says who may read what.
    hosts: Vec<String>,
    read: RecordVersion,
}

/// The look-up of rules, and its cache.
#[derive(Clone)]
pub(super) struct AccessRules {
    stores: Stores,
    cache: moka::future::Cache<Uuid, Arc<TenantAccess>>,
    versions: Arc<RecordVersions>,
}

impl AccessRules {
    pub(super) fn new(stores: Stores, versions: Arc<RecordVersions>) -> AccessRules {
        AccessRules {
            stores,
            cache: moka::future::Cache::builder()
                .max_capacity(MOST_TENANTS)
                .time_to_live(FRESH)
                .build(),
            versions,
        }
    }

    /// The numbers of reads and notifications.
    pub(super) fn versions(&self) -> &Arc<RecordVersions> {
        &self.versions
    }

    /// The rules of a tenant.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub(super) async fn of(&self, tenant: Uuid) -> Result<Arc<TenantAccess>, LookupError> {
        if let Some(cached) = self.cache.get(&tenant).await
            && self.versions.is_fresh("", tenant, cached.read)
        {
            return Ok(cached);
        }
        // Boxed, like the one below: each call's future would be as large as this rare one.
        let access = Arc::new(Box::pin(self.read(tenant)).await?);
        self.cache.insert(tenant, Arc::clone(&access)).await;
        Ok(access)
    }

    /// What is decided about an API key; `None` if its tenant has no rules and no host decides. A key is nobody's
    /// account.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub(super) async fn of_key(
        &self,
        tenant: Uuid,
        id: &str,
    ) -> Result<Option<CallerAccess>, LookupError> {
        let access = self.of(tenant).await?;
        let label = match access.names_keys() {
            true => {
                let store = self.stores.tenant(tenant);
                Box::pin(store.key_label(id)).await?
            }
            false => None,
        };
        let label = label.unwrap_or_default();
        Ok(access.about(Caller::Key { label: &label }, &[]))
    }

    async fn read(&self, tenant: Uuid) -> Result<TenantAccess, StoreError> {
        let read = self.versions.reading();
        let (edition, rules, hosts) = self.stores.tenant(tenant).access_rules().await?;
        Ok(TenantAccess {
            edition,
            rules,
            hosts,
            read,
        })
    }
}

impl TenantAccess {
    /// What is decided about a caller with these accounts; `None` if the tenant has no rules and no host decides.
    pub(super) fn about(
        &self,
        caller: Caller<'_>,
        accounts: &[HostAccount],
    ) -> Option<CallerAccess> {
        let about = self.rules.iter().filter(|rule| rule.is_about(caller));
        let rules = (!self.rules.is_empty()).then(|| about.cloned().collect());
        let at_hosts = (!self.hosts.is_empty()).then(|| {
            let named = self.rules.iter().filter(|rule| rule.names_key(caller));
            let counts = |it: &&HostAccount| self.hosts.contains(&it.connection);
            CallerAtHosts {
                by_label: named.map(|rule| rule.id).collect(),
                accounts: accounts.iter().filter(counts).cloned().collect(),
            }
        });
        let decides = rules.is_some() || at_hosts.is_some();
        decides.then(|| CallerAccess::new(self.edition, rules, at_hosts))
    }

    #[cfg(test)]
    pub(super) fn without_rules() -> TenantAccess {
        TenantAccess {
            edition: 0,
            rules: Vec::new(),
            hosts: Vec::new(),
            read: RecordVersion {
                at: tokio::time::Instant::now(),
                version: 1,
            },
        }
    }

    fn names_keys(&self) -> bool {
        let mut who = self.rules.iter().flat_map(|rule| &rule.who);
        who.any(|who| matches!(who, Who::Key(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(id: i64, who: &str, projects: &str, families: &[&str], deny: bool) -> AccessRule {
        let families: Vec<String> = families.iter().map(|it| (*it).to_owned()).collect();
        AccessRule {
            id,
            who: vec![who.to_owned().try_into().unwrap()],
            projects: vec![projects.to_owned().try_into().unwrap()],
            families: (!families.is_empty()).then_some(families),
            deny,
        }
    }

    fn tenant(rules: Vec<AccessRule>) -> TenantAccess {
        TenantAccess {
            edition: 7,
            rules,
            ..TenantAccess::without_rules()
        }
    }

    #[test]
    fn without_rules_nothing_is_restricted_and_with_one_all_else_is() {
        let key = Caller::Key { label: "ci" };
        assert_eq!(tenant(Vec::new()).about(key, &[]), None);
        let others = tenant(vec![rule(1, "group:dev", "*", &[], false)]);
        let about = others.about(key, &[]).unwrap();
        assert!(about.ids() == Some(Vec::new()) && !about.covers("files"));
    }

    #[test]
    fn a_family_is_covered_if_a_rule_gives_it_and_none_denies_it_everywhere() {
        let rules = vec![
            rule(1, "everyone", "web-*", &["files", "git"], false),
            rule(2, "key:ci", "*", &["git"], true),
            rule(3, "key:ci", "web-1", &["files"], true),
        ];
        let access = tenant(rules);
        let covered = |label: &str| {
            let about = access.about(Caller::Key { label }, &[]).unwrap();
            ["files", "git", "memory"].map(|family| about.covers(family))
        };
        assert_eq!(covered("ci"), [true, false, false]);
        assert_eq!(covered("other"), [true, true, false]);
        assert!(access.names_keys());
    }
}
