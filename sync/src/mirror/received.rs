//! What a fetch received, to be removed if it may not stay.

use std::collections::BTreeSet;
use std::path::Path;
use std::{fs, io};

use super::refs::{FETCHED, Refs};
use super::{Mirrors, disk_failure};
use crate::failure::SyncFailure;
use crate::git::RunBounds;

/// The packs of a mirror before a fetch.
pub(super) struct Received {
    packs: BTreeSet<String>,
}

impl Received {
    pub(super) fn before(mirror: &Path) -> io::Result<Received> {
        Ok(Received {
            packs: files(mirror)?,
        })
    }
}

impl Mirrors {
    /// Removes what a fetch brought that was not published.
    pub(super) async fn undo(
        &self,
        mirror: &Path,
        refs: &Refs,
        before: &Received,
        bounds: &RunBounds<'_>,
    ) -> Result<(), SyncFailure> {
        let names = refs
            .fetched
            .keys()
            .filter_map(|name| name.strip_prefix("refs/"));
        let head = refs.fetched_head.as_ref().map(|_| "HEAD");
        let delete = |name| format!("delete {FETCHED}{name}\n");
        let deletions: String = names.chain(head).map(delete).collect();
        let update = ["update-ref", "--stdin"];
        self.git
            .local(mirror, &update, Some(deletions), bounds)
            .await?;
        let remove = || {
            for file in files(mirror)?.difference(&before.packs) {
                fs::remove_file(mirror.join("objects/pack").join(file))?;
            }
            Ok(())
        };
        remove().map_err(|error: io::Error| disk_failure(&error))
    }
}

fn files(mirror: &Path) -> io::Result<BTreeSet<String>> {
    let entries = fs::read_dir(mirror.join("objects/pack"))?;
    let name =
        |entry: io::Result<fs::DirEntry>| Ok(entry?.file_name().to_string_lossy().into_owned());
    entries.map(name).collect()
}
