//! Builders of tenants and keys.

use std::path::Path;

use archway::tenants::KeyRequest;
use archway_gateway::terms::Level;
use archway_proto::catalog::Scope;

use crate::Repo;

/// The label of the key that every tenant has.
pub(crate) const PLAIN: &str = "";

/// A tenant with its projects and keys. It has a plain key for all its projects, and no limits.
#[derive(Clone, Debug)]
pub struct Tenant {
    slug: String,
    projects: Vec<(String, Repo)>,
    keys: Vec<Key>,
    limited: bool,
    limits: Vec<(Level, String, u32)>,
}

impl Tenant {
    /// A tenant without projects.
    pub fn new(slug: &str) -> Tenant {
        Tenant {
            slug: slug.to_owned(),
            projects: Vec::new(),
            keys: vec![Key::new(PLAIN)],
            limited: false,
            limits: Vec::new(),
        }
    }

    /// Adds a project.
    #[must_use]
    pub fn project(mut self, slug: &str, repo: Repo) -> Tenant {
        self.projects.push((slug.to_owned(), repo));
        self
    }

    /// Adds a key.
    #[must_use]
    pub fn key(mut self, key: Key) -> Tenant {
        self.keys.push(key);
        self
    }

    /// Keeps the default limits.
    #[must_use]
    pub fn limited(mut self) -> Tenant {
        self.limited = true;
        self
    }

    /// Sets a limit per minute for a tool, or for `total`, for all its keys.
    #[must_use]
    pub fn limit(mut self, level: Level, of: &str, per_minute: u32) -> Tenant {
        self.limits.push((level, of.to_owned(), per_minute));
        self
    }

    pub(crate) fn limits(&self) -> Vec<(&str, &str, u32)> {
        let limits = self.limits.iter();
        limits
            .map(|(level, of, per_minute)| (level.name(), of.as_str(), *per_minute))
            .collect()
    }

    pub(crate) fn is_limited(&self) -> bool {
        self.limited
    }

    pub(crate) fn slug(&self) -> &str {
        &self.slug
    }

    pub(crate) fn projects(&self) -> impl Iterator<Item = &str> {
        self.projects.iter().map(|(slug, _)| slug.as_str())
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = KeyRequest> {
        self.keys.iter().map(|key| key.request.clone())
    }

    /// Creates the folders of its projects in `folder`.
    pub(crate) fn build(&self, folder: &Path) {
        for (slug, repo) in &self.projects {
            repo.build(&folder.join(slug));
        }
    }
}

/// A key other than the plain one.
#[derive(Clone, Debug)]
pub struct Key {
    request: KeyRequest,
}

impl Key {
    /// A key of this label, for all projects and with all scopes that tools require.
    pub fn new(label: &str) -> Key {
        Key {
            request: KeyRequest {
                label: label.to_owned(),
                ..KeyRequest::default()
            },
        }
    }

    /// Restricts it to these projects.
    #[must_use]
    pub fn projects<const N: usize>(mut self, slugs: [&str; N]) -> Key {
        self.request.projects = Some(slugs.map(str::to_owned).to_vec());
        self
    }

    /// Restricts it to these families of tools.
    #[must_use]
    pub fn families<const N: usize>(mut self, names: [&str; N]) -> Key {
        self.request.families = Some(names.map(str::to_owned).to_vec());
        self
    }

    /// The number of agents that share it.
    #[must_use]
    pub fn agents(mut self, count: u32) -> Key {
        self.request.agents = count;
        self
    }

    /// Replaces its scopes.
    #[must_use]
    pub fn scopes(mut self, scopes: &[Scope]) -> Key {
        self.request.scopes = scopes.to_vec();
        self
    }

    /// The project of calls without `project`.
    #[must_use]
    pub fn default_project(mut self, slug: &str) -> Key {
        self.request.default_project = Some(slug.to_owned());
        self
    }
}
