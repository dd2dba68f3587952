//! Selects the projects that a command lists: of one tenant or of all, all at once or page by page.

use uuid::Uuid;

use super::tenant_selector::TenantSelector;
use crate::tenants::{Project, ProjectQuery, TenantError, TenantsTx};

/// The projects to list.
#[derive(Debug, clap::Args)]
pub(super) struct ProjectSelector {
    #[command(flatten)]
    tenants: TenantSelector,
    /// How many projects to list [default: all].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// List what follows this project: `next` of the answer before.
    #[arg(long, value_name = "TENANT/PROJECT", value_parser = address)]
    after: Option<Address>,
}

/// A tenant's and a project's slug.
type Address = (String, String);

/// Selected projects with the slugs of their tenants, by tenant and slug.
pub(super) struct ProjectPage {
    pub(super) projects: Vec<(String, Project)>,
    /// Where the next page begins; `None` after the last project.
    pub(super) next: Option<String>,
}

impl ProjectSelector {
    /// The slug of the selected tenant; `None` for all.
    pub(super) fn tenant(&self) -> Option<&str> {
        self.tenants.slug()
    }

    /// The selected projects; with `slug`, only those of this name. Removed ones are included if
    /// `with_removed`.
    ///
    /// # Errors
    /// If no tenant has the slug, or the database does not answer.
    pub(super) async fn page(
        &self,
        tx: &mut TenantsTx,
        slug: Option<&str>,
        with_removed: bool,
    ) -> Result<ProjectPage, TenantError> {
        let tenant = match self.tenant() {
            Some(tenant) => Some(tx.find_tenant(tenant).await?),
            None => None,
        };
        let limit = self.limit.map(|limit| limit as usize);
        let mut projects = tx
            .query_projects(&self.query(tenant, slug, with_removed))
            .await?;
        let has_more = limit.is_some_and(|limit| projects.len() > limit);
        projects.truncate(limit.unwrap_or(usize::MAX));
        let last = projects.last().filter(|_| has_more);
        let next = last.map(|(tenant, project)| format!("{tenant}/{}", project.slug));
        Ok(ProjectPage { projects, next })
    }

    fn query<'a>(
        &'a self,
        tenant: Option<Uuid>,
        slug: Option<&'a str>,
        with_removed: bool,
    ) -> ProjectQuery<'a> {
        let after = self.after.as_ref();
        ProjectQuery {
            tenant,
            slug,
            after: after.map(|(tenant, project)| (tenant.as_str(), project.as_str())),
            // One more says whether there are more.
            limit: self.limit.map(|limit| i64::from(limit) + 1),
            with_removed,
        }
    }
}

/// The last line of a page, for people.
pub(super) fn with_next(text: String, next: Option<&str>) -> String {
    match next {
        Some(next) => format!("{text}\n\nthere are more: add `--after {next}`"),
        None => text,
    }
}

fn address(text: &str) -> Result<Address, &'static str> {
    let (tenant, project) = text.split_once('/').ok_or("write it as TENANT/PROJECT")?;
    Ok((tenant.to_owned(), project.to_owned()))
}
