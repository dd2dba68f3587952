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
                let config = self.place(&tenant, &project).join("config");
                if fs::read_to_string(config).is_ok_and(|text| text.contains(MARK_LINES)) {
                    mirrors.push((tenant.clone(), project));
                }
            }
        }
        Ok(mirrors)
    }

    /// Removes a mirror, if there is one: first its name, so that no worker reads half of it.
    ///
    /// # Errors
    /// If the folder of repositories cannot be written to.
    pub fn remove(&self, tenant: &str, project: &str) -> io::Result<()> {
        let beside = self.repos.join(BESIDE);
        fs::create_dir_all(&beside)?;
        let beside = beside.join(Uuid::new_v4().simple().to_string());
        match fs::rename(self.place(tenant, project), &beside) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
            Ok(()) => fs::remove_dir_all(beside),
        }
    }
}

fn names(folder: &Path) -> io::Result<impl Iterator<Item = String> + use<>> {
    let entries = fs::read_dir(folder)?;
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()))
}
