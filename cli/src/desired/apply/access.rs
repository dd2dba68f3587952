//! Applies access rules: removes those that are not listed, then adds those that are missing.

use std::collections::BTreeSet;

use uuid::Uuid;

use super::{Applier, refused};
use crate::desired::{DesiredKey, ReconcileError};
use crate::tenants::AccessTerms;

impl Applier<'_> {
    /// Sets the access rules of a tenant. A rule that stays as it is keeps its id, so passes that name it stay good.
    pub(super) async fn access(
        &mut self,
        tenant: Uuid,
        slug: &str,
        desired: &[AccessTerms],
        keys: &[DesiredKey],
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
            self.warn_of_unknown_names(tenant, slug, desired, keys)
                .await?;
        }
        Ok(())
    }

    /// Warns of projects and labels that rules name and nothing has: a misspelt rule denies nothing.
    async fn warn_of_unknown_names(
        &mut self,
        tenant: Uuid,
        slug: &str,
        desired: &[AccessTerms],
        keys: &[DesiredKey],
    ) -> Result<(), ReconcileError> {
        let slugs = self.tx.project_slugs(tenant).await?;
        let mut labels = self.tx.live_labels(tenant).await?;
        // The keys of the file are made after its rules.
        labels.extend(keys.iter().map(|key| key.terms.label.clone()));
        let (mut projects, mut unknown) = (BTreeSet::new(), BTreeSet::new());
        for terms in desired {
            projects.extend(terms.unknown_slugs(&slugs));
            unknown.extend(terms.unknown_labels(&labels));
        }
        for project in projects {
            self.report.add_warning(format!(
                "no project of {slug} has the slug {project}, which an access rule names"
            ));
        }
        for label in unknown {
            self.report.add_warning(format!(
                "no live key of {slug} has the label {label}, which an access rule names"
            ));
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
