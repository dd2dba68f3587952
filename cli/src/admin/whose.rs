//! Whose things a command lists: one tenant's, or those of all.

use crate::tenants::{TenantError, TenantsTx};
use uuid::Uuid;

/// One tenant, by position or by name, or all.
#[derive(Debug, clap::Args)]
#[group(multiple = false)]
pub(super) struct Whose {
    /// The tenant's slug [default: all tenants].
    #[arg(value_name = "TENANT")]
    tenant: Option<String>,
    /// The same, by name.
    #[arg(long = "tenant", value_name = "TENANT")]
    named: Option<String>,
}

impl Whose {
    /// The tenant that was named.
    pub(super) fn one(&self) -> Option<&str> {
        self.tenant.as_deref().or(self.named.as_deref())
    }

    /// The tenants by slug, with their ids.
    ///
    /// # Errors
    /// If there is none of the name, or the database gives no answer.
    pub(super) async fn find(
        &self,
        tx: &mut TenantsTx,
    ) -> Result<Vec<(String, Uuid)>, TenantError> {
        if let Some(slug) = self.one() {
            return Ok(vec![(slug.to_owned(), tx.find_tenant(slug).await?)]);
        }
        let tenants = tx.tenants().await?.into_iter();
        Ok(tenants.map(|tenant| (tenant.slug, tenant.id)).collect())
    }
}
