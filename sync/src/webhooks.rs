//! The connections of the database, as webhooks see them.

use archway_proto::chain::Chain;
use secrecy::SecretString;
use uuid::Uuid;

use crate::credentials::Credentials;
use crate::hooks::{HookConnections, HookEvent, HookEventKind, HookStoreError, HookTarget};
use crate::store::{SyncStore, SyncStoreError};

/// The connections of the database.
#[derive(Clone)]
pub(crate) struct StoredConnections {
    pub(crate) store: SyncStore,
    pub(crate) credentials: Credentials,
}

impl HookConnections for StoredConnections {
    async fn find(&self, tenant: &str, name: &str) -> Result<Option<HookTarget>, HookStoreError> {
        let found = self.store.hook_connection(tenant, name).await?;
        Ok(found.map(|(id, host)| HookTarget { id, host }))
    }

    fn secret(&self, tenant: &str, name: &str) -> Option<SecretString> {
        let secret = self.credentials.webhook_secret(tenant, name);
        if let Err(error) = &secret {
            tracing::debug!(error = %Chain(error), "no secret of webhooks");
        }
        secret.ok()
    }

    async fn due(&self, connection: Uuid, event: HookEvent) -> Result<(), HookStoreError> {
        let (id, path) = (event.repository.as_deref(), event.full_name.as_deref());
        if event.is_private {
            // First: it is out of sight whatever becomes of the rest.
            self.store.hide_repository(connection, id, path).await?;
        }
        match event.kind {
            HookEventKind::Fetch => self.store.request_mirrors(connection, id, path).await?,
            HookEventKind::List => {
                self.store.request_readers(connection, id, path).await?;
                self.store.request_listing(connection).await?;
            }
        }
        Ok(())
    }
}

impl From<SyncStoreError> for HookStoreError {
    fn from(error: SyncStoreError) -> HookStoreError {
        HookStoreError(Box::new(error))
    }
}
