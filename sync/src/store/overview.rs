//! How the mirrors of a process are, in one query.

use super::{SyncStore, SyncStoreError, failed};

/// The mirrors of a process.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct MirrorsOverview {
    /// How many are in each state that any is in.
    pub(crate) states: Vec<(String, u64)>,
    /// The size of all of them.
    pub(crate) bytes: u64,
    /// How many seconds ago the one was fetched whose last fetch is longest ago.
    pub(crate) oldest_seconds: f64,
    /// The age of the oldest answer about readers of a private repository, as a share of the grace; at most 2.
    pub(crate) oldest_readers_share: f64,
}

impl MirrorsOverview {
    /// Whether each mirror was tried once.
    pub(crate) fn is_caught_up(&self) -> bool {
        let untried = |state: &str| matches!(state, "new" | "cloning");
        !self
            .states
            .iter()
            .any(|(state, mirrors)| *mirrors > 0 && untried(state))
    }
}

impl SyncStore {
    /// How the mirrors of this process are.
    pub(crate) async fn overview(&self) -> Result<MirrorsOverview, SyncStoreError> {
        let rows = sqlx::query!(
            r#"select state as "state!", mirrors as "mirrors!", bytes as "bytes!",
                      oldest_seconds as "oldest_seconds!"
               from mirrors_overview($1, $2)"#,
            self.place,
            self.pool_name
        )
        .fetch_all(&self.pool)
        .await
        .map_err(failed("reading the states of mirrors"))?;
        let oldest = sqlx::query_scalar!(r#"select oldest_readers_share() as "share!""#);
        let oldest = oldest.fetch_one(&self.pool).await;
        let mut overview = MirrorsOverview {
            oldest_readers_share: oldest
                .map_err(failed("reading how old answers about readers are"))?,
            ..MirrorsOverview::default()
        };
        for row in rows {
            overview.bytes += u64::try_from(row.bytes).unwrap_or(0);
            overview.oldest_seconds = overview.oldest_seconds.max(row.oldest_seconds);
            let mirrors = u64::try_from(row.mirrors).unwrap_or(0);
            overview.states.push((row.state, mirrors));
        }
        Ok(overview)
    }
}
