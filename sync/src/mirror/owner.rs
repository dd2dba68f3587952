//! Whose a folder of repositories is: a mark in a mirror's configuration names its project.

use std::path::Path;
use std::{fs, io};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use uuid::Uuid;

use super::{MirrorSource, Mirrors};
use crate::failure::SyncFailure;
use crate::git::RunBounds;

/// The setting by which a folder is known to be a mirror of ours.
const MARK: &str = "archway.mirror";
/// How git writes it, before the value.
const MARK_LINES: &str = "[archway]\n\tmirror = ";
/// Its value in mirrors that name no project.
const UNNAMED: &str = "true";

/// Who made a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// There is no folder.
    Nobody,
    /// Sync, for this project.
    Project(Uuid),
    /// Sync, before mirrors named their projects.
    Unnamed,
    /// Somebody else.
    Foreign,
}

impl Owner {
    /// # Errors
    /// If the folder cannot be read.
    pub(super) fn of(folder: &Path) -> io::Result<Owner> {
        let text = match fs::read_to_string(folder.join("config")) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(match folder.symlink_metadata() {
                    Ok(_) => Owner::Foreign,
                    Err(_) => Owner::Nobody,
                });
            }
            Err(error) => return Err(error),
        };
        let value = text.split_once(MARK_LINES).map(|(_, rest)| rest);
        let value = value.and_then(|rest| rest.lines().next());
        Ok(match value {
            Some(UNNAMED) => Owner::Unnamed,
            Some(id) => Uuid::parse_str(id).map_or(Owner::Foreign, Owner::Project),
            None => Owner::Foreign,
        })
    }
}

impl Mirrors {
    /// Marks a folder as the mirror of a project.
    pub(super) async fn claim(
        &self,
        folder: &Path,
        source: &MirrorSource<'_>,
        bounds: &RunBounds<'_>,
    ) -> Result<(), SyncFailure> {
        let id = source.project_id.to_string();
        let mark = ["config", MARK, id.as_str()];
        self.git.local(folder, &mark, None, bounds).await.map(drop)
    }
}

/// Exchanges two folders, so that there is one at each name all the time.
pub(super) fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}
