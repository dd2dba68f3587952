//! Whose a folder of repositories is: a mark in a mirror's configuration names its project.

use std::path::Path;
use std::{fs, io};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use uuid::Uuid;

use super::{MirrorSource, Mirrors, disk_failure};
use crate::failure::{SyncFailure, SyncState};
use crate::git::RunBounds;

/// The setting by which a folder is known to be a mirror of ours.
const MARK: &str = "archway.mirror";
/// The end of the name of a mirror that is being replaced.
pub(super) const ASIDE: &str = "+old";
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
    /// Makes sure that a project's place is its own or free; whether its mirror is there.
    pub(super) async fn take_place(
        &self,
        place: &Path,
        source: &MirrorSource<'_>,
        bounds: &RunBounds<'_>,
    ) -> Result<bool, SyncFailure> {
        match Owner::of(place).map_err(|error| disk_failure(&error))? {
            Owner::Nobody => Ok(false),
            Owner::Project(id) if id == source.project_id => Ok(true),
            Owner::Project(earlier) => {
                let removed = self.remove(source.tenant, source.project, earlier);
                removed.map_err(|error| disk_failure(&error))?;
                Ok(false)
            }
            Owner::Unnamed => {
                self.claim(place, source, bounds).await?;
                Ok(true)
            }
            Owner::Foreign => Err(SyncFailure::new(
                SyncState::Failed,
                "the project's folder has a repository that sync did not make: move it away",
            )),
        }
    }

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

/// Puts the mirror that was made at `new` in the place of another, which is at `new` then.
pub(super) fn exchange(new: &Path, place: &Path) -> io::Result<()> {
    exchange_by(new, place, || {
        renameat_with(CWD, new, CWD, place, RenameFlags::EXCHANGE)
    })
}

/// By `at_once`, with which there is one at each name all the time, or by renames where the file system cannot do
/// that, as `nfs` and `ceph`.
fn exchange_by(
    new: &Path,
    place: &Path,
    at_once: impl FnOnce() -> rustix::io::Result<()>,
) -> io::Result<()> {
    match at_once() {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {}
        exchanged => return Ok(exchanged?),
    }
    let mut aside = new.as_os_str().to_owned();
    aside.push(ASIDE);
    fs::rename(place, &aside)?;
    if let Err(error) = fs::rename(new, place) {
        fs::rename(&aside, place)?;
        return Err(error);
    }
    if let Err(error) = fs::rename(&aside, new) {
        // It has the name of a leftover, which the next clone removes.
        tracing::warn!(error = %error.kind(), "a mirror that was replaced was not removed");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_exchanged_where_the_file_system_cannot_do_it_at_once() {
        for cannot in [Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP] {
            let folder = tempfile::tempdir().unwrap();
            let (new, place) = (folder.path().join("new"), folder.path().join("place"));
            fs::create_dir_all(place.join("old")).unwrap();
            // Nothing is there to be put in: the old one is back.
            exchange_by(&new, &place, || Err(cannot)).unwrap_err();
            assert!(place.join("old").exists());
            fs::create_dir_all(new.join("new")).unwrap();
            exchange_by(&new, &place, || Err(cannot)).unwrap();
            assert!(place.join("new").exists() && new.join("old").exists());
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
            exchange(&new, &place).unwrap();
            assert!(place.join("old").exists() && new.join("new").exists());
            exchange_by(&new, &place, || Err(Errno::ACCESS)).unwrap_err();
            assert!(place.join("old").exists());
        }
    }
}
