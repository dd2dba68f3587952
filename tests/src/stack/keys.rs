//! Changes to keys while the stack runs.

use std::time::Duration;

use secrecy::ExposeSecret;

use super::{Harness, Stack};
use crate::Client;

impl Harness {
    /// Connects the gateways to Postgres through a relay that can drop notifications.
    #[must_use]
    pub fn relayed(mut self) -> Harness {
        self.relayed = true;
        self
    }
}

impl Stack {
    /// Revokes a client's key in the database, which notifies the gateways.
    pub async fn revoke(&self, client: &Client) {
        self.tenants.revoke_key(key_id(client)).await.unwrap();
    }

    /// Revokes all access that an issuer's subject has until now, which notifies the gateways.
    pub async fn revoke_principal(&self, issuer: &str, subject: &str) {
        let revoked = self
            .tenants
            .change(async |tx| tx.revoke_principal(issuer, subject).await);
        revoked.await.unwrap();
    }

    /// Disables or enables a tenant, which notifies the gateways.
    pub async fn set_disabled(&self, tenant: &str, disabled: bool) {
        let id = self.tenant_id(tenant);
        let changed = self
            .tenants
            .change(async |tx| tx.set_disabled(id, disabled).await);
        changed.await.unwrap();
    }

    /// A client with the successor of a client's key. The older key stays valid for an hour.
    pub async fn rotate(&self, client: &Client) -> Client {
        self.rotate_with(client, Duration::from_secs(3600)).await
    }

    /// Like [`Stack::rotate`], but the older key stays valid for `overlap`.
    pub async fn rotate_with(&self, client: &Client, overlap: Duration) -> Client {
        let rotated = self.tenants.change(async |tx| {
            tx.rotate_key(key_id(client), self.gateways.secret(), overlap, None)
                .await
        });
        let key = rotated.await.unwrap().api_key;
        Client::new(client.address(), key.expose_secret())
    }
}

/// The public id of a client's key.
pub(super) fn key_id(client: &Client) -> &str {
    client.key().split('_').nth(1).expect("awy_<id>_…")
}
