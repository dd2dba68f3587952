//! The registration of running gateways, their admin ports, and what each says about itself.

use uuid::Uuid;

use super::{StoreError, Stores, with_timeout};

impl Stores {
    /// Registers a running gateway and its admin port: `address:port` on a host. The report is at most 8,192 characters.
    pub(crate) async fn report_gateway(
        &self,
        id: Uuid,
        name: &str,
        (host, admin): (&str, &str),
        report: &str,
    ) -> Result<(), StoreError> {
        let reported = sqlx::query!(
            "select report_gateway_state($1, $2, $3, $4, $5)",
            id,
            name,
            host,
            admin,
            report
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
