//! Finds what HEAD has to name.

use std::path::Path;

use super::refs::{self, FETCHED, Head, Refs};
use super::{MirrorSource, Mirrors};
use crate::failure::SyncFailure;
use crate::git::RunBounds;

impl Mirrors {
    /// What HEAD has to be if the fetched refs alone do not say.
    pub(super) async fn ask_for_head(
        &self,
        mirror: &Path,
        source: &MirrorSource<'_>,
        refs: &Refs,
        bounds: &RunBounds<'_>,
    ) -> Result<Option<Head>, SyncFailure> {
        if let Some(reference) = source.reference {
            return Ok(self
                .commit_of(mirror, reference, bounds)
                .await
                .map(Head::Commit));
        }
        let url = source.transport.remote.as_str();
        let arguments = ["ls-remote", "--symref", "--", url, "HEAD"];
        let list = self
            .git
            .remote(mirror, &source.transport, &arguments, bounds)
            .await?;
        let named = refs::symref(&list).filter(|head| match head {
            Head::Branch(name) => refs.fetched.contains_key(name),
            Head::Commit(_) => false,
        });
        // A detached HEAD has no name, and a HEAD that names no branch has no commit.
        Ok(named
            .or_else(|| refs.fetched_head.clone().map(Head::Commit))
            .or_else(|| refs.likely_branch()))
    }

    /// The commit of a tag, or of a commit's own id. `None` if the remote has neither.
    async fn commit_of(
        &self,
        mirror: &Path,
        reference: &str,
        bounds: &RunBounds<'_>,
    ) -> Option<String> {
        let is_id = reference.len() == 40 && reference.bytes().all(|byte| byte.is_ascii_hexdigit());
        let names = [
            Some(format!("{FETCHED}tags/{reference}")),
            is_id.then(|| reference.to_owned()),
        ];
        for name in names.into_iter().flatten() {
            let commit = format!("{name}^{{commit}}");
            let parse = [
                "rev-parse",
                "--verify",
                "--quiet",
                "--end-of-options",
                &commit,
            ];
            if let Ok(id) = self.git.local(mirror, &parse, None, bounds).await {
                return Some(id.trim().to_owned());
            }
        }
        None
    }
}
