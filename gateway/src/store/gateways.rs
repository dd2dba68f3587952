//! That a gateway runs, and where its admin port is. It hears nothing of others.

use uuid::Uuid;

use super::{StoreError, Stores, in_time};

impl Stores {
    /// Says that a gateway runs, and where its admin port is: `address:port` of a host.
    pub(crate) async fn report_gateway(
        &self,
        id: Uuid,
        name: &str,
        host: &str,
        admin: &str,
    ) -> Result<(), StoreError> {
        let reported = sqlx::query!(
            "select report_gateway($1, $2, $3, $4)",
            id,
            name,
            host,
            admin
        )
        .execute(&self.pool);
        in_time("where the admin port is", reported)
            .await
            .map(|_done| ())
    }

    /// Says that it ends.
    pub(crate) async fn forget_gateway(&self, id: Uuid) -> Result<(), StoreError> {
        let forgotten = sqlx::query!("select forget_gateway($1)", id).execute(&self.pool);
        in_time("that a gateway ends", forgotten)
            .await
            .map(|_done| ())
    }
}
