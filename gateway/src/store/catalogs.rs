//! The tools of a pool as its workers last gave them. They hold nothing of any tenant.

use super::{StoreError, Stores, in_time};

/// Bytes of a catalogue at most, as the schema has it.
pub(crate) const LARGEST_CATALOG: usize = 4 << 20;

impl Stores {
    /// The catalogue that was last kept for a pool, if one ever was: bytes that nobody checked.
    pub(crate) async fn catalog(&self, pool: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let kept = sqlx::query_scalar!("select tools from catalogs where pool = $1", pool)
            .fetch_optional(&self.pool);
        in_time("the last known tools", kept).await
    }

    /// Keeps a pool's catalogue: at most [`LARGEST_CATALOG`] bytes.
    pub(crate) async fn keep_catalog(&self, pool: &str, tools: &[u8]) -> Result<(), StoreError> {
        let kept = sqlx::query!(
            "insert into catalogs (pool, tools) values ($1, $2) on conflict (pool) \
             do update set tools = excluded.tools, taken_at = now() \
             where catalogs.tools <> excluded.tools",
            pool,
            tools
        )
        .execute(&self.pool);
        in_time("the tools to be kept", kept).await.map(|_done| ())
    }
}
