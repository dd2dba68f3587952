//! Refreshes the list of mounted folders, on a blocking thread.

use std::io;

use archway_repo::{FolderList, Mounts};
use tokio::task::JoinHandle;
use tokio::time::{Duration, timeout};

/// How long a refresh may take. A slower one continues, and a later scan takes its result.
const REFRESH_TIMEOUT: Duration = Duration::from_secs(1);

/// The mounted folders.
pub(super) struct Folders {
    mounts: Mounts,
    limit: usize,
    /// `None` while it is being refreshed.
    list: Option<FolderList>,
    refresh: Option<JoinHandle<(FolderList, io::Result<bool>)>>,
}

impl Folders {
    /// At most `limit` folders at these mounts.
    pub(super) fn new(mounts: Mounts, limit: usize) -> Folders {
        Folders {
            mounts,
            limit,
            list: None,
            refresh: None,
        }
    }

    /// Refreshes the list and returns it, if it is new or has changed.
    ///
    /// # Errors
    /// If the root cannot be read.
    pub(super) async fn refresh(&mut self) -> io::Result<Option<&FolderList>> {
        let is_first = self.list.is_none() && self.refresh.is_none();
        let refresh = self.refresh.get_or_insert_with(|| {
            let new = || FolderList::new(self.mounts.clone(), self.limit);
            let mut list = self.list.take().unwrap_or_else(new);
            tokio::task::spawn_blocking(move || {
                let refreshed = list.refresh();
                (list, refreshed)
            })
        });
        // A file system that hangs delays only new folders.
        let Ok(refreshed) = timeout(REFRESH_TIMEOUT, refresh).await else {
            return Ok(None);
        };
        self.refresh = None;
        let (list, has_changed) = refreshed?;
        let list = self.list.insert(list);
        Ok((has_changed? || is_first).then_some(&*list))
    }
}
