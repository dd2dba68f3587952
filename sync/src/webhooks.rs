//! The connections of the database, as webhooks see them.

use archway_proto::chain::Chain;
use secrecy::SecretString;
use uuid::Uuid;

use crate::credentials::Credentials;
use crate::hooks::{
    HookConnection, HookConnections, HookEvent, HookEventKind, HookHost, HookStoreError,
};
use crate::hosts::{ConnectionSettings, HostKind};
use crate::remote::AllowedProtocols;
use crate::store::{SyncStore, SyncStoreError};

/// The connections of the database.
#[derive(Clone)]
pub(crate) struct StoredConnections {
    pub(crate) store: SyncStore,
    pub(crate) credentials: Credentials,
    pub(crate) allowed: AllowedProtocols,
}

impl HookConnections for StoredConnections {
    async fn find(
        &self,
        tenant: &str,
        name: &str,
    ) -> Result<Option<HookConnection>, HookStoreError> {
        let Some((id, settings)) = self.store.hook_connection(tenant, name).await? else {
            return Ok(None);
        };
        let usable = ConnectionSettings::stored(&settings, &self.allowed).ok();
        let kind = usable.and_then(|(_, connection)| connection.kind());
        Ok(kind.map(|kind| HookConnection {
            id,
            host: match kind {
                HostKind::Github => HookHost::GitHub,
                HostKind::Gitlab => HookHost::GitLab,
                HostKind::Gitea => HookHost::Gitea,
            },
            secret: self.secret(name),
        }))
    }

    async fn due(&self, connection: Uuid, event: HookEvent) -> Result<(), HookStoreError> {
        let (id, path) = (event.repository.as_deref(), event.full_name.as_deref());
        match event.kind {
            HookEventKind::Fetch => self.store.request_mirrors(connection, id, path).await?,
            HookEventKind::List => self.store.request_listing(connection).await?,
        }
        Ok(())
    }
}

impl StoredConnections {
    fn secret(&self, name: &str) -> Option<SecretString> {
        let secret = self.credentials.webhook_secret(name);
        if let Err(error) = &secret {
            tracing::debug!(error = %Chain(error), "no secret of webhooks");
        }
        secret.ok()
    }
}

impl From<SyncStoreError> for HookStoreError {
    fn from(error: SyncStoreError) -> HookStoreError {
        HookStoreError(Box::new(error))
    }
}
