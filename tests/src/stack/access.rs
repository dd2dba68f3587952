//! Access rules while the stack runs.

use archway::tenants::AccessTerms;

use super::Stack;

impl Stack {
    /// Adds an access rule, which notifies the gateways. Returns its id.
    pub async fn allow(&self, tenant: &str, who: &str, projects: &[&str]) -> i64 {
        self.rule(tenant, who, (projects, None), false).await
    }

    /// The same for some families of tools.
    pub async fn allow_families(
        &self,
        tenant: &str,
        who: &str,
        projects: &[&str],
        families: &[&str],
    ) -> i64 {
        self.rule(tenant, who, (projects, Some(families)), false)
            .await
    }

    /// Adds a rule that denies, which notifies the gateways. Returns its id.
    pub async fn deny(&self, tenant: &str, who: &str, projects: &[&str]) -> i64 {
        self.rule(tenant, who, (projects, None), true).await
    }

    /// Removes a rule, which notifies the gateways.
    pub async fn remove_rule(&self, tenant: &str, rule: i64) {
        let id = self.tenant_id(tenant);
        let removed = self
            .tenants
            .change(async |tx| tx.remove_access_rule(id, rule).await);
        removed.await.unwrap();
    }

    async fn rule(
        &self,
        tenant: &str,
        who: &str,
        (projects, families): (&[&str], Option<&[&str]>),
        deny: bool,
    ) -> i64 {
        let owned = |texts: &[&str]| texts.iter().map(|&it| it.to_owned()).collect::<Vec<_>>();
        let families = families.map(owned);
        let who = [who.to_owned()];
        let terms = AccessTerms::read(&who, &owned(projects), families.as_deref(), deny).unwrap();
        let id = self.tenant_id(tenant);
        let added = self
            .tenants
            .change(async |tx| tx.add_access_rule(id, &terms).await);
        added.await.unwrap()
    }
}
