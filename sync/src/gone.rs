//! Mirrors that the database has and the volume has not, as after the volume was lost.

use tokio::task::spawn_blocking;
use uuid::Uuid;

use crate::mirror::Mirrors;
use crate::store::{KnownMirror, SyncStore, SyncStoreError};

/// Has mirrors cloned again that are gone from the volume. Returns whether there were any: one that a run had when its
/// process died is not free at once.
pub(crate) async fn clone_again(
    store: &SyncStore,
    mirrors: &Mirrors,
    known: &[KnownMirror],
) -> Result<bool, SyncStoreError> {
    let made = known.iter().filter(|mirror| mirror.is_made).cloned();
    let (made, mirrors): (Vec<KnownMirror>, Mirrors) = (made.collect(), mirrors.clone());
    let gone = move || -> Vec<Uuid> {
        let gone = (made.iter()).filter(|it| !mirrors.has(&it.tenant, &it.project, it.project_id));
        gone.map(|it| it.project_id).collect()
    };
    // A task that ended by a panic has found none.
    let gone = spawn_blocking(gone).await.unwrap_or_default();
    if gone.is_empty() {
        return Ok(false);
    }
    tracing::warn!(
        mirrors = gone.len(),
        "mirrors are gone from the volume: they are cloned again"
    );
    store.clone_again(&gone).await?;
    Ok(true)
}
