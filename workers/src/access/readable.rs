//! The projects that a caller may read.

use std::sync::Arc;

use archway_proto::pass::Pass;

use super::ProjectSet;
use crate::projects::{Project, ProjectList};

/// The projects that a caller may read.
pub struct Readable {
    all: Arc<ProjectList>,
    /// Those that access rules and hosts give; `None` for all.
    given: Option<Arc<ProjectSet>>,
    pass: Arc<Pass>,
}

impl Readable {
    pub(super) fn new(
        all: Arc<ProjectList>,
        given: Option<Arc<ProjectSet>>,
        pass: Arc<Pass>,
    ) -> Readable {
        Readable { all, given, pass }
    }

    /// Whether these are all projects of the tenant, now and later.
    pub(crate) fn is_all(&self) -> bool {
        self.given.is_none() && self.pass.narrowed_to().is_none()
    }

    /// The project with this slug.
    pub fn get(&self, slug: &str) -> Option<&Arc<Project>> {
        let at = self.all.position(slug)?;
        self.all.get(at).filter(|project| self.has(at, project))
    }

    /// The project of the tenant with this slug that the caller may not read.
    pub(super) fn hidden(&self, slug: &str) -> Option<&Arc<Project>> {
        let at = self.all.position(slug)?;
        self.all.get(at).filter(|project| !self.has(at, project))
    }

    /// Whether the tenant has projects, and the caller may read none.
    pub(super) fn has_only_hidden(&self) -> bool {
        !self.all.is_empty() && self.list().is_empty()
    }

    /// All of them, by slug.
    pub fn list(&self) -> Vec<Arc<Project>> {
        let projects = self.all.iter().enumerate();
        let readable = projects.filter(|(at, project)| self.has(*at, project));
        readable.map(|(_, project)| Arc::clone(project)).collect()
    }

    /// Projects with these slugs, of which the pass decides which are readable.
    #[cfg(test)]
    pub(crate) fn for_tests(pass: &Pass, slugs: &[&str]) -> Readable {
        let projects = slugs.iter().map(|slug| Arc::new(Project::with_slug(slug)));
        Readable {
            all: Arc::new(ProjectList::of(projects.collect())),
            given: None,
            pass: Arc::new(pass.clone()),
        }
    }

    fn has(&self, at: usize, project: &Project) -> bool {
        self.given.as_ref().is_none_or(|given| given.has(at)) && self.pass.is_for(&project.slug)
    }
}
