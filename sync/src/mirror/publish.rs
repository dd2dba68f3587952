//! Makes what was fetched the served state, in an order in which HEAD is never without a commit.

use std::path::Path;

use super::refs::{Head, Refs};
use super::{Mirrors, Synced, disk_failure, upkeep};
use crate::failure::SyncFailure;
use crate::git::{RunBounds, folder_size};

impl Mirrors {
    /// Makes what was fetched the served state. `bytes` is the mirror's size before. `head` is `None` if the remote no
    /// longer has the ref.
    pub(super) async fn publish(
        &self,
        mirror: &Path,
        (refs, mut bytes): (&Refs, u64),
        head: Option<Head>,
        bounds: &RunBounds<'_>,
    ) -> Result<Synced, SyncFailure> {
        let target = head.clone().unwrap_or_else(|| {
            let last = refs
                .served_head()
                .cloned()
                .or_else(|| refs.fetched_head.clone());
            last.map_or_else(|| refs.head.clone(), Head::Commit)
        });
        let changed = !refs.are_published() || target != refs.head;
        if changed {
            upkeep::make_due(mirror).map_err(|error| disk_failure(&error))?;
            self.move_refs(mirror, refs, &target, bounds).await?;
        }
        if upkeep::is_due(mirror) {
            self.keep_up(mirror, bounds).await;
            bytes = folder_size(mirror).map_err(|error| disk_failure(&error))?;
        }
        let commit = match &target {
            Head::Branch(name) => refs.fetched.get(name).cloned(),
            Head::Commit(id) => Some(id.clone()),
        };
        Ok(Synced {
            head: commit,
            changed,
            ref_gone: head.is_none(),
            bytes,
        })
    }

    async fn move_refs(
        &self,
        mirror: &Path,
        refs: &Refs,
        target: &Head,
        bounds: &RunBounds<'_>,
    ) -> Result<(), SyncFailure> {
        let stays = target == &refs.head && matches!(target, Head::Branch(_));
        if let (false, Some(id)) = (stays, refs.served_head()) {
            // Until all refs have moved, HEAD is the last commit, whatever happens to its branch.
            let detach = ["update-ref", "--no-deref", "HEAD", id.as_str()];
            self.git.local(mirror, &detach, None, bounds).await?;
        }
        for commands in [refs.deletions(), refs.updates()] {
            if !commands.is_empty() {
                let update = ["update-ref", "--stdin"];
                self.git
                    .local(mirror, &update, Some(commands), bounds)
                    .await?;
            }
        }
        let set: [&str; 4] = match target {
            Head::Branch(_) if stays => return Ok(()),
            Head::Branch(name) => ["symbolic-ref", "--", "HEAD", name],
            Head::Commit(id) => ["update-ref", "--no-deref", "HEAD", id],
        };
        self.git.local(mirror, &set, None, bounds).await.map(drop)
    }
}

impl Synced {
    /// Nothing was fetched: the remote has no ref.
    pub(super) fn of_empty_remote(refs: &Refs, bytes: u64) -> Synced {
        Synced {
            head: refs.served_head().cloned(),
            changed: false,
            ref_gone: !refs.served.is_empty(),
            bytes,
        }
    }
}
