//! The catalog of each pool as its workers last sent it. It contains nothing of any tenant.

use super::{StoreError, Stores, with_timeout};

/// Bytes of a catalog at most, as the schema requires.
pub(crate) const LARGEST_CATALOG: usize = 4 << 20;

impl Stores {
    /// The stored catalog of a pool, if there is one. The bytes are not validated.
    pub(crate) async fn catalog(&self, pool: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let kept = sqlx::query_scalar!("select tools from catalogs where pool = $1", pool)
            .fetch_optional(&self.pool);
        with_timeout("the stored catalog", kept).await
    }

    /// Stores a pool's catalog: at most [`LARGEST_CATALOG`] bytes.
    pub(crate) async fn keep_catalog(&self, pool: &str, tools: &[u8]) -> Result<(), StoreError> {
        let kept = sqlx::query!(
            "insert into catalogs (pool, tools) values ($1, $2) on conflict (pool) \
             do update set tools = excluded.tools, taken_at = now() \
             where catalogs.tools <> excluded.tools",
            pool,
            tools
        )
        .execute(&self.pool);
        with_timeout("storage of a catalog", kept)
            .await
            .map(|_done| ())
    }
}
