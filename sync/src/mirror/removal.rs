//! Lists the mirrors of the folder, and removes one.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use uuid::Uuid;

use super::owner::{ASIDE, Owner};
use super::{BESIDE, Mirrors, since_written};

/// A mirror below the folder of repositories.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FoundMirror {
    /// The tenant's slug.
    pub tenant: String,
    /// The project's slug.
    pub project: String,
    /// The project's id.
    pub id: Uuid,
}

impl Mirrors {
    /// How long ago a mirror was written to last; zero if that is not known.
    pub(crate) fn quiet(&self, mirror: &FoundMirror) -> Duration {
        since_written(&self.place(&mirror.tenant, &mirror.project))
    }

    /// Each mirror that names its project. Other folders are none.
    ///
    /// # Errors
    /// If the folder of repositories cannot be read.
    pub fn list(&self) -> io::Result<Vec<FoundMirror>> {
        let mut mirrors = Vec::new();
        for tenant in names(&self.repos)?.filter(|name| name != BESIDE) {
            let Ok(projects) = names(&self.repos.join(&tenant)) else {
                // A file, or a tenant that was removed a moment ago.
                continue;
            };
            for project in projects {
                if let Ok(Owner::Project(id)) = Owner::of(&self.place(&tenant, &project)) {
                    let tenant = tenant.clone();
                    mirrors.push(FoundMirror {
                        tenant,
                        project,
                        id,
                    });
                }
            }
        }
        Ok(mirrors)
    }

    /// Removes the mirror of a project, if there is one: first its name, so that no worker reads half of it. A
    /// folder that sync did not make stays, and so does the mirror of another project that has the slug by now.
    ///
    /// # Errors
    /// If the folder of repositories cannot be written to.
    pub fn remove(&self, tenant: &str, project: &str, id: Uuid) -> io::Result<()> {
        let place = self.place(tenant, project);
        match Owner::of(&place)? {
            Owner::Unnamed => {}
            Owner::Project(owner) if owner == id => {}
            Owner::Project(_) | Owner::Nobody | Owner::Foreign => return Ok(()),
        }
        let beside = self.beside(tenant, project)?;
        match fs::rename(&place, &beside) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            renamed => renamed?,
        }
        match Owner::of(&beside)? {
            // A run replaced it a moment ago.
            Owner::Project(other) if other != id => fs::rename(beside, place),
            _ => fs::remove_dir_all(beside),
        }
    }

    /// Puts a project's mirror back that a killed process left beside, between the renames of
    /// [`exchange`](super::owner::exchange).
    pub(super) fn put_back(&self, tenant: &str, project: &str, id: Uuid) -> io::Result<()> {
        let (place, beside) = (self.place(tenant, project), self.repos.join(BESIDE));
        if place.exists() || !beside.exists() {
            return Ok(());
        }
        let begin = format!("{tenant}+{project}+");
        let is_old = |name: &String| name.starts_with(&begin) && name.ends_with(ASIDE);
        for old in names(&beside)?.filter(is_old) {
            let old = beside.join(old);
            if Owner::of(&old)? == Owner::Project(id) {
                return fs::rename(old, place);
            }
        }
        Ok(())
    }

    /// A new place beside the mirrors for one of this project. What killed runs left there of it is removed: else a
    /// process that is killed again and again would fill the volume.
    pub(super) fn beside(&self, tenant: &str, project: &str) -> io::Result<PathBuf> {
        let beside = self.repos.join(BESIDE);
        fs::create_dir_all(&beside)?;
        // No slug has a `+`.
        let begin = format!("{tenant}+{project}+");
        for left in names(&beside)?.filter(|name| name.starts_with(&begin)) {
            match fs::remove_dir_all(beside.join(left)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(beside.join(format!("{begin}{}", Uuid::new_v4().simple())))
    }
}

/// A mirror that is being made. It is removed on drop, unless it was renamed.
pub(super) struct Beside(pub(super) PathBuf);

impl Drop for Beside {
    fn drop(&mut self) {
        if self.0.exists()
            && let Err(error) = fs::remove_dir_all(&self.0)
        {
            tracing::warn!(error = %error.kind(), "an unfinished mirror was not removed");
        }
    }
}

/// Removes what killed runs left in a mirror: packs that were not received to their end, marks that keep packs,
/// and locks, for which git would refuse to change anything ever again.
pub(super) fn remove_unfinished(mirror: &Path) -> io::Result<()> {
    let is_half = |name: &str| name.starts_with("tmp_") || name.ends_with(".keep");
    remove_files(&mirror.join("objects/pack"), &is_half)?;
    let is_lock = |name: &str| name.ends_with(".lock");
    remove_files(mirror, &is_lock)?;
    for folder in ["objects/info", "objects/info/commit-graphs"] {
        remove_files(&mirror.join(folder), &|name| {
            is_lock(name) || name.starts_with("tmp_")
        })?;
    }
    let mut folders = vec![mirror.join("refs")];
    while let Some(folder) = folders.pop() {
        remove_files(&folder, &is_lock)?;
        let entries = fs::read_dir(&folder)?.flatten();
        let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        folders.extend(entries.filter(is_folder).map(|entry| entry.path()));
    }
    Ok(())
}

/// Removes the files of a folder, if there is one, whose names are so.
fn remove_files(folder: &Path, is_so: &dyn Fn(&str) -> bool) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let is_file = entry.file_type()?.is_file();
        if is_file && is_so(&entry.file_name().to_string_lossy()) {
            match fs::remove_file(entry.path()) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }
    Ok(())
}

fn names(folder: &Path) -> io::Result<impl Iterator<Item = String> + use<>> {
    let entries = fs::read_dir(folder)?;
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()))
}
