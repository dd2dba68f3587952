//! Keeps a mirror fast to read: a commit-graph with changed paths.

use std::path::Path;

use super::Mirrors;
use crate::failure::SyncFailure;
use crate::git::RunBounds;

impl Mirrors {
    /// Brings what git computes from the objects up to date.
    pub(super) async fn keep_up(
        &self,
        mirror: &Path,
        bounds: &RunBounds<'_>,
    ) -> Result<(), SyncFailure> {
        let graph = [
            "commit-graph",
            "write",
            "--reachable",
            "--changed-paths",
            "--split",
            "--no-progress",
        ];
        self.git.local(mirror, &graph, None, bounds).await.map(drop)
    }
}
