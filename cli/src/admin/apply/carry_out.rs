//! Makes the database say what is wanted, within one transaction.
//!
//! Projects come before keys, which name them; what is pruned of the projects, too, so that a key
//! can't be left with a project that the same file removed.

use archway_gateway::secrets::RootSecret;
use archway_gateway::tenants::{
    Key, KeyRequest, KeyState, Project, ProjectSettings, TenantError, TenantsTx, key_id,
};
use uuid::Uuid;

use super::report::Report;
use super::{ApplyError, Prune, Wanted, WantedKey, WantedProject, WantedTenant};

/// Carries out what is wanted; says what that changed. `secret` is needed if keys are wanted.
///
/// # Errors
/// The first entry that was refused; the transaction must not be committed then.
pub(crate) async fn carry_out(
    tx: &mut TenantsTx,
    wanted: &Wanted,
    secret: Option<&RootSecret>,
    prune: Option<Prune>,
) -> Result<Report, ApplyError> {
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
    async fn tenant(&mut self, wanted: &WantedTenant) -> Result<(), ApplyError> {
        let slug = &wanted.slug;
        let refused = refused("tenant", slug);
        let id = self.tenant_itself(wanted).await.map_err(refused)?;
        if let Some(projects) = &wanted.projects {
            let there = self.tx.projects(id).await?;
            for project in projects {
                let name = format!("{slug}/{}", project.slug);
                let old = there.iter().find(|old| old.slug == project.slug);
                let done = self.project(id, &name, project, old).await;
                done.map_err(self::refused("project", &name))?;
            }
            self.remove_others(wanted, id, &there).await?;
        }
        if let Some(keys) = &wanted.keys {
            let there = self.tx.keys(id).await?;
            for key in keys {
                let name = format!("{slug}/{}", key.terms.label);
                let done = self.key(id, &name, key, &there).await;
                done.map_err(self::refused("key", &name))?;
            }
            self.revoke_others(slug, keys, &there).await?;
        }
        Ok(())
    }

    async fn tenant_itself(&mut self, wanted: &WantedTenant) -> Result<Uuid, TenantError> {
        let (slug, name) = (&wanted.slug, wanted.name.as_ref().unwrap_or(&wanted.slug));
        let all = self.tx.tenants().await?;
        let Some(there) = all.into_iter().find(|tenant| tenant.slug == *slug) else {
            let id = self.tx.create_tenant(slug, Some(name)).await?;
            self.tx
                .set_disabled(id, wanted.disabled == Some(true))
                .await?;
            self.report.did("created", "tenant", slug);
            return Ok(id);
        };
        let mut fields = Vec::new();
        if there.name != *name {
            self.tx.rename_tenant(there.id, name).await?;
            fields.push("name");
        }
        if let Some(disabled) = wanted.disabled
            && self.tx.set_disabled(there.id, disabled).await?
        {
            fields.push("disabled");
        }
        self.report.compared("tenant", slug, fields);
        Ok(there.id)
    }

    async fn project(
        &mut self,
        tenant: Uuid,
        name: &str,
        wanted: &WantedProject,
        there: Option<&Project>,
    ) -> Result<(), TenantError> {
        let Some(there) = there else {
            let settings = wanted.over(&ProjectSettings::default());
            self.tx.add_project(tenant, &wanted.slug, &settings).await?;
            self.report.did("created", "project", name);
            return Ok(());
        };
        let restored = self.tx.restore_project(tenant, &wanted.slug).await?;
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
        there: &[Key],
    ) -> Result<(), TenantError> {
        let id = key_id(&wanted.text).ok_or(TenantError::NoKey)?;
        let name = format!("{name} {id}");
        let secret = self.secret.ok_or(TenantError::Crypto)?;
        let Some(old) = there.iter().find(|key| key.id == id) else {
            self.tx
                .take_key(tenant, secret, &wanted.text, &wanted.terms)
                .await?;
            self.report.did("created", "key", &name);
            return Ok(());
        };
        let mut fields = differing_terms(&wanted.terms, &old.terms);
        if !fields.is_empty() {
            self.tx.set_key(&id, &wanted.terms).await?;
        }
        if self.tx.confirm_key(secret, &wanted.text).await? {
            fields.push("hash");
        }
        self.report.compared("key", &name, fields);
        Ok(())
    }

    async fn remove_others(
        &mut self,
        wanted: &WantedTenant,
        tenant: Uuid,
        there: &[Project],
    ) -> Result<(), ApplyError> {
        let listed = |slug| {
            let mut projects = wanted.projects.iter().flatten();
            projects.any(|project| project.slug == slug)
        };
        let others = there.iter().filter(|project| project.removed_at.is_none());
        for other in others.filter(|project| self.prune.is_some() && !listed(&*project.slug)) {
            self.tx.remove_project(tenant, &other.slug).await?;
            let name = format!("{}/{}", wanted.slug, other.slug);
            self.report.did("removed", "project", &name);
        }
        Ok(())
    }

    async fn revoke_others(
        &mut self,
        tenant: &str,
        wanted: &[WantedKey],
        there: &[Key],
    ) -> Result<(), ApplyError> {
        let listed: Vec<String> = wanted.iter().filter_map(|key| key_id(&key.text)).collect();
        let others = there.iter().filter(|key| key.state == KeyState::Live);
        for other in others.filter(|key| self.prune.is_some() && !listed.contains(&key.id)) {
            self.tx.revoke_key(&other.id).await?;
            let name = format!("{tenant}/{} {}", other.terms.label, other.id);
            self.report.did("revoked", "key", &name);
        }
        Ok(())
    }

    async fn disable_others(&mut self, wanted: &Wanted) -> Result<(), ApplyError> {
        let listed = |slug: &str| wanted.tenants.iter().any(|tenant| tenant.slug == slug);
        let all = self.tx.tenants().await?;
        for other in all.iter().filter(|tenant| !listed(&tenant.slug)) {
            if self.tx.set_disabled(other.id, true).await? {
                self.report.did("disabled", "tenant", &other.slug);
            }
        }
        Ok(())
    }
}

impl WantedProject {
    /// What is wanted, with what is left alone taken from `there`.
    fn over(&self, there: &ProjectSettings) -> ProjectSettings {
        let name = self.name.clone();
        match &self.globs {
            None => ProjectSettings {
                name,
                ..there.clone()
            },
            Some(globs) => ProjectSettings {
                name,
                allow: globs.allow.clone(),
                open: globs.open.clone(),
                close: globs.close.clone(),
            },
        }
    }
}

fn differing_settings(a: &ProjectSettings, b: &ProjectSettings) -> Vec<&'static str> {
    differing([
        ("name", a.name != b.name),
        ("allow", a.allow != b.allow),
        ("open", a.open != b.open),
        ("close", a.close != b.close),
    ])
}

fn differing_terms(a: &KeyRequest, b: &KeyRequest) -> Vec<&'static str> {
    differing([
        ("label", a.label != b.label),
        ("scopes", a.scopes != b.scopes),
        ("projects", a.projects != b.projects),
        ("families", a.families != b.families),
        ("default_project", a.default_project != b.default_project),
        ("agents", a.agents != b.agents),
        ("expires", a.expires_at != b.expires_at),
    ])
}

fn differing<const N: usize>(fields: [(&'static str, bool); N]) -> Vec<&'static str> {
    let differ = fields.into_iter().filter(|(_, differs)| *differs);
    differ.map(|(field, _)| field).collect()
}

/// For `map_err`: names the entry that was refused.
fn refused(kind: &'static str, name: &str) -> impl FnOnce(TenantError) -> ApplyError {
    let place = format!("{kind} {name}");
    move |source| ApplyError::Refused { place, source }
}
