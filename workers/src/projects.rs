//! Which projects a tenant has, and the path rules of each: read from Postgres, kept 5 s.
//!
//! With Postgres away the last known answer goes on serving: repository tools need no database.
//! A tenant that was never loaded is refused, since its closed paths are unknown.

use std::{sync::Arc, time::Duration};

use archway_proto::{chain::Chain, failure::Failure, fault::Fault, trace};
use uuid::Uuid;

use archway_repo::Rules;
use archway_store::{ProjectRow, StoreError, Stores};

/// How long an answer of Postgres is used: the time a changed rule takes to hold.
const FRESH: Duration = Duration::from_secs(5);
/// How long a call waits for Postgres when an older answer is at hand.
const PATIENCE: Duration = Duration::from_millis(250);
/// How many tenants are remembered.
const TENANTS: u64 = 10_000;

/// A project of a tenant.
pub struct Project {
    pub(crate) id: Uuid,
    /// The name in arguments.
    pub slug: String,
    /// The name for people: the slug unless set.
    pub name: String,
    /// The operator's path rules. A call goes by those of its [`Repo`](archway_repo::Repo), to
    /// which the repository adds what it closes itself.
    pub(crate) rules: Arc<Rules>,
}

type TenantProjects = Arc<Vec<Arc<Project>>>;

/// The projects of all tenants that called lately.
#[derive(Clone)]
pub(crate) struct Projects {
    stores: Stores,
    fresh: moka::future::Cache<Uuid, TenantProjects>,
    known: moka::sync::Cache<Uuid, TenantProjects>,
}

impl Projects {
    pub(crate) fn new(stores: Stores) -> Self {
        Projects {
            stores,
            fresh: moka::future::Cache::builder()
                .max_capacity(TENANTS)
                .time_to_live(FRESH)
                .build(),
            known: moka::sync::Cache::new(TENANTS),
        }
    }

    /// Projects as if Postgres had said so.
    #[cfg(test)]
    pub(crate) async fn learn(&self, tenant: Uuid, projects: Vec<Project>) {
        let projects: TenantProjects = Arc::new(projects.into_iter().map(Arc::new).collect());
        self.known.insert(tenant, Arc::clone(&projects));
        self.fresh.insert(tenant, projects).await;
    }

    /// The projects of a tenant, by slug.
    pub(crate) async fn of(&self, tenant: Uuid) -> Result<TenantProjects, Failure> {
        if let Some(fresh) = self.fresh.get(&tenant).await {
            return Ok(fresh);
        }
        // A task of its own: a query that takes longer than we wait still renews the answer.
        let reading = self.clone();
        let load = tokio::spawn(trace::apart(async move {
            reading
                .fresh
                .try_get_with(tenant, reading.load(tenant))
                .await
        }));
        let Some(known) = self.known.get(&tenant) else {
            let read = load.await.map_err(|_panicked| unavailable())?;
            return read.map_err(|_logged| unavailable());
        };
        match tokio::time::timeout(PATIENCE, load).await {
            Ok(Ok(Ok(projects))) => Ok(projects),
            Ok(_failed) => {
                // Not asked again at once: with Postgres away every call would wait for it.
                self.fresh.insert(tenant, Arc::clone(&known)).await;
                Ok(known)
            }
            Err(_elapsed) => Ok(known),
        }
    }

    async fn load(&self, tenant: Uuid) -> Result<TenantProjects, StoreError> {
        let rows = self
            .stores
            .tenant(tenant)
            .projects()
            .await
            .inspect_err(|error| {
                tracing::warn!(error = %Chain(error), "projects could not be read");
            })?;
        let projects: TenantProjects = Arc::new(rows.into_iter().filter_map(project).collect());
        self.known.insert(tenant, Arc::clone(&projects));
        Ok(projects)
    }
}

/// A project, unless its rules do not parse: globs are checked when they are set, and one that no
/// longer parses must not open what it closed.
fn project(row: ProjectRow) -> Option<Arc<Project>> {
    let rules = Rules::new(
        &row.open_globs,
        &row.close_globs,
        row.allow_globs.as_deref(),
    )
    .inspect_err(|error| {
        tracing::error!(project = %row.slug, %error, "a path rule does not parse; not served");
    })
    .ok()?;
    Some(Arc::new(Project {
        id: row.id,
        name: row.name.unwrap_or_else(|| row.slug.clone()),
        slug: row.slug,
        rules: Arc::new(rules),
    }))
}

fn unavailable() -> Failure {
    Failure::new(
        Fault::Unavailable,
        "the list of projects cannot be read at the moment",
        "try again in a few seconds",
    )
    .detail("retry_after_seconds", 5)
}
