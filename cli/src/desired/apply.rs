//! Applies the desired state within one transaction.
//!
//! Projects come before keys, because keys name projects. Projects are pruned first as well, so no key
//! keeps a project that the same file removed.
//!
//! Other changes wait meanwhile. So a tenant's current state is read once, and each entry costs the
//! same however many current are.

mod access;
mod limits;
mod sources;

use std::collections::{BTreeMap, BTreeSet};

use archway_gateway::secrets::RootSecret;
use uuid::Uuid;

use super::compare::{differing_settings, differing_terms};
use super::field_change::FieldChange;
use super::report::ApplyReport;
use super::{DesiredKey, DesiredProject, DesiredState, DesiredTenant, Prune, ReconcileError};
use crate::tenants::{
    Key, KeyState, LimitOwner, Project, ProjectSettings, SourceRow, TenantError, TenantsTx, key_id,
    visible,
};

/// Applies the desired state and reports the changes. `secret` is required if keys are listed.
///
/// # Errors
/// The first entry that was refused. The transaction must not be committed then.
pub(crate) async fn apply(
    tx: &mut TenantsTx,
    desired: &DesiredState,
    secret: Option<&RootSecret>,
    prune: Option<Prune>,
) -> Result<ApplyReport, ReconcileError> {
    let mut applying = Applier {
        tx,
        secret,
        prune,
        report: ApplyReport::default(),
    };
    for tenant in &desired.tenants {
        applying.tenant(tenant).await?;
    }
    if prune == Some(Prune::Tenants) {
        applying.disable_others(desired).await?;
    }
    Ok(applying.report)
}

struct Applier<'a> {
    tx: &'a mut TenantsTx,
    secret: Option<&'a RootSecret>,
    prune: Option<Prune>,
    report: ApplyReport,
}

impl Applier<'_> {
    async fn tenant(&mut self, desired: &DesiredTenant) -> Result<(), ReconcileError> {
        let slug = &desired.slug;
        let refused = refused("tenant", slug);
        let id = self.tenant_itself(desired).await.map_err(refused)?;
        let limits = self.tx.limits(id).await?;
        if let Some(desired) = &desired.limits {
            let tenant = LimitOwner {
                tenant: id,
                lineage: None,
            };
            self.limits(tenant, slug, desired, &limits).await?;
        }
        if let Some(projects) = &desired.projects {
            self.projects(id, slug, projects).await?;
        }
        if let Some(connections) = &desired.connections {
            self.connections(id, slug, connections).await?;
        }
        if let Some(access) = &desired.access {
            let keys = desired.keys.as_deref().unwrap_or_default();
            self.access(id, slug, access, keys).await?;
        }
        if let Some(keys) = &desired.keys {
            self.keys(id, slug, keys).await?;
            self.key_limits(id, slug, keys, &limits).await?;
        }
        Ok(())
    }

    async fn tenant_itself(&mut self, desired: &DesiredTenant) -> Result<Uuid, TenantError> {
        let slug = &desired.slug;
        let id = match self.tx.find_tenant(slug).await {
            Err(TenantError::Missing { .. }) => return self.new_tenant(desired).await,
            found => found?,
        };
        let mut fields = Vec::new();
        let current = self.tx.tenant_state(id).await?;
        let name = desired.name.over(&Some(current.name.clone()));
        let name = name.as_ref().unwrap_or(slug);
        if let Some(change) = FieldChange::of("name", &current.name, name) {
            self.tx.rename_tenant(id, name).await?;
            fields.push(change.among(desired.left_out()));
        }
        if let Some(disabled) = desired.disabled
            && self.tx.set_disabled(id, disabled).await?
        {
            fields.extend(FieldChange::of("disabled", &!disabled, &disabled));
        }
        if let Some(pool) = &desired.pool
            && self.tx.set_pool(id, pool).await?
        {
            fields.extend(FieldChange::of("pool", &current.pool, pool));
        }
        self.report.add_comparison("tenant", slug, fields);
        Ok(id)
    }

    async fn new_tenant(&mut self, desired: &DesiredTenant) -> Result<Uuid, TenantError> {
        let (slug, name) = (&desired.slug, desired.name.at_first());
        let id = self.tx.create_tenant(slug, name).await?;
        if let Some(pool) = &desired.pool {
            self.tx.set_pool(id, pool).await?;
        }
        self.tx
            .set_disabled(id, desired.disabled == Some(true))
            .await?;
        self.report.add_action("created", "tenant", slug);
        Ok(id)
    }

    async fn projects(
        &mut self,
        id: Uuid,
        tenant: &str,
        desired: &[DesiredProject],
    ) -> Result<(), ReconcileError> {
        let current = self.tx.projects(id).await?.into_iter();
        let mut current: BTreeMap<_, _> = current.map(|old| (old.slug.clone(), old)).collect();
        let sources = self.tx.sources(id).await?.into_iter();
        let sources: BTreeMap<_, _> = sources.map(|it| (it.project.clone(), it)).collect();
        for project in desired {
            let name = format!("{tenant}/{}", project.slug);
            let old = current.remove(&project.slug);
            let old = (old.as_ref(), sources.get(&project.slug));
            let done = self.project(id, &name, project, old).await;
            done.map_err(refused("project", &name))?;
        }
        if self.prune.is_some() {
            // A connection's projects come and go with what its host lists.
            let is_found = |slug: &String| {
                let source = sources.get(slug);
                source.is_some_and(|source| source.connection.is_some())
            };
            current.retain(|slug, _| !is_found(slug));
            self.remove(id, tenant, current.values()).await?;
        }
        Ok(())
    }

    async fn keys(
        &mut self,
        id: Uuid,
        tenant: &str,
        desired: &[DesiredKey],
    ) -> Result<(), ReconcileError> {
        let current = self.tx.keys(id).await?;
        let by_id: BTreeMap<_, _> = current.iter().map(|key| (key.id.as_str(), key)).collect();
        for key in desired {
            let name = format!("{tenant}/{}", key.terms.label);
            let done = self.key(id, &name, key, &by_id).await;
            done.map_err(refused("key", &name))?;
        }
        if self.prune.is_some() {
            self.revoke_others(tenant, desired, &current).await?;
        }
        Ok(())
    }

    async fn project(
        &mut self,
        tenant: Uuid,
        name: &str,
        desired: &DesiredProject,
        (current, source): (Option<&Project>, Option<&SourceRow>),
    ) -> Result<(), TenantError> {
        let Some(current) = current else {
            let settings = ProjectSettings {
                name: desired.name.at_first().map(str::to_owned),
                ..desired.over(&ProjectSettings::default())
            };
            let id = self
                .tx
                .add_project(tenant, &desired.slug, &settings)
                .await?;
            self.source((tenant, id), &desired.source, None).await?;
            self.report.add_action("created", "project", name);
            return Ok(());
        };
        let restored = current.removed_at.is_some();
        if restored {
            self.tx.restore_project(tenant, &desired.slug).await?;
        }
        let settings = desired.over(&current.settings);
        let left_out = &desired.left_out;
        let mut fields = differing_settings(&current.settings, &settings, left_out);
        if !fields.is_empty() {
            self.tx.set_project(current.id, &settings).await?;
        }
        let which = (tenant, current.id);
        let git = self.source(which, &desired.source, source).await?;
        fields.extend(git.map(|change| change.among(left_out)));
        if restored {
            self.report.add_action("restored", "project", name);
        }
        if !restored || !fields.is_empty() {
            self.report.add_comparison("project", name, fields);
        }
        Ok(())
    }

    async fn key(
        &mut self,
        tenant: Uuid,
        name: &str,
        desired: &DesiredKey,
        current: &BTreeMap<&str, &Key>,
    ) -> Result<(), TenantError> {
        let id = key_id(&desired.text).ok_or(TenantError::NoKey)?;
        let name = format!("{name} {id}");
        let secret = self.secret.ok_or(TenantError::Crypto)?;
        let Some(old) = current.get(id.as_str()) else {
            self.tx
                .take_key(tenant, secret, &desired.text, &desired.terms)
                .await?;
            self.report.add_action("created", "key", &name);
            return Ok(());
        };
        let mut fields = differing_terms(&old.terms, &desired.terms, &desired.left_out);
        if fields.is_empty() {
            // A project that the terms name may have been removed since they were stored.
            self.tx.checked(tenant, &desired.terms).await?;
        } else {
            self.tx.set_key(&id, &desired.terms).await?;
        }
        if self.tx.confirm_key(secret, &desired.text).await? {
            fields.push(FieldChange::of_secret("hash"));
        }
        self.report.add_comparison("key", &name, fields);
        Ok(())
    }

    async fn remove(
        &mut self,
        id: Uuid,
        tenant: &str,
        others: impl Iterator<Item = &Project>,
    ) -> Result<(), ReconcileError> {
        for other in others.filter(|project| project.removed_at.is_none()) {
            self.tx.remove_project(id, &other.slug).await?;
            let name = format!("{tenant}/{}", other.slug);
            self.report.add_action("removed", "project", &name);
        }
        Ok(())
    }

    async fn revoke_others(
        &mut self,
        tenant: &str,
        desired: &[DesiredKey],
        current: &[Key],
    ) -> Result<(), ReconcileError> {
        let listed: BTreeSet<String> = desired.iter().filter_map(|key| key_id(&key.text)).collect();
        let others = current.iter().filter(|key| key.state == KeyState::Live);
        for other in others.filter(|key| !listed.contains(&key.id)) {
            self.tx.revoke_key(&other.id).await?;
            let name = format!("{tenant}/{} {}", other.terms.label, other.id);
            self.report.add_action("revoked", "key", &name);
        }
        Ok(())
    }

    async fn disable_others(&mut self, desired: &DesiredState) -> Result<(), ReconcileError> {
        let listed: BTreeSet<_> = desired.tenants.iter().map(|tenant| &tenant.slug).collect();
        let all = self.tx.tenants().await?;
        for other in all.iter().filter(|tenant| !listed.contains(&tenant.slug)) {
            if self.tx.set_disabled(other.id, true).await? {
                self.report.add_action("disabled", "tenant", &other.slug);
            }
        }
        Ok(())
    }
}

/// For `map_err`: names the refused entry.
fn refused(kind: &'static str, name: &str) -> impl FnOnce(TenantError) -> ReconcileError {
    let place = format!("{kind} {}", visible(name));
    move |source| ReconcileError::Refused { place, source }
}
