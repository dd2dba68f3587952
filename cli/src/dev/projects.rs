//! The folders that `dev` serves, and the project of each.
//!
//! A served folder is remembered with its slug, so that agents' settings, memory and other projects keep
//! their meaning. Two folders of one name get different slugs. A missing folder keeps its slug, since
//! what was written under it belongs to it.
//!
//! Projects that are mirrored from a URL are in the database alone. If one has the slug of a folder, which only
//! a database of another data folder can bring about, the mirror is served.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use archway_sync::remote::RemoteUrlError;
use serde::{Deserialize, Serialize};

use crate::data_dir::{self, DataDirError};
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
    /// A URL is not valid. It is not shown, since it may hold a password.
    #[error(transparent)]
    Url(RemoteUrlError),
    /// A URL has another protocol.
    #[error(
        "the URL's protocol is not mirrored: write https:// or ssh:// (or http:// on this machine), or name a \
         folder"
    )]
    Protocol,
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
    /// The remembered folders.
    pub(super) fn load(data: &Path) -> Result<Self, ProjectsError> {
        let Some(text) = data_dir::read(data, FILE)? else {
            return Ok(Projects::default());
        };
        serde_json::from_str(&text).map_err(damaged(data))
    }

    /// Stores them.
    pub(super) fn save(&self, data: &Path) -> Result<(), ProjectsError> {
        let mut text = serde_json::to_string_pretty(self).map_err(damaged(data))?;
        text.push('\n');
        Ok(data_dir::write(data, FILE, &text)?)
    }

    /// The project of a folder of this name. It is added if it is new, under a slug that no mirror has.
    pub(super) fn remember(
        &mut self,
        path: PathBuf,
        name: &str,
        mirrors: &BTreeSet<String>,
    ) -> Project {
        let known = |project: &&Project| project.path == path && !mirrors.contains(&project.slug);
        if let Some(known) = self.projects.iter().find(known) {
            return known.clone();
        }
        let project = Project {
            slug: self.free_slug(name, mirrors),
            path,
        };
        self.projects.push(project.clone());
        project
    }

    /// A slug for this name that no remembered folder has, and that is not `taken`.
    pub(super) fn free_slug(&self, name: &str, taken: &BTreeSet<String>) -> String {
        let wish = slugify(name);
        let taken = |slug: &String| {
            let is_folder = || self.projects.iter().any(|project| project.slug == *slug);
            !is_project_slug(slug) || taken.contains(slug) || is_folder()
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

    /// The folders, without those whose slug is among `others`, divided into those that can be served and those
    /// that are gone.
    pub(super) fn divided(
        self,
        data: &Path,
        others: &BTreeSet<String>,
    ) -> (Vec<Project>, Vec<Project>) {
        let ours = self.projects.into_iter();
        let ours = ours.filter(|project| !others.contains(&project.slug));
        let ours = ours.filter(|project| !data.starts_with(&project.path));
        ours.partition(|project| project.path.is_dir())
    }
}

/// Makes a folder the project of this slug for the `dev` with this data folder. If it runs, it serves the
/// folder once the project is in the database.
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
pub(super) fn find(repo: &Path) -> Result<PathBuf, ProjectsError> {
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
    use crate::data_dir::DataDir;

    /// A folder with data, which remembers folders.
    struct Home(tempfile::TempDir, DataDir);

    impl Home {
        fn new() -> Home {
            let home = tempfile::tempdir().unwrap();
            let data = DataDir::open(&home.path().join("data")).unwrap();
            Home(home, data)
        }

        fn folder(&self, name: &str) -> PathBuf {
            let path = self.0.path().join(name);
            fs::create_dir_all(&path).unwrap();
            path
        }

        /// The slug of a folder, of which these are mirrors' already.
        fn slug(&self, path: &Path, mirrors: &[&str]) -> String {
            let path = find(path).unwrap();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let mirrors = mirrors.iter().map(|&slug| slug.to_owned()).collect();
            let mut all = Projects::load(self.1.path()).unwrap();
            let project = all.remember(path, &name, &mirrors);
            all.save(self.1.path()).unwrap();
            project.slug
        }

        fn divided(&self, others: &[&str]) -> [Vec<String>; 2] {
            let others = others.iter().map(|&slug| slug.to_owned()).collect();
            let all = Projects::load(self.1.path()).unwrap();
            let (served, gone) = all.divided(self.1.path(), &others);
            [served, gone].map(|some| some.into_iter().map(|it| it.slug).collect())
        }
    }

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
        let home = Home::new();
        let folders = ["a/Site", "b/site", "adr"].map(|name| home.folder(name));
        let slugs = folders.each_ref().map(|folder| home.slug(folder, &[]));
        assert_eq!(slugs, ["site", "site-2", "adr-2"]);
        let a = &folders[0];
        assert_eq!(home.slug(&a.join("../Site"), &[]), "site");
        assert_eq!(home.divided(&[])[0], slugs);

        fs::remove_dir(a).unwrap();
        let divided = home.divided(&["adr-2"]);
        assert_eq!(
            divided,
            [vec!["site-2".to_owned()], vec!["site".to_owned()]]
        );
        assert_eq!(home.slug(&home.folder("c/site"), &[]), "site-3");
        assert_eq!(home.slug(&home.folder("a/Site"), &[]), "site");
    }

    #[test]
    fn a_folder_never_gets_the_slug_of_a_mirror() {
        let home = Home::new();
        let (site, wiki) = (home.folder("site"), home.folder("wiki"));
        assert_eq!(home.slug(&site, &["site"]), "site-2");
        assert_eq!(home.slug(&wiki, &[]), "wiki");
        // As in the database of another data folder.
        assert_eq!(home.slug(&wiki, &["wiki"]), "wiki-2");
        assert_eq!(home.divided(&["wiki"])[0], ["site-2", "wiki-2"]);
        assert_eq!(home.slug(&wiki, &[]), "wiki");
    }

    #[test]
    fn a_folder_is_served_under_the_slug_it_was_given() {
        let home = Home::new();
        let data = home.1.path();
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for _ in 0..2 {
            remember_folder(data, "docs", a.path()).unwrap();
        }
        for (slug, folder) in [("other", a.path()), ("docs", b.path())] {
            let refusal = remember_folder(data, slug, folder).unwrap_err();
            assert!(refusal.to_string().contains("project docs"), "{refusal}");
        }
        let refusal = remember_folder(data, "all", home.0.path()).unwrap_err();
        assert!(matches!(refusal, ProjectsError::HoldsData(_)), "{refusal}");
        assert_eq!(home.divided(&[])[0], ["docs"]);
    }

    #[test]
    fn a_damaged_list_is_named() {
        let home = Home::new();
        home.1.write(FILE, "{").unwrap();
        let refusal = Projects::load(home.1.path()).err().unwrap();
        assert!(refusal.to_string().contains(FILE), "{refusal}");
    }
}
