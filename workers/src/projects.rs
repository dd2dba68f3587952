//! The projects of each tenant and their path rules: read from Postgres, cached for 5 s.
//!
//! If Postgres is unavailable, the last known projects stay in use, because repository tools need
//! no database. A tenant that was never loaded is rejected, since its closed paths are unknown.

use std::{
    hash::{BuildHasher, RandomState},
    ops::Deref,
    sync::{Arc, LazyLock},
    time::Duration,
};

use archway_proto::{chain::Chain, failure::Failure, fault::Fault, trace};
use uuid::Uuid;

use archway_repo::Rules;
use archway_store::{HostedText, MirrorState, ProjectRow, StoreError, Stores};

/// How long a result of Postgres is used: the time until a changed rule takes effect.
const FRESH_FOR: Duration = Duration::from_secs(5);
/// How long a call waits for Postgres if an older result is cached.
const REFRESH_WAIT: Duration = Duration::from_millis(250);
/// Maximum number of cached tenants.
const MAX_TENANTS: u64 = 10_000;

/// Hashes by keys that nobody outside knows, so nobody makes two lists of one hash.
static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// A project of a tenant.
pub struct Project {
    pub(crate) id: Uuid,
    /// Its name in arguments.
    pub slug: String,
    /// Its display name: the slug unless set.
    pub name: String,
    /// The operator's path rules. Calls use the rules of their [`Repo`](archway_repo::Repo), to
    /// which the repository's manifest adds the paths that it closes itself.
    pub(crate) rules: Arc<Rules>,
    /// How its mirror is; `None` for a project that `archway sync` does not mirror.
    pub(crate) mirror: Option<MirrorState>,
    /// What its host says of it.
    pub(crate) hosted: HostedText,
    /// Whether its host alone says who may read it.
    pub(crate) is_guarded: bool,
}

#[cfg(test)]
impl Project {
    /// A project without rules of its own and without a mirror.
    pub(crate) fn with_slug(slug: &str) -> Project {
        Project {
            id: Uuid::nil(),
            slug: slug.to_owned(),
            name: slug.to_owned(),
            rules: Arc::new(Rules::new(&[], &[], None).unwrap()),
            mirror: None,
            hosted: HostedText::default(),
            is_guarded: false,
        }
    }
}

/// The projects of a tenant, by slug.
pub(crate) struct ProjectList {
    projects: Vec<Arc<Project>>,
    hash: u64,
    has_guarded: bool,
    /// How often access rules and readers had changed before it was read.
    edition: i64,
}

impl ProjectList {
    /// A list of projects that are in the order of their slugs.
    pub(crate) fn of(projects: Vec<Arc<Project>>) -> ProjectList {
        let facts = projects.iter();
        let facts = facts.map(|it| (&it.slug, &it.hosted.topics, it.id, it.is_guarded));
        let facts: Vec<_> = facts.collect();
        ProjectList {
            hash: HASHER.hash_one(&facts),
            has_guarded: projects.iter().any(|it| it.is_guarded),
            projects,
            edition: 0,
        }
    }

    /// Whether a host alone says who may read some of them.
    pub(crate) fn has_guarded(&self) -> bool {
        self.has_guarded
    }

    /// A hash of what access looks at: ids, slugs and topics, and whose readers a host names.
    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }

    /// The position of a project.
    pub(crate) fn position(&self, slug: &str) -> Option<usize> {
        self.projects
            .binary_search_by(|it| (*it.slug).cmp(slug))
            .ok()
    }
}

impl Deref for ProjectList {
    type Target = [Arc<Project>];

    fn deref(&self) -> &[Arc<Project>] {
        &self.projects
    }
}

/// The projects of recently active tenants.
#[derive(Clone)]
pub(crate) struct Projects {
    stores: Stores,
    fresh: moka::future::Cache<Uuid, Arc<ProjectList>>,
    last_known: moka::sync::Cache<Uuid, Arc<ProjectList>>,
}

impl Projects {
    pub(crate) fn new(stores: Stores) -> Self {
        Projects {
            stores,
            fresh: moka::future::Cache::builder()
                .max_capacity(MAX_TENANTS)
                .time_to_live(FRESH_FOR)
                .build(),
            last_known: moka::sync::Cache::new(MAX_TENANTS),
        }
    }

    /// Inserts projects as if Postgres had returned them.
    #[cfg(test)]
    pub(crate) async fn insert(&self, tenant: Uuid, projects: Vec<Project>) {
        let mut projects: Vec<_> = projects.into_iter().map(Arc::new).collect();
        projects.sort_by(|a, b| a.slug.cmp(&b.slug));
        let projects = Arc::new(ProjectList::of(projects));
        self.last_known.insert(tenant, Arc::clone(&projects));
        self.fresh.insert(tenant, projects).await;
    }

    /// The projects of a tenant, by slug, of this edition of its access or a later one.
    ///
    /// # Errors
    /// `unavailable` if Postgres does not answer and no such list is known: a later edition may hide a project.
    pub(crate) async fn of(&self, tenant: Uuid, edition: i64) -> Result<Arc<ProjectList>, Failure> {
        if let Some(fresh) = self.fresh.get(&tenant).await {
            if fresh.edition >= edition {
                return Ok(fresh);
            }
            self.fresh.invalidate(&tenant).await;
        }
        // A separate task: a query that exceeds the wait still refreshes the cache.
        let projects = self.clone();
        let load = tokio::spawn(trace::apart(async move {
            projects
                .fresh
                .try_get_with(tenant, projects.load(tenant))
                .await
        }));
        let last_known = self.last_known.get(&tenant);
        let Some(last_known) = last_known.filter(|known| known.edition >= edition) else {
            let read = load.await.map_err(|_panicked| unavailable())?;
            let read = read.map_err(|_logged| unavailable())?;
            return self.not_older(tenant, read, edition).await;
        };
        match tokio::time::timeout(REFRESH_WAIT, load).await {
            Ok(Ok(Ok(projects))) if projects.edition >= edition => Ok(projects),
            Ok(_failed) => {
                // Cached as fresh, so that an unavailable Postgres is not queried by every call.
                self.fresh.insert(tenant, Arc::clone(&last_known)).await;
                Ok(last_known)
            }
            Err(_elapsed) => Ok(last_known),
        }
    }

    /// This list, or one that is read now: another call may have begun to read it before the edition.
    async fn not_older(
        &self,
        tenant: Uuid,
        read: Arc<ProjectList>,
        edition: i64,
    ) -> Result<Arc<ProjectList>, Failure> {
        if read.edition >= edition {
            return Ok(read);
        }
        let read = self.load(tenant).await.map_err(|_logged| unavailable())?;
        self.fresh.insert(tenant, Arc::clone(&read)).await;
        match read.edition >= edition {
            true => Ok(read),
            false => Err(unavailable()),
        }
    }

    async fn load(&self, tenant: Uuid) -> Result<Arc<ProjectList>, StoreError> {
        let (edition, rows) = self
            .stores
            .tenant(tenant)
            .projects()
            .await
            .inspect_err(|error| {
                tracing::warn!(error = %Chain(error), "projects could not be read");
            })?;
        let projects = rows.into_iter().filter_map(project).collect();
        let projects = Arc::new(ProjectList {
            edition,
            ..ProjectList::of(projects)
        });
        self.last_known.insert(tenant, Arc::clone(&projects));
        Ok(projects)
    }
}

/// Converts a row. A project whose rules do not parse is skipped: globs are checked when they are
/// set, and one that no longer parses must not open what it closed.
fn project(row: ProjectRow) -> Option<Arc<Project>> {
    let rules = Rules::new(
        &row.open_globs,
        &row.close_globs,
        row.allow_globs.as_deref(),
    )
    .inspect_err(|error| {
        tracing::error!(project = %row.slug, %error, "project not served: a path rule does not parse");
    })
    .ok()?;
    Some(Arc::new(Project {
        id: row.id,
        name: row.name.unwrap_or_else(|| row.slug.clone()),
        slug: row.slug,
        rules: Arc::new(rules),
        mirror: row.mirror,
        hosted: row.hosted,
        is_guarded: row.is_guarded,
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
