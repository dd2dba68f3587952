//! What hides a project from a caller, for operators.

use archway_proto::access::{AccessRule, is_given};
use archway_proto::pass::Pass;
use archway_proto::refused_by::RefusedBy;

use super::families::needed;
use super::{CompiledRule, Families, ProjectAccess, Readable};

impl ProjectAccess {
    /// What hides a project of the caller's tenant from it; `None` if there is no such project, or if the rules cannot
    /// be read.
    pub(crate) async fn hiding(
        &self,
        pass: &Pass,
        (readable, slug): (&Readable, &str),
        families: Families,
    ) -> Option<RefusedBy> {
        let project = readable.hidden(slug)?;
        if !pass.is_for(slug) {
            return Some(RefusedBy::new("projects of the key or issuer"));
        }
        let Some(ids) = pass.rules() else {
            return Some(RefusedBy::new("its host"));
        };
        let rules = self.rules(pass.tenant_id, pass.edition()).await.ok()?;
        let named = rules.rules.iter().filter(|it| ids.contains(&it.rule.id));
        let named: Vec<&CompiledRule> = named.collect();
        let own = pass.families.as_deref();
        let families = needed(families, own, named.iter().map(|it| &it.rule));
        let about = named
            .iter()
            .filter(|it| it.is_about(slug, &project.hosted.topics));
        let about: Vec<&AccessRule> = about.map(|it| &it.rule).collect();
        let about = || about.iter().copied();
        let is_given = families.iter().any(|family| is_given(about(), family));
        Some(match is_given {
            true => RefusedBy::new("its host"),
            false => RefusedBy::of_access(about(), &families),
        })
    }

    /// What hides the caller's default project, or that all are hidden; `None` if neither is so.
    pub(crate) async fn hiding_default(
        &self,
        pass: &Pass,
        readable: &Readable,
        families: Families,
    ) -> Option<RefusedBy> {
        if let Some(default) = &pass.default_project
            && let Some(hiding) = self
                .hiding(pass, (readable, default.as_str()), families)
                .await
        {
            return Some(hiding);
        }
        let all_hidden = || RefusedBy::new("all projects are hidden from it");
        readable.has_only_hidden().then(all_hidden)
    }
}
