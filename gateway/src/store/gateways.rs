//! The registration of running gateways and their admin ports. A gateway cannot read other
//! gateways' rows.

use uuid::Uuid;

use super::{StoreError, Stores, with_timeout};

impl Stores {
    /// Registers a running gateway and its admin port: `address:port` on a host.
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
        with_timeout("the registration of an admin port", reported)
            .await
            .map(|_done| ())
    }

    /// Deletes a gateway's registration.
    pub(crate) async fn forget_gateway(&self, id: Uuid) -> Result<(), StoreError> {
        let forgotten = sqlx::query!("select forget_gateway($1)", id).execute(&self.pool);
        with_timeout("the removal of a registration", forgotten)
            .await
            .map(|_done| ())
    }
}
