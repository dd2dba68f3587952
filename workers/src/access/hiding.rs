//! What hides a project from a caller, for operators.

use archway_proto::access::BASICS;
use archway_proto::pass::Pass;
use archway_proto::refusal_rule::RefusalRule;

use super::{Families, ProjectAccess, Readable};

impl ProjectAccess {
    /// What hides a project of the caller's tenant from it; `None` if there is no such project, or if the rules cannot
    /// be read.
    pub(crate) async fn hiding(
        &self,
        pass: &Pass,
        (readable, slug): (&Readable, &str),
        families: Families,
    ) -> Option<RefusalRule> {
        let project = readable.hidden(slug)?;
        if !pass.is_for(slug) {
            return Some(RefusalRule::new("projects of the key or issuer"));
        }
        let Some(ids) = pass.rules() else {
            return Some(RefusalRule::new("its host"));
        };
        let rules = self.rules(pass.tenant_id, pass.edition()).await.ok()?;
        let about = rules.rules.iter().filter(|it| {
            ids.contains(&it.rule.id) && it.is_about(&project.slug, &project.hosted.topics)
        });
        let is_any = matches!(families, [] | [BASICS]);
        let covering = about
            .map(|it| &it.rule)
            .filter(|rule| is_any || families.iter().any(|family| rule.covers(family)));
        let (denying, giving): (Vec<_>, Vec<_>) = covering.partition(|rule| rule.deny);
        if denying.is_empty() && !giving.is_empty() {
            return Some(RefusalRule::new("its host"));
        }
        let denying: Vec<i64> = denying.iter().map(|rule| rule.id).collect();
        Some(RefusalRule::of_access(&denying))
    }
}
