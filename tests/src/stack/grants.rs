//! Projects and keys that a stack's tenants have from the start.

use archway::tenants::Tenants;
use archway_gateway::secrets::RootSecret;
use secrecy::ExposeSecret;
use uuid::Uuid;

use crate::Tenant;

/// Creates a tenant's projects and keys. Returns the keys by their labels.
pub(super) async fn give(
    tenant: &Tenant,
    id: Uuid,
    tenants: &Tenants,
    secret: &RootSecret,
) -> Vec<(String, String)> {
    for project in tenant.projects() {
        tenants.add_project(id, project, None).await.unwrap();
    }
    let mut keys = Vec::new();
    for request in tenant.keys() {
        let label = request.label.clone();
        let key = tenants.issue_key(id, secret, request).await.unwrap();
        keys.push((label, key.api_key.expose_secret().to_owned()));
    }
    keys
}
