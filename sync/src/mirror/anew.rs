//! Clones a mirror anew that git calls corrupt, or that holds more than its remote has, as after many force-pushes.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::{MirrorSource, Mirrors, Synced, disk_failure, owner, removal, since_written};
use crate::failure::{SyncFailure, SyncState};
use crate::git::{Progress, RunBounds, folder_size};

/// A mirror is not cloned anew before it is so old, by its configuration, which is written once.
pub(super) const LEAST_LIFE: Duration = Duration::from_secs(60 * 60);
/// From one try to clone a corrupt mirror anew to the next.
const CORRUPT_PAUSE: Duration = LEAST_LIFE;
/// The same of one that is too large: what the remote has may be too large itself.
const TOO_LARGE_PAUSE: Duration = Duration::from_secs(24 * 60 * 60);
/// The file in a mirror that was written when the last try began.
pub(super) const TRIED: &str = "archway-cloned-anew";

impl Mirrors {
    /// Fetches what is new. A mirror that a fetch cannot mend is cloned beside and exchanged.
    pub(super) async fn fetch_or_replace(
        &self,
        place: &Path,
        source: &MirrorSource<'_>,
        bounds: &RunBounds<'_>,
    ) -> Result<Synced, SyncFailure> {
        let clean = || removal::remove_unfinished(place);
        clean().map_err(|error| disk_failure(&error))?;
        let failure = match self.fetch(place, source, bounds).await {
            Ok(synced) => return Ok(synced),
            Err(failure) => failure,
        };
        // What a stopped run received takes room until then. The next run tries again.
        _ = clean();
        if !may_replace(place, &failure) {
            return Err(failure);
        }
        tracing::warn!(project = source.project, %failure, "a mirror is cloned anew");
        // Before: a clone that dies with its process is not tried again at once.
        fs::write(place.join(TRIED), "").map_err(|error| disk_failure(&error))?;
        let mut limits = bounds.limits;
        limits.time = limits.time.max(self.clone_time);
        // The old one takes room until it is exchanged.
        let old = folder_size(place).map_err(|error| disk_failure(&error))?;
        let both = |now: Progress| {
            let bytes = now.bytes.saturating_add(old);
            (bounds.progress)(Progress { bytes, ..now });
        };
        let bounds = RunBounds {
            limits,
            progress: &both,
            ..*bounds
        };
        let (beside, synced) = self.make(source, &bounds).await?;
        owner::exchange(&beside.0, place).map_err(|error| disk_failure(&error))?;
        Ok(Synced {
            changed: true,
            ..synced
        })
    }
}

/// Whether a new clone may help, and was not tried a short time ago.
fn may_replace(place: &Path, failure: &SyncFailure) -> bool {
    let pause = match failure.state {
        SyncState::TooLarge => TOO_LARGE_PAUSE,
        _ if failure.is_corruption() => CORRUPT_PAUSE,
        _ => return false,
    };
    let tried = place.join(TRIED);
    let is_rested = match tried.try_exists() {
        Ok(false) => true,
        Ok(true) => since_written(&tried) >= pause,
        Err(_unreadable) => false,
    };
    is_rested && since_written(&place.join("config")) >= LEAST_LIFE
}
