//! Leaves out a fetch that would bring nothing.

use std::path::Path;
use std::time::Duration;
use std::{fs, io};

use serde::{Deserialize, Serialize};

use super::{MirrorSource, Mirrors, Synced, disk_failure, since_written, upkeep};
use crate::failure::SyncFailure;
use crate::git::{RunBounds, folder_size};

/// The file in a mirror that says what was fetched last.
const LAST_FETCH: &str = "archway-last-fetch";
/// git fetches after so long in any case: it alone notices a damaged mirror.
const LONGEST_TRUST: Duration = Duration::from_secs(60 * 60);

/// What was fetched last.
#[derive(Serialize, Deserialize)]
struct LastFetch {
    /// Digest of the remote's refs, asked for before the fetch.
    refs: String,
    /// The remote, and the ref that HEAD was to name.
    url: String,
    reference: Option<String>,
    /// As in [`Synced`].
    head: Option<String>,
    ref_gone: bool,
}

impl Mirrors {
    /// A digest of the remote's refs, asked for before the fetch. `None` if they are not known.
    pub(super) async fn ask_for_refs(
        &self,
        source: &MirrorSource<'_>,
        bounds: &RunBounds<'_>,
    ) -> Option<String> {
        let asked = self.remote_refs.digest(&source.transport);
        bounds.cancel.run_until_cancelled(asked).await.flatten()
    }

    /// Fetches what is new, unless the remote's refs are those of the last fetch.
    pub(super) async fn fetch_if_changed(
        &self,
        mirror: &Path,
        source: &MirrorSource<'_>,
        refs: Option<String>,
        bounds: &RunBounds<'_>,
    ) -> Result<Synced, SyncFailure> {
        if let Some(last) = last_fetch(mirror)
            && Some(&last.refs) == refs.as_ref()
            && last.url == source.transport.remote.as_str()
            && last.reference.as_deref() == source.reference
            && !upkeep::is_due(mirror)
        {
            return Ok(Synced {
                head: last.head,
                changed: false,
                ref_gone: last.ref_gone,
                bytes: folder_size(mirror).map_err(|error| disk_failure(&error))?,
            });
        }
        forget(mirror).map_err(|error| disk_failure(&error))?;
        let synced = self.fetch_or_replace(mirror, source, bounds).await?;
        remember(mirror, source, refs, &synced).map_err(|error| disk_failure(&error))?;
        Ok(synced)
    }
}

/// Writes down what was fetched, if the refs before are known.
pub(super) fn remember(
    mirror: &Path,
    source: &MirrorSource<'_>,
    refs: Option<String>,
    synced: &Synced,
) -> io::Result<()> {
    let Some(refs) = refs else { return Ok(()) };
    let last = LastFetch {
        refs,
        url: source.transport.remote.as_str().to_owned(),
        reference: source.reference.map(str::to_owned),
        head: synced.head.clone(),
        ref_gone: synced.ref_gone,
    };
    fs::write(mirror.join(LAST_FETCH), serde_json::to_vec(&last)?)
}

/// `None` if it is not known, or too old.
fn last_fetch(mirror: &Path) -> Option<LastFetch> {
    let file = mirror.join(LAST_FETCH);
    let last = serde_json::from_slice(&fs::read(&file).ok()?).ok();
    last.filter(|_| since_written(&file) < LONGEST_TRUST)
}

fn forget(mirror: &Path) -> io::Result<()> {
    match fs::remove_file(mirror.join(LAST_FETCH)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
