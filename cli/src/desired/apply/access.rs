//! Applies access rules: adds those that are missing, then removes those that are not listed.

use std::collections::BTreeSet;

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
        let was_changed = !others.is_empty() || !missing.is_empty();
        // First, since a file may replace as many rules as a tenant may have.
        for rule in others {
            self.tx.remove_access_rule(tenant, rule.id).await?;
            let name = format!("{slug}: {}", in_words(&AccessTerms::of(rule)));
            self.report.add_action("removed", "access rule", &name);
        }
        for terms in missing {
            let added = self.tx.add_access_rule(tenant, terms).await;
            added.map_err(refused("access rule", slug))?;
            let name = format!("{slug}: {}", in_words(terms));
            self.report.add_action("created", "access rule", &name);
        }
        if was_changed && desired.iter().all(|terms| terms.deny) {
            self.report.add_warning(match desired {
                [] => format!("{slug} has no access rule any more: everyone may use all projects"),
                _ => format!(
                    "no access rule of {slug} gives a project: all are hidden from everyone"
                ),
            });
        }
        if was_changed {
            self.warn_of_unknown_projects(tenant, slug, desired).await?;
        }
        Ok(())
    }

    async fn warn_of_unknown_projects(
        &mut self,
        tenant: Uuid,
        slug: &str,
        desired: &[AccessTerms],
    ) -> Result<(), ReconcileError> {
        let projects = self.tx.projects(tenant).await?.into_iter();
        let projects = projects.filter(|it| it.removed_at.is_none());
        let slugs: Vec<String> = projects.map(|it| it.slug).collect();
        let unknown: BTreeSet<&String> = desired
            .iter()
            .flat_map(|terms| terms.unknown_slugs(&slugs))
            .collect();
        for project in unknown {
            let warning =
                format!("no project of {slug} has the slug {project}, which an access rule names");
            self.report.add_warning(warning);
        }
        Ok(())
    }
}

/// `deny payroll to everyone`, and the families if there are some.
fn in_words(terms: &AccessTerms) -> String {
    let effect = if terms.deny { "deny" } else { "allow" };
    let projects: Vec<String> = terms.projects.iter().map(ToString::to_string).collect();
    let who: Vec<String> = terms.who.iter().map(ToString::to_string).collect();
    let families = terms.families.as_ref();
    let families = families.map_or_else(String::new, |it| format!(" for {}", it.join(", ")));
    format!(
        "{effect} {} to {}{families}",
        projects.join(", "),
        who.join(", ")
    )
}
