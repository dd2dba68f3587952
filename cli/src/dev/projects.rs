//! The folders that `dev` serves, and the project of each.
//!
//! A served folder is remembered with its slug, so that agents' settings, memory and other projects keep
//! their meaning. Two folders of one name get different slugs. A missing folder keeps its slug, since
//! what was written under it belongs to it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::data_dir::{self, DataDir, DataDirError};
use crate::tenants::{LONGEST_SLUG, is_project_slug};

const FILE: &str = "projects.json";

/// A folder and the slug of its project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Project {
    pub(super) slug: String,
    /// Absolute, without links.
    pub(super) path: PathBuf,
}

/// All folders that were ever served from one data folder.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Projects {
    projects: Vec<Project>,
}

/// Why a folder cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ProjectsError {
    /// It does not exist, or is not a folder.
    #[error("{} is not a folder that can be served", path.display())]
    NoFolder {
        /// The given path.
        path: PathBuf,
        /// The operating system's error, if any.
        #[source]
        source: Option<std::io::Error>,
    },
    /// Agents could read the secrets in the data folder.
    #[error(
        "the data folder {} is inside the repository, where agents could read its secrets; choose \
         another with --data, or another repository with --repo", .0.display()
    )]
    HoldsData(PathBuf),
    /// The folder already has another slug, or the slug another folder.
    #[error("project {slug} is the folder {} already", path.display())]
    Known {
        /// The project.
        slug: String,
        /// Its folder.
        path: PathBuf,
    },
    /// The file of remembered folders cannot be read or written.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The file of remembered folders is damaged, or a folder's path is not UTF-8.
    #[error("the list of served folders ({}) is not valid; repair or delete it", path.display())]
    List {
        /// The file.
        path: PathBuf,
        /// The parse error.
        #[source]
        source: serde_json::Error,
    },
}

impl Project {
    /// The folder's own name, if it differs from the slug.
    pub(super) fn display_name(&self) -> Option<&str> {
        self.path
            .file_name()?
            .to_str()
            .filter(|name| *name != self.slug)
    }
}

impl Projects {
    /// Loads the remembered folders, adds `repo` if it is new, and saves. Returns the project of
    /// `repo`, and all projects whose folders exist, that one included.
    pub(super) fn with_repo(
        data: &DataDir,
        repo: &Path,
    ) -> Result<(Project, Vec<Project>), ProjectsError> {
        let repo = find(repo)?;
        if data.path().starts_with(&repo) {
            return Err(ProjectsError::HoldsData(data.path().to_owned()));
        }
        let mut all = Projects::load(data.path())?;
        let project = all.remember(repo);
        all.save(data.path())?;
        let served =
            |project: &Project| project.path.is_dir() && !data.path().starts_with(&project.path);
        Ok((project, all.projects.into_iter().filter(served).collect()))
    }

    fn load(data: &Path) -> Result<Self, ProjectsError> {
        let Some(text) = data_dir::read(data, FILE)? else {
            return Ok(Projects::default());
        };
        serde_json::from_str(&text).map_err(damaged(data))
    }

    fn save(&self, data: &Path) -> Result<(), ProjectsError> {
        let mut text = serde_json::to_string_pretty(self).map_err(damaged(data))?;
        text.push('\n');
        Ok(data_dir::write(data, FILE, &text)?)
    }

    fn remember(&mut self, path: PathBuf) -> Project {
        if let Some(known) = self.projects.iter().find(|project| project.path == path) {
            return known.clone();
        }
        let project = Project {
            slug: self.free_slug(&path),
            path,
        };
        self.projects.push(project.clone());
        project
    }

    fn free_slug(&self, path: &Path) -> String {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let wish = slugify(&name);
        let taken = |slug: &str| {
            !is_project_slug(slug) || self.projects.iter().any(|project| project.slug == slug)
        };
        if !taken(&wish) {
            return wish;
        }
        let numbered = (2_u64..).map(|number| {
            let end = format!("-{number}");
            let start: String = wish.chars().take(LONGEST_SLUG - end.len()).collect();
            format!("{}{end}", start.trim_end_matches('-'))
        });
        numbered
            .into_iter()
            .find(|slug| !taken(slug))
            .unwrap_or(wish)
    }
}

/// Makes a folder the project of this slug, from the next start of the `dev` with this data folder
/// on.
pub(crate) fn remember_folder(data: &Path, slug: &str, repo: &Path) -> Result<(), ProjectsError> {
    let (data, path) = (find(data)?, find(repo)?);
    if data.starts_with(&path) {
        return Err(ProjectsError::HoldsData(data));
    }
    let mut all = Projects::load(&data)?;
    let known = |project: &&Project| project.path == path || project.slug == slug;
    match all.projects.iter().find(known) {
        Some(known) if known.path == path && known.slug == slug => Ok(()),
        Some(Project { slug, path }) => Err(ProjectsError::Known {
            slug: slug.clone(),
            path: path.clone(),
        }),
        None => {
            let slug = slug.to_owned();
            all.projects.push(Project { slug, path });
            all.save(&data)
        }
    }
}

/// The remembered folders by slug, those that are gone included, of the `dev` that keeps its data in
/// `data`.
pub(crate) fn folders(data: &Path) -> Result<BTreeMap<String, PathBuf>, ProjectsError> {
    let all = Projects::load(data)?.projects.into_iter();
    Ok(all.map(|project| (project.slug, project.path)).collect())
}

#[expect(
    clippy::disallowed_methods,
    reason = "the operator's own folder, not a tenant's path"
)]
fn find(repo: &Path) -> Result<PathBuf, ProjectsError> {
    let no_folder = |source| ProjectsError::NoFolder {
        path: repo.to_owned(),
        source,
    };
    let path = repo
        .canonicalize()
        .map_err(|error| no_folder(Some(error)))?;
    if path.is_dir() {
        Ok(path)
    } else {
        Err(no_folder(None))
    }
}

/// `[a-z0-9][a-z0-9-]{0,62}` from any name: other characters become hyphens.
fn slugify(name: &str) -> String {
    let mut slug = String::new();
    for character in name.chars().map(|c| c.to_ascii_lowercase()) {
        if character.is_ascii_alphanumeric() {
            slug.push(character);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.truncate(LONGEST_SLUG);
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() {
        "project".to_owned()
    } else {
        slug.to_owned()
    }
}

fn damaged(data: &Path) -> impl FnOnce(serde_json::Error) -> ProjectsError {
    let path = data.join(FILE);
    move |source| ProjectsError::List { path, source }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn any_name_becomes_a_slug() {
        let slugs = [
            ("site", "site"),
            ("My Repo (2)", "my-repo-2"),
            ("_.config", "config"),
            ("Über", "ber"),
            ("日本", "project"),
            ("", "project"),
        ];
        for (name, slug) in slugs {
            assert_eq!(slugify(name), slug, "{name}");
        }
        assert_eq!(slugify(&format!("{}-b", "a".repeat(62))), "a".repeat(62));
    }

    #[test]
    fn folders_of_one_name_get_distinct_stable_slugs() {
        let home = tempfile::tempdir().unwrap();
        let data = DataDir::open(&home.path().join("data")).unwrap();
        let folder = |name: &str| {
            let path = home.path().join(name);
            fs::create_dir_all(&path).unwrap();
            path
        };
        let (a, b, adr) = (folder("a/Site"), folder("b/site"), folder("adr"));
        let slug = |path: &Path| Projects::with_repo(&data, path).unwrap().0.slug;
        assert_eq!(slug(&a), "site");
        assert_eq!(slug(&b), "site-2");
        assert_eq!(slug(&adr), "adr-2");
        assert_eq!(slug(&a.join("../Site")), "site");

        fs::remove_dir(&a).unwrap();
        let (project, served) = Projects::with_repo(&data, &b).unwrap();
        assert_eq!(
            (project.slug.as_str(), project.display_name()),
            ("site-2", Some("site"))
        );
        let served: Vec<_> = served.iter().map(|project| project.slug.as_str()).collect();
        assert_eq!(served, ["site-2", "adr-2"]);
        assert_eq!(slug(&folder("c/site")), "site-3");
        assert_eq!(slug(&folder("a/Site")), "site");
    }

    #[test]
    fn a_repository_around_the_data_folder_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let data = DataDir::open(&home.path().join("data")).unwrap();
        for repo in [home.path(), data.path()] {
            let refusal = Projects::with_repo(&data, repo).unwrap_err();
            assert!(matches!(refusal, ProjectsError::HoldsData(_)));
        }
        assert_eq!(data.read(FILE).unwrap(), None);
    }

    #[test]
    fn a_path_that_is_no_folder_is_named_in_the_refusal() {
        let home = tempfile::tempdir().unwrap();
        let data = DataDir::open(&home.path().join("data")).unwrap();
        let refusal = Projects::with_repo(&data, Path::new("/nowhere/at all")).unwrap_err();
        assert!(refusal.to_string().contains("/nowhere/at all"), "{refusal}");
        let file = home.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(Projects::with_repo(&data, &file).is_err());
    }

    #[test]
    fn a_folder_is_served_under_the_slug_it_was_given() {
        let home = tempfile::tempdir().unwrap();
        let data = DataDir::open(&home.path().join("data")).unwrap();
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for _ in 0..2 {
            remember_folder(data.path(), "docs", a.path()).unwrap();
        }
        for (slug, folder) in [("other", a.path()), ("docs", b.path())] {
            let refusal = remember_folder(data.path(), slug, folder).unwrap_err();
            assert!(refusal.to_string().contains("project docs"), "{refusal}");
        }
        let refusal = remember_folder(data.path(), "all", home.path()).unwrap_err();
        assert!(matches!(refusal, ProjectsError::HoldsData(_)), "{refusal}");
        let (_, served) = Projects::with_repo(&data, b.path()).unwrap();
        assert_eq!((served.len(), served[0].slug.as_str()), (2, "docs"));
    }

    #[test]
    fn a_damaged_list_is_named_and_unchanged() {
        let home = tempfile::tempdir().unwrap();
        let data = DataDir::open(&home.path().join("data")).unwrap();
        let repo = tempfile::tempdir().unwrap();
        data.write(FILE, "{").unwrap();
        let refusal = Projects::with_repo(&data, repo.path()).unwrap_err();
        assert!(refusal.to_string().contains(FILE), "{refusal}");
        assert_eq!(data.read(FILE).unwrap().as_deref(), Some("{"));
    }
}
