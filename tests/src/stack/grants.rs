//! What a tenant of a stack is given before it starts.

use archway::tenants::Tenants;
use archway_gateway::secrets::RootSecret;
use secrecy::ExposeSecret;
use uuid::Uuid;

use crate::Tenant;

/// Gives a tenant its projects and keys; the keys by their labels.
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
