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
    /// Fetches what is new, unless the remote's refs are those of the last fetch.
    pub(super) async fn fetch_if_changed(
        &self,
        mirror: &Path,
        source: &MirrorSource<'_>,
        bounds: &RunBounds<'_>,
    ) -> Result<Synced, SyncFailure> {
        let asked = self.remote_refs.digest(&source.transport);
        let refs = bounds.cancel.run_until_cancelled(asked).await.flatten();
        let url = source.transport.remote.as_str();
        if let Some(last) = last_fetch(mirror)
            && Some(&last.refs) == refs.as_ref()
            && last.url == url
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
        if let Some(refs) = refs {
            let last = LastFetch {
                refs,
                url: url.to_owned(),
                reference: source.reference.map(str::to_owned),
                head: synced.head.clone(),
                ref_gone: synced.ref_gone,
            };
            let written = serde_json::to_vec(&last).map_err(io::Error::other);
            let written = written.and_then(|text| fs::write(mirror.join(LAST_FETCH), text));
            written.map_err(|error| disk_failure(&error))?;
        }
        Ok(synced)
    }
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
