//! Where a page begins: its cursor.

use std::sync::Arc;

use archway_proto::failure::Failure;

use crate::{projects::Project, tools::paging};

/// Where a page begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// A hash of the default project when the first page was read.
    pub(super) default: Option<String>,
    pub(super) project: String,
    /// The [beginning](paging::short_commit) of the commit in which items were counted, if earlier pages have some
    /// of this project.
    pub(super) commit: Option<String>,
    /// Items of the project on earlier pages.
    pub(super) skip: usize,
}

impl Place {
    /// Reads the plain cursor of a worker: `*DEFAULT/PROJECT@COMMIT:SKIP`, with `-` for what is absent. `slugs` are the
    /// projects that there are now.
    ///
    /// # Errors
    /// [`Fault::InvalidArguments`](archway_proto::fault::Fault::InvalidArguments)
    pub(super) fn parse<'a>(
        cursor: &str,
        slugs: impl Iterator<Item = &'a str>,
    ) -> Result<Place, Failure> {
        let parsed = || {
            let (basis, skip) = cursor.strip_prefix('*')?.rsplit_once(':')?;
            let (default, rest) = basis.split_once('/')?;
            let (project, commit) = rest.split_once('@')?;
            let named = |text: &str| (text != "-").then(|| text.to_owned());
            Some(Place {
                default: named(default),
                project: paging::whole_name(project, slugs),
                commit: named(commit),
                skip: skip.parse().ok()?,
            })
        };
        parsed().ok_or_else(paging::other_state)
    }

    /// The projects of a page in their order: the default one, the others by slug, from the place where the page begins.
    /// `default` is the hash of a slug.
    pub(super) fn order(
        mut projects: Vec<Arc<Project>>,
        default: Option<&str>,
        start: Option<&Place>,
    ) -> Vec<Arc<Project>> {
        let key = |slug: &str| (Some(&*paging::hash(slug)) != default, slug.to_owned());
        projects.sort_by_cached_key(|project| key(&project.slug));
        if let Some(start) = start {
            let first = key(&start.project);
            projects.retain(|project| key(&project.slug) >= first);
        }
        projects
    }

    pub(super) fn cursor(&self) -> String {
        let named = |name: &Option<String>| name.clone().unwrap_or_else(|| "-".to_owned());
        let (default, commit) = (named(&self.default), named(&self.commit));
        let project = paging::short_name(&self.project);
        format!("*{default}/{project}@{commit}:{}", self.skip)
    }
}

#[cfg(test)]
mod tests {
    use archway_proto::fault::Fault;

    use super::*;

    #[test]
    fn a_cursor_names_default_project_place_and_commit() {
        let places = [(Some("main"), Some("abc"), 7), (None, None, 0)];
        for (default, commit, skip) in places {
            let place = Place {
                default: default.map(str::to_owned),
                project: "shop-2".to_owned(),
                commit: commit.map(str::to_owned),
                skip,
            };
            let slugs = std::iter::once("shop-2");
            assert_eq!(Place::parse(&place.cursor(), slugs).unwrap(), place);
        }
        for bad in ["", "abc:5", "*a:5", "*-/a:5", "*-/a@-:x", "*-/a@-"] {
            assert_eq!(
                Place::parse(bad, std::iter::empty()).unwrap_err().code,
                Fault::InvalidArguments,
                "{bad}"
            );
        }
    }
}
