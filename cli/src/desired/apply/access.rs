//! Applies access rules: adds those that are missing, then removes those that are not listed.

use uuid::Uuid;

use super::{Applier, refused};
use crate::desired::ReconcileError;
use crate::tenants::AccessTerms;

impl Applier<'_> {
    /// Sets the access rules of a tenant. A rule that stays as it is keeps its id, so passes that name it stay good.
    pub(super) async fn access(
        &mut self,
        tenant: Uuid,
        slug: &str,
        desired: &[AccessTerms],
    ) -> Result<(), ReconcileError> {
        let mut others = self.tx.access_rules(tenant).await?;
        let mut missing = Vec::new();
        for terms in desired {
            match others.iter().position(|rule| terms.is(rule)) {
                Some(at) => {
                    others.remove(at);
                    self.report.add_comparison("access rule", slug, Vec::new());
                }
                None => missing.push(terms),
            }
        }
        // First, since a file may replace as many rules as a tenant may have.
        for rule in others {
            self.tx.remove_access_rule(tenant, rule.id).await?;
            let name = format!("{slug} {}", rule.id);
            self.report.add_action("removed", "access rule", &name);
        }
        for terms in missing {
            let added = self.tx.add_access_rule(tenant, terms).await;
            let id = added.map_err(refused("access rule", slug))?;
            let name = format!("{slug} {id}");
            self.report.add_action("created", "access rule", &name);
        }
        Ok(())
    }
}
