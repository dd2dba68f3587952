//! Which projects a call may read, which of them it means, and which tools its caller may call.

use std::sync::Arc;

use archway_proto::catalog::Scope;
use archway_proto::failure::Failure;
use archway_proto::fault::Fault;
use archway_proto::nearest;
use archway_proto::pass::Pass;
use archway_repo::text;
use serde_json::Value;

use super::{SharedState, ToolContext};
use crate::access::{Families, Readable};
use crate::projects::Project;

/// Slugs that a refusal names, at most.
const MAX_NAMED: usize = 20;
/// The detail of a refusal that names them.
const PROJECTS: &str = "projects";
/// The detail that counts those it does not name.
const OTHERS: &str = "more";
/// What to do where `*` means nothing.
const ALL_PROJECTS: &str = "search_files, grep_codebase and find_symbol take \"*\" for all projects, context_search takes \
    `project_scope: \"all\"`, and other tools take one slug: see list_projects";

impl ToolContext {
    /// Whether the caller may call the tools of this family that require this scope.
    pub(crate) fn may_call(&self, family: &str, scope: Scope) -> bool {
        self.pass.may_call(family, scope)
    }

    /// Whether access rules give the caller tools of this family in any project.
    ///
    /// # Errors
    /// `unavailable` if the rules cannot be read.
    pub(crate) async fn is_given(&self, family: &str) -> Result<bool, Failure> {
        self.shared.access.gives(&self.pass, family).await
    }

    /// Which tools the caller may call, also after the call.
    pub(crate) fn given_tools(&self) -> GivenTools {
        GivenTools {
            shared: Arc::clone(&self.shared),
            pass: Arc::clone(&self.pass),
        }
    }

    /// Whether the caller may read resources, prompts and completions.
    pub(crate) fn may_read(&self) -> bool {
        self.pass.holds(Scope::ToolsRead)
    }

    /// Resolves the project of a call: the one it names, else the caller's default, else the only
    /// one that the caller may read.
    pub async fn project(&self, requested: Option<&str>) -> Result<Arc<Project>, Failure> {
        self.project_by(self.families, requested).await
    }

    /// [`ToolContext::project`], of those that the caller may use by any of these tool families.
    pub(crate) async fn project_by(
        &self,
        families: Families,
        requested: Option<&str>,
    ) -> Result<Arc<Project>, Failure> {
        let readable = self.readable(families).await?;
        if let Some(slug) = requested {
            if let Some(found) = readable.get(slug) {
                return Ok(Arc::clone(found));
            }
            let (access, place) = (&self.shared.access, (&readable, slug));
            let refused_by = access.hiding(&self.pass, place, families).await;
            let refusal = not_found(slug, &readable.list());
            return Err(Failure {
                refused_by,
                ..refusal
            });
        }
        let list = readable.list();
        if let Some(default) = self.default_project(&list) {
            return Ok(default);
        }
        let access = &self.shared.access;
        let refused_by = access.hiding_default(&self.pass, &readable, families);
        Err(Failure {
            refused_by: refused_by.await,
            ..project_required(&list)
        })
    }

    /// The slug nearest to this one, of the projects that the caller may use by any of these tool families.
    ///
    /// # Errors
    /// `unavailable` if the rules cannot be read.
    pub(crate) async fn nearest_project(
        &self,
        families: Families,
        slug: Option<&str>,
    ) -> Result<Option<String>, Failure> {
        let Some(slug) = slug else { return Ok(None) };
        let readable = self.readable(families).await?.list();
        let slugs = readable.iter().map(|project| project.slug.as_str());
        Ok(nearest::to(slug, slugs).map(str::to_owned))
    }

    /// The projects that the caller may read, by slug.
    pub async fn projects(&self) -> Result<Vec<Arc<Project>>, Failure> {
        Ok(self.readable(self.families).await?.list())
    }

    /// The projects that the caller may read, and use by any of these tool families. None: by any at all.
    pub(crate) async fn readable(&self, families: Families) -> Result<Readable, Failure> {
        self.shared.access.readable(&self.pass, families).await
    }

    /// Which of `readable` a call without `project` means, if that is unambiguous.
    pub fn default_project(&self, readable: &[Arc<Project>]) -> Option<Arc<Project>> {
        let slug = self.pass.default_project.as_deref();
        let default = readable.iter().find(|it| slug == Some(it.slug.as_str()));
        match (default, readable) {
            (Some(default), _) => Some(Arc::clone(default)),
            // A default that the caller may not read is as none.
            (None, [only]) => Some(Arc::clone(only)),
            (None, _) => None,
        }
    }

    /// The projects that `project` links to and that the caller may read, by slug: one hop,
    /// outgoing, without itself. Other links are omitted, so that callers do not learn that a
    /// project exists.
    pub async fn linked(&self, project: &Project) -> Result<Vec<Arc<Project>>, Failure> {
        let manifest = self.read(project, |repo, _| Ok(repo.manifest())).await?;
        let slugs = manifest.value.linked_projects();
        if slugs.is_empty() {
            return Ok(Vec::new());
        }
        let is_linked =
            |other: &Arc<Project>| other.slug != project.slug && slugs.contains(&other.slug);
        let mut readable = self.projects().await?;
        readable.retain(is_linked);
        Ok(readable)
    }
}

/// Which tools a caller may call.
pub(crate) struct GivenTools {
    shared: Arc<SharedState>,
    pass: Arc<Pass>,
}

impl GivenTools {
    /// Whether the tools of this family that require this scope are among them. They are if the rules cannot be read.
    pub(crate) async fn have(&self, family: &str, scope: Scope) -> bool {
        let is_covered = self.pass.may_call(family, scope);
        let given = self.shared.access.gives(&self.pass, family);
        is_covered && given.await.unwrap_or(true)
    }
}

/// The refusal of a call that names no project of these.
fn not_found(slug: &str, readable: &[Arc<Project>]) -> Failure {
    let slugs = readable.iter().map(|project| project.slug.as_str());
    let hint = match (slug, nearest::to(slug, slugs)) {
        ("*", _) => ALL_PROJECTS.to_owned(),
        (_, Some(near)) => {
            format!("did you mean `{near}`? list_projects has the slugs you may use")
        }
        (_, None) => "call list_projects for the slugs you may use".to_owned(),
    };
    let shown = text::shown(slug);
    let message = format!("there is no project {shown:?} that you may read");
    Failure::new(Fault::ProjectNotFound, message, hint)
}

/// The refusal of a call that has to name one of these projects.
fn project_required(readable: &[Arc<Project>]) -> Failure {
    if readable.is_empty() {
        return Failure::new(
            Fault::ProjectNotFound,
            "there is no project that you may read",
            "ask the operator for access to a project",
        );
    }
    let named = readable.iter().take(MAX_NAMED);
    let slugs: Vec<&str> = named.map(|project| project.slug.as_str()).collect();
    let others = readable.len() - slugs.len();
    let hint = match others {
        0 => "name one in the argument `project`",
        _ => "name one in the argument `project`; list_projects has all slugs",
    };
    let refusal = Failure::new(
        Fault::ProjectRequired,
        "this key can read several projects and has no default",
        hint,
    );
    refusal.detail(PROJECTS, slugs).detail(OTHERS, others)
}

/// The refusal of a request that has to name a project, and has no argument for it. `in_project` writes what it asks for
/// with a project's slug. Any other refusal stays as it is.
pub(crate) fn naming_a_project(refusal: Failure, in_project: impl Fn(&str) -> String) -> Failure {
    match form_with_project(&refusal, in_project) {
        Some(suggestion) => Failure {
            suggestion,
            ..refusal
        },
        None => refusal,
    }
}

fn form_with_project(refusal: &Failure, in_project: impl Fn(&str) -> String) -> Option<String> {
    let slugs = refusal.details.get(PROJECTS)?.as_array()?;
    let slugs: Vec<&str> = slugs.iter().filter_map(Value::as_str).collect();
    let form = in_project(slugs.first()?);
    let others = match refusal.details.get(OTHERS).and_then(Value::as_u64) {
        None | Some(0) => String::new(),
        Some(others) => format!(" and {others} others"),
    };
    let slugs = slugs.join(", ");
    let is_it = refusal.code == Fault::ProjectRequired;
    is_it.then(|| format!("name its project, as {form}; the projects are {slugs}{others}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_how_to_name_a_project_without_an_argument() {
        let required = Failure::new(Fault::ProjectRequired, "several", "in `project`");
        let required = required.detail(PROJECTS, vec!["api", "web"]);
        let suggested =
            |refusal| naming_a_project(refusal, |slug| format!("{slug}/greet")).suggestion;
        let form = "name its project, as api/greet; the projects are api, web";
        assert_eq!(suggested(required.clone().detail(OTHERS, 0)), form);
        assert_eq!(
            suggested(required.detail(OTHERS, 7)),
            format!("{form} and 7 others")
        );
        let other = Failure::new(Fault::Unavailable, "away", "wait");
        assert_eq!(suggested(other), "wait");
    }
}
