//! Makes the database say what is wanted, within one transaction.
//!
//! Projects come before keys, which name them; what is pruned of the projects, too, so that a key
//! can't be left with a project that the same file removed.
//!
//! Others wait while this is done: what is there is read once for a tenant, and each entry costs
//! the same however many there are.

mod limits;

use std::collections::{BTreeMap, BTreeSet};

use crate::tenants::{
    Key, KeyState, Project, ProjectSettings, Spender, TenantError, TenantsTx, key_id,
};
use archway_gateway::secrets::RootSecret;
use uuid::Uuid;

use super::compare::{differing_settings, differing_terms};
use super::report::Report;
use super::{Prune, Wanted, WantedError, WantedKey, WantedProject, WantedTenant};

/// Carries out what is wanted; says what that changed. `secret` is needed if keys are wanted.
///
/// # Errors
/// The first entry that was refused; the transaction must not be committed then.
pub(crate) async fn carry_out(
    tx: &mut TenantsTx,
    wanted: &Wanted,
    secret: Option<&RootSecret>,
    prune: Option<Prune>,
) -> Result<Report, WantedError> {
    let mut applying = Applying {
        tx,
        secret,
        prune,
        report: Report::default(),
    };
    for tenant in &wanted.tenants {
        applying.tenant(tenant).await?;
    }
    if prune == Some(Prune::Tenants) {
        applying.disable_others(wanted).await?;
    }
    Ok(applying.report)
}

struct Applying<'a> {
    tx: &'a mut TenantsTx,
    secret: Option<&'a RootSecret>,
    prune: Option<Prune>,
    report: Report,
}

impl Applying<'_> {
    async fn tenant(&mut self, wanted: &WantedTenant) -> Result<(), WantedError> {
        let slug = &wanted.slug;
        let refused = refused("tenant", slug);
        let id = self.tenant_itself(wanted).await.map_err(refused)?;
        let limits = self.tx.limits(id).await?;
        if let Some(wanted) = &wanted.limits {
            let tenant = Spender {
                tenant: id,
                lineage: None,
            };
            self.limits(tenant, slug, wanted, &limits).await?;
        }
        if let Some(projects) = &wanted.projects {
            self.projects(id, slug, projects).await?;
        }
        if let Some(keys) = &wanted.keys {
            self.keys(id, slug, keys).await?;
            self.key_limits(id, slug, keys, &limits).await?;
        }
        Ok(())
    }

    async fn tenant_itself(&mut self, wanted: &WantedTenant) -> Result<Uuid, TenantError> {
        let slug = &wanted.slug;
        let id = match self.tx.find_tenant(slug).await {
            Err(TenantError::Missing { .. }) => return self.new_tenant(wanted).await,
            found => found?,
        };
        let mut fields = Vec::new();
        let there = Some(self.tx.tenant_name(id).await?);
        let name = wanted.name.over(&there);
        let name = name.as_ref().unwrap_or(slug);
        if there.as_ref() != Some(name) {
            self.tx.rename_tenant(id, name).await?;
            fields.push("name");
        }
        if let Some(disabled) = wanted.disabled
            && self.tx.set_disabled(id, disabled).await?
        {
            fields.push("disabled");
        }
        if let Some(pool) = &wanted.pool
            && self.tx.set_pool(id, pool).await?
        {
            fields.push("pool");
        }
        self.report.compared("tenant", slug, fields);
        Ok(id)
    }

    async fn new_tenant(&mut self, wanted: &WantedTenant) -> Result<Uuid, TenantError> {
        let (slug, name) = (&wanted.slug, wanted.name.at_first());
        let id = self.tx.create_tenant(slug, name).await?;
        if let Some(pool) = &wanted.pool {
            self.tx.set_pool(id, pool).await?;
        }
        self.tx
            .set_disabled(id, wanted.disabled == Some(true))
            .await?;
        self.report.did("created", "tenant", slug);
        Ok(id)
    }

    async fn projects(
        &mut self,
        id: Uuid,
        tenant: &str,
        wanted: &[WantedProject],
    ) -> Result<(), WantedError> {
        let there = self.tx.projects(id).await?.into_iter();
        let mut there: BTreeMap<_, _> = there.map(|old| (old.slug.clone(), old)).collect();
        for project in wanted {
            let name = format!("{tenant}/{}", project.slug);
            let old = there.remove(&project.slug);
            let done = self.project(id, &name, project, old.as_ref()).await;
            done.map_err(refused("project", &name))?;
        }
        if self.prune.is_some() {
            self.remove(id, tenant, there.values()).await?;
        }
        Ok(())
    }

    async fn keys(
        &mut self,
        id: Uuid,
        tenant: &str,
        wanted: &[WantedKey],
    ) -> Result<(), WantedError> {
        let there = self.tx.keys(id).await?;
        let by_id: BTreeMap<_, _> = there.iter().map(|key| (key.id.as_str(), key)).collect();
        for key in wanted {
            let name = format!("{tenant}/{}", key.terms.label);
            let done = self.key(id, &name, key, &by_id).await;
            done.map_err(refused("key", &name))?;
        }
        if self.prune.is_some() {
            self.revoke_others(tenant, wanted, &there).await?;
        }
        Ok(())
    }

    async fn project(
        &mut self,
        tenant: Uuid,
        name: &str,
        wanted: &WantedProject,
        there: Option<&Project>,
    ) -> Result<(), TenantError> {
        let Some(there) = there else {
            let settings = ProjectSettings {
                name: wanted.name.at_first().map(str::to_owned),
                ..wanted.over(&ProjectSettings::default())
            };
            self.tx.add_project(tenant, &wanted.slug, &settings).await?;
            self.report.did("created", "project", name);
            return Ok(());
        };
        let restored = there.removed_at.is_some();
        if restored {
            self.tx.restore_project(tenant, &wanted.slug).await?;
        }
        let settings = wanted.over(&there.settings);
        let fields = differing_settings(&settings, &there.settings);
        if !fields.is_empty() {
            self.tx.set_project(there.id, &settings).await?;
        }
        if restored {
            self.report.did("restored", "project", name);
        }
        if !restored || !fields.is_empty() {
            self.report.compared("project", name, fields);
        }
        Ok(())
    }

    async fn key(
        &mut self,
        tenant: Uuid,
        name: &str,
        wanted: &WantedKey,
        there: &BTreeMap<&str, &Key>,
    ) -> Result<(), TenantError> {
        let id = key_id(&wanted.text).ok_or(TenantError::NoKey)?;
        let name = format!("{name} {id}");
        let secret = self.secret.ok_or(TenantError::Crypto)?;
        let Some(old) = there.get(id.as_str()) else {
            self.tx
                .take_key(tenant, secret, &wanted.text, &wanted.terms)
                .await?;
            self.report.did("created", "key", &name);
            return Ok(());
        };
        let mut fields = differing_terms(&wanted.terms, &old.terms);
        if fields.is_empty() {
            // They were right once: a project may be gone since.
            self.tx.checked(tenant, &wanted.terms).await?;
        } else {
            self.tx.set_key(&id, &wanted.terms).await?;
        }
        if self.tx.confirm_key(secret, &wanted.text).await? {
            fields.push("hash");
        }
        self.report.compared("key", &name, fields);
        Ok(())
    }

    async fn remove(
        &mut self,
        id: Uuid,
        tenant: &str,
        others: impl Iterator<Item = &Project>,
    ) -> Result<(), WantedError> {
        for other in others.filter(|project| project.removed_at.is_none()) {
            self.tx.remove_project(id, &other.slug).await?;
            let name = format!("{tenant}/{}", other.slug);
            self.report.did("removed", "project", &name);
        }
        Ok(())
    }

    async fn revoke_others(
        &mut self,
        tenant: &str,
        wanted: &[WantedKey],
        there: &[Key],
    ) -> Result<(), WantedError> {
        let listed: BTreeSet<String> = wanted.iter().filter_map(|key| key_id(&key.text)).collect();
        let others = there.iter().filter(|key| key.state == KeyState::Live);
        for other in others.filter(|key| !listed.contains(&key.id)) {
            self.tx.revoke_key(&other.id).await?;
            let name = format!("{tenant}/{} {}", other.terms.label, other.id);
            self.report.did("revoked", "key", &name);
        }
        Ok(())
    }

    async fn disable_others(&mut self, wanted: &Wanted) -> Result<(), WantedError> {
        let listed: BTreeSet<_> = wanted.tenants.iter().map(|tenant| &tenant.slug).collect();
        let all = self.tx.tenants().await?;
        for other in all.iter().filter(|tenant| !listed.contains(&tenant.slug)) {
            if self.tx.set_disabled(other.id, true).await? {
                self.report.did("disabled", "tenant", &other.slug);
            }
        }
        Ok(())
    }
}

/// For `map_err`: names the entry that was refused.
fn refused(kind: &'static str, name: &str) -> impl FnOnce(TenantError) -> WantedError {
    let place = format!("{kind} {name}");
    move |source| WantedError::Refused { place, source }
}
