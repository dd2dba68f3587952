//! Selects the tenants that a command lists: slug, or all.

use uuid::Uuid;

use crate::tenants::{TenantError, TenantsTx};

/// One tenant, by position or by option, or all.
#[derive(Debug, clap::Args)]
#[group(multiple = false)]
pub(super) struct TenantSelector {
    /// The tenant's slug [default: all tenants].
    #[arg(value_name = "TENANT")]
    tenant: Option<String>,
    /// The tenant's slug, as an option.
    #[arg(long = "tenant", value_name = "TENANT")]
    named: Option<String>,
}

impl TenantSelector {
    /// The slug of the selected tenant; `None` for all.
    pub(super) fn slug(&self) -> Option<&str> {
        self.tenant.as_deref().or(self.named.as_deref())
    }

    /// The selected tenants: slugs and ids, by slug.
    ///
    /// # Errors
    /// If no tenant has the slug, or the database does not answer.
    pub(super) async fn resolve(
        &self,
        tx: &mut TenantsTx,
    ) -> Result<Vec<(String, Uuid)>, TenantError> {
        if let Some(slug) = self.slug() {
            return Ok(vec![(slug.to_owned(), tx.find_tenant(slug).await?)]);
        }
        let tenants = tx.tenants().await?.into_iter();
        Ok(tenants.map(|tenant| (tenant.slug, tenant.id)).collect())
    }
}
