//! Which projects `dev` serves: those that `--repo` names, and all that were added before and not removed.
//!
//! A slug never changes: that of a folder is remembered in the data folder, that of a mirror in the database.

use std::collections::BTreeSet;
use std::path::Path;

use archway_sync::remote::RemoteUrl;
use uuid::Uuid;

use super::TENANT;
use super::projects::{Project, Projects};
use super::repos::{NamedRepo, is_same, needs_key, parse, shown};
use super::seed::SeedError;
use crate::data_dir::DataDir;
use crate::tenants::{MirroredProject, ProjectSource, TenantError, TenantsTx};

/// What the command line names.
pub(super) struct Wanted<'a> {
    /// At least one.
    pub(super) repos: &'a [NamedRepo],
    /// The credential of those that are URLs.
    pub(super) credential: Option<&'a str>,
}

/// All that is served.
#[derive(Debug, Default)]
pub(super) struct Served {
    /// The slug of the first `--repo`.
    pub(super) first: String,
    pub(super) folders: Vec<Project>,
    pub(super) mirrors: Vec<Mirror>,
    /// Folders that are gone, so that they are not served.
    pub(super) gone: Vec<Project>,
}

/// A project that is mirrored from a URL.
#[derive(Clone, Debug)]
pub(super) struct Mirror {
    pub(super) slug: String,
    /// As it may be shown.
    pub(super) url: String,
    /// A name of `SyncState`.
    pub(super) state: String,
    /// Whether there is something to serve.
    pub(super) was_fetched: bool,
}

/// The slugs of all projects, before the database is changed.
pub(super) struct Resolved {
    /// The projects of `--repo`, in its order.
    named: Vec<String>,
    folders: Vec<Project>,
    gone: Vec<Project>,
    /// Slug and name of the named mirrors.
    mirrors: Vec<(String, String)>,
    /// Mirrors that the database does not have.
    new: Vec<(String, RemoteUrl)>,
    /// Named mirrors that it has.
    known: Vec<MirroredProject>,
    /// The projects of the database that were not removed.
    in_use: BTreeSet<String>,
}

/// What the database has.
#[derive(Default)]
struct Stored {
    sources: Vec<MirroredProject>,
    slugs: BTreeSet<String>,
    removed: BTreeSet<String>,
}

impl Stored {
    async fn read(tx: &mut TenantsTx) -> Result<Stored, TenantError> {
        let tenant = match tx.find_tenant(TENANT).await {
            Err(TenantError::Missing { .. }) => return Ok(Stored::default()),
            found => found?,
        };
        let projects = tx.projects(tenant).await?;
        let removed = projects.iter().filter(|it| it.removed_at.is_some());
        Ok(Stored {
            sources: tx.project_sources(tenant).await?,
            removed: removed.map(|it| it.slug.clone()).collect(),
            slugs: projects.into_iter().map(|it| it.slug).collect(),
        })
    }

    fn find(&self, remote: &RemoteUrl) -> Option<&MirroredProject> {
        let is_it = |url: &str| parse(url).is_ok_and(|known| is_same(&known, remote));
        self.sources.iter().find(|source| is_it(&source.url))
    }
}

impl Resolved {
    /// Finds the slug of each repository, and remembers new folders.
    pub(super) async fn of(
        tx: &mut TenantsTx,
        data: &DataDir,
        wanted: &Wanted<'_>,
    ) -> Result<Resolved, SeedError> {
        let stored = Stored::read(tx).await?;
        let mut all = Projects::load(data.path())?;
        let mut resolved = Resolved {
            named: Vec::new(),
            folders: Vec::new(),
            gone: Vec::new(),
            mirrors: Vec::new(),
            new: Vec::new(),
            known: Vec::new(),
            in_use: stored.slugs.difference(&stored.removed).cloned().collect(),
        };
        for repo in wanted.repos {
            let slug = match repo {
                NamedRepo::Folder(path) => {
                    let mirrors = resolved.slugs_of_mirrors(&stored);
                    all.remember(path.clone(), &repo.name(), &mirrors).slug
                }
                NamedRepo::Remote(remote) => {
                    let slug = resolved.slug_of(remote, repo, &stored, &all);
                    let is_new = resolved.new.iter().any(|(new, _)| *new == slug);
                    if is_new && needs_key(remote) && wanted.credential.is_none() {
                        return Err(SeedError::NoKey(remote.to_string()));
                    }
                    resolved.mirrors.push((slug.clone(), repo.name()));
                    slug
                }
            };
            resolved.named.push(slug);
        }
        all.save(data.path())?;
        let named: BTreeSet<String> = resolved.named.iter().cloned().collect();
        let mut others = resolved.slugs_of_mirrors(&stored);
        others.extend(stored.removed.difference(&named).cloned());
        (resolved.folders, resolved.gone) = all.divided(data.path(), &others);
        Ok(resolved)
    }

    /// The slug of a mirror. A new one is among `new` afterwards.
    fn slug_of(
        &mut self,
        remote: &RemoteUrl,
        repo: &NamedRepo,
        stored: &Stored,
        folders: &Projects,
    ) -> String {
        if let Some(known) = stored.find(remote) {
            self.known.push(known.clone());
            return known.slug.clone();
        }
        if let Some((slug, _)) = self.new.iter().find(|(_, new)| is_same(new, remote)) {
            return slug.clone();
        }
        let mut taken = self.slugs_of_mirrors(stored);
        taken.extend(stored.slugs.iter().cloned());
        let slug = folders.free_slug(&repo.name(), &taken);
        self.new.push((slug.clone(), remote.clone()));
        slug
    }

    fn slugs_of_mirrors(&self, stored: &Stored) -> BTreeSet<String> {
        let known = stored.sources.iter().map(|source| source.slug.clone());
        known
            .chain(self.new.iter().map(|(slug, _)| slug.clone()))
            .collect()
    }

    /// The slug of the first `--repo`.
    pub(super) fn first(&self) -> &str {
        self.named.first().map_or("", String::as_str)
    }

    /// Whether a project is served, or will be once its folder is there again.
    pub(super) fn is_served(&self, slug: &String) -> bool {
        let folders = self.folders.iter().chain(&self.gone);
        let mut folders = folders.map(|project| &project.slug);
        self.named.contains(slug) || self.in_use.contains(slug) || folders.any(|it| it == slug)
    }

    /// Slug and display name of the projects that must be in the database.
    pub(super) fn desired(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        let folders = self.folders.iter();
        let folders = folders.map(|project| (project.slug.as_str(), project.display_name()));
        let mirrors = self.mirrors.iter().map(|(slug, name)| {
            let name = Some(name.as_str()).filter(|name| *name != slug && !name.is_empty());
            (slug.as_str(), name)
        });
        folders.chain(mirrors)
    }

    /// Records where mirrors come from, once their projects exist.
    pub(super) async fn store_sources(
        self,
        tx: &mut TenantsTx,
        credential: Option<&str>,
    ) -> Result<Served, TenantError> {
        let tenant = tx.find_tenant(TENANT).await?;
        for (slug, remote) in &self.new {
            let project = tx.find_project(tenant, slug).await?;
            let source = new_source(remote, credential);
            tx.set_source((tenant, project.id), &source).await?;
        }
        for known in &self.known {
            if let Some(other) = credential.filter(|it| known.credential.as_deref() != Some(it)) {
                tx.set_credential(known.project, other).await?;
            }
        }
        Ok(Served {
            first: self.first().to_owned(),
            mirrors: mirrors(tx, tenant).await?,
            folders: self.folders,
            gone: self.gone,
        })
    }
}

fn new_source(remote: &RemoteUrl, credential: Option<&str>) -> ProjectSource {
    ProjectSource {
        remote: remote.clone(),
        reference: None,
        credential: credential.map(str::to_owned),
        ca_file: None,
        https_proxy: None,
    }
}

async fn mirrors(tx: &mut TenantsTx, tenant: Uuid) -> Result<Vec<Mirror>, TenantError> {
    let sources = tx.project_sources(tenant).await?.into_iter();
    let served = sources.filter(|source| !source.is_removed);
    let mirrors = served.map(|source| Mirror {
        slug: source.slug,
        url: shown(&source.url),
        state: source.state,
        was_fetched: source.was_fetched,
    });
    Ok(mirrors.collect())
}

/// The folders that a `dev` with this data serves now, as of `tx`, and whether there are mirrors.
pub(super) async fn now(
    tx: &mut TenantsTx,
    data: &Path,
) -> Result<(Vec<Project>, bool), SeedError> {
    let stored = Stored::read(tx).await?;
    let has_mirrors = stored.sources.iter().any(|source| !source.is_removed);
    let mut others: BTreeSet<String> = stored.removed;
    others.extend(stored.sources.into_iter().map(|source| source.slug));
    let (folders, _gone) = Projects::load(data)?.divided(data, &others);
    let is_known = |project: &Project| stored.slugs.contains(&project.slug);
    let folders = folders.into_iter().filter(is_known).collect();
    Ok((folders, has_mirrors))
}
