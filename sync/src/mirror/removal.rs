//! Lists the mirrors of the folder, and removes one.

use std::path::Path;
use std::{fs, io};

use uuid::Uuid;

use super::{BESIDE, Mirrors};

/// How git writes [`super::MARK`] into a repository's `config`.
const MARK_LINES: &str = "[archway]\n\tmirror = true\n";

impl Mirrors {
    /// The tenant and project of each mirror. Folders that sync did not make are none.
    ///
    /// # Errors
    /// If the folder of repositories cannot be read.
    pub fn list(&self) -> io::Result<Vec<(String, String)>> {
        let mut mirrors = Vec::new();
        for tenant in names(&self.repos)?.filter(|name| name != BESIDE) {
            let Ok(projects) = names(&self.repos.join(&tenant)) else {
                // A file, or a tenant that was removed a moment ago.
                continue;
            };
            for project in projects {
                if is_mirror(&self.place(&tenant, &project)) {
                    mirrors.push((tenant.clone(), project));
                }
            }
        }
        Ok(mirrors)
    }

    /// Removes a mirror, if there is one: first its name, so that no worker reads half of it. A folder that sync
    /// did not make stays.
    ///
    /// # Errors
    /// If the folder of repositories cannot be written to.
    pub fn remove(&self, tenant: &str, project: &str) -> io::Result<()> {
        let place = self.place(tenant, project);
        if !is_mirror(&place) {
            return Ok(());
        }
        let beside = self.repos.join(BESIDE);
        fs::create_dir_all(&beside)?;
        let beside = beside.join(Uuid::new_v4().simple().to_string());
        match fs::rename(place, &beside) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
            Ok(()) => fs::remove_dir_all(beside),
        }
    }
}

/// Removes what killed runs left in a mirror: packs that were not received to their end.
pub(super) fn remove_unfinished(mirror: &Path) -> io::Result<()> {
    for entry in fs::read_dir(mirror.join("objects/pack"))? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with("tmp_") {
            match fs::remove_file(entry.path()) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }
    Ok(())
}

fn is_mirror(folder: &Path) -> bool {
    let config = fs::read_to_string(folder.join("config"));
    config.is_ok_and(|text| text.contains(MARK_LINES))
}

fn names(folder: &Path) -> io::Result<impl Iterator<Item = String> + use<>> {
    let entries = fs::read_dir(folder)?;
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()))
}
