//! What becomes of keys while the stack runs.

use std::time::Duration;

use secrecy::ExposeSecret;

use super::{Harness, Stack};
use crate::Client;

impl Harness {
    /// Has the gateways reach Postgres by a relay, so that they can be made deaf to changes.
    #[must_use]
    pub fn relayed(mut self) -> Harness {
        self.relayed = true;
        self
    }
}

impl Stack {
    /// Revokes a client's key in the database, which tells the gateways.
    pub async fn revoke(&self, client: &Client) {
        self.tenants.revoke_key(key_id(client)).await.unwrap();
    }

    /// Revokes what an issuer's subject was given until now; the database tells the gateways.
    pub async fn revoke_principal(&self, issuer: &str, subject: &str) {
        let revoked = self
            .tenants
            .change(async |tx| tx.revoke_principal(issuer, subject).await);
        revoked.await.unwrap();
    }

    /// Disables a tenant, or enables it again; the database tells the gateways.
    pub async fn set_disabled(&self, tenant: &str, disabled: bool) {
        let id = self.tenant_id(tenant);
        let changed = self
            .tenants
            .change(async |tx| tx.set_disabled(id, disabled).await);
        changed.await.unwrap();
    }

    /// A client with the successor of a client's key. The older key is good for another hour.
    pub async fn rotate(&self, client: &Client) -> Client {
        self.rotate_with(client, Duration::from_secs(3600)).await
    }

    /// The same, where the older key is good for so long.
    pub async fn rotate_with(&self, client: &Client, overlap: Duration) -> Client {
        let rotated = self.tenants.change(async |tx| {
            tx.rotate_key(key_id(client), self.gateways.secret(), overlap, None)
                .await
        });
        let key = rotated.await.unwrap().api_key;
        Client::new(client.address(), key.expose_secret())
    }
}

/// The public part of a client's key.
pub(super) fn key_id(client: &Client) -> &str {
    client.key().split('_').nth(1).expect("awy_<id>_…")
}
