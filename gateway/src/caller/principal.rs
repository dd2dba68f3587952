//! The caller of a request: what a valid credential says about its holder, for every stop behind
//! `auth`.
//!
//! Only `auth` builds a [`Principal`], so code that receives one need not check it.

use std::sync::Arc;

use archway_proto::{access::covers_family, catalog::Scope, pass::Pass, refused_by::RefusedBy};
use uuid::Uuid;

use super::CallerAccess;
use crate::{
    error::{GatewayError, MissingScope},
    terms::Terms,
};

/// The scopes that the endpoint requires.
pub(crate) const SCOPES: [Scope; 2] = [Scope::ToolsRead, Scope::MemoryWrite];

/// A caller whose credential was verified. Only `auth` builds one.
#[derive(Clone, Debug)]
pub(crate) struct Principal(Arc<PrincipalFacts>);

/// What a credential and its record say about its holder.
#[derive(Debug)]
pub(crate) struct PrincipalFacts {
    pub(crate) tenant_id: Uuid,
    pub(crate) tenant: String,
    pub(crate) name: String,
    pub(crate) credential: String,
    pub(crate) scopes: Vec<Scope>,
    pub(crate) projects: Option<Vec<String>>,
    pub(crate) families: Option<Vec<String>>,
    pub(crate) default_project: Option<String>,
    /// `None` if the tenant has no access rules, and no host says who may read any of its projects.
    pub(crate) access: Option<CallerAccess>,
    pub(crate) pool: String,
    pub(crate) terms: Terms,
    pub(crate) version: u64,
}

impl Principal {
    pub(crate) fn new(facts: PrincipalFacts) -> Self {
        Principal(Arc::new(facts))
    }

    pub(crate) fn tenant_id(&self) -> Uuid {
        self.0.tenant_id
    }

    /// The tenant's slug. For operators and workers: callers are never shown a tenant.
    pub(crate) fn tenant(&self) -> &str {
        &self.0.tenant
    }

    /// The principal's name within its tenant: `key:<lineage>`, which survives key rotation, or
    /// `jwt:<issuer>:<subject>`.
    pub(crate) fn name(&self) -> &str {
        &self.0.name
    }

    /// The public part of the key, or the id of an issuer's principal: safe to log.
    pub(crate) fn key_id(&self) -> &str {
        &self.0.credential
    }

    pub(crate) fn default_project(&self) -> Option<&str> {
        self.0.default_project.as_deref()
    }

    pub(crate) fn holds(&self, scope: Scope) -> bool {
        self.0.scopes.contains(&scope)
    }

    /// The refusal of a caller who lacks a scope.
    pub(crate) fn lacks(&self, lacked: Scope) -> GatewayError {
        let is_needed = |scope: &Scope| *scope == lacked || self.holds(*scope);
        let needed = SCOPES.into_iter().filter(is_needed).collect();
        GatewayError::ScopeMissing(MissingScope { lacked, needed })
    }

    /// Whether the credential covers this family of tools, and access rules give it in some project.
    pub(crate) fn covers_family(&self, family: &str) -> bool {
        let access = self.0.access.as_ref();
        self.credential_covers(family) && access.is_none_or(|access| access.covers(family))
    }

    /// What hides a family of tools that is not covered.
    pub(crate) fn family_hidden_by(&self, family: &str) -> RefusedBy {
        match &self.0.access {
            Some(access) if self.credential_covers(family) => access.hides(family),
            _ => RefusedBy::new("families of the key or issuer"),
        }
    }

    fn credential_covers(&self, family: &str) -> bool {
        covers_family(self.0.families.as_deref(), family)
    }

    /// What the caller's cursors are bound to: its tenant, the access rules about it, and its accounts at hosts.
    pub(crate) fn cursor_scope(&self) -> Vec<u8> {
        let access = self.0.access.as_ref();
        let access = access.map(CallerAccess::cursor_scope).unwrap_or_default();
        [self.0.tenant_id.as_bytes(), access.as_bytes()].concat()
    }

    /// The version of the credential's record. Anything derived from the principal may be cached
    /// under it and must be derived again for another version.
    pub(crate) fn version(&self) -> u64 {
        self.0.version
    }

    /// The pool of workers that serves the tenant.
    pub(crate) fn pool(&self) -> &str {
        &self.0.pool
    }

    /// The limits of the caller.
    pub(crate) fn terms(&self) -> &Terms {
        &self.0.terms
    }

    /// The pass that tells workers who calls.
    pub(crate) fn pass(&self, pool: &str) -> Pass {
        let facts = &self.0;
        let access = facts.access.as_ref();
        let access = access.map(|access| access.for_pass(facts.projects.clone()));
        let (access, hosted) = access.unwrap_or_default();
        Pass {
            tenant_id: facts.tenant_id,
            tenant: facts.tenant.clone(),
            principal: facts.name.clone(),
            projects: match &facts.access {
                // A worker of an earlier build knows neither rules nor hosts, and must show nothing.
                Some(_) => Some(Vec::new()),
                None => facts.projects.clone(),
            },
            access,
            hosted,
            default_project: facts.default_project.clone(),
            scopes: facts.scopes.clone(),
            families: facts.families.clone(),
            pool: pool.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::{Level, MONTH, Override, TOTAL};

    impl Principal {
        /// A caller for tests of other modules.
        pub(crate) fn for_tests(scopes: &[Scope], families: Option<&[&str]>) -> Self {
            Principal(Arc::new(PrincipalFacts {
                tenant_id: Uuid::from_u128(1),
                tenant: "acme".into(),
                name: "key:1".into(),
                credential: "000000000000".into(),
                scopes: scopes.to_vec(),
                projects: None,
                families: families.map(|names| names.iter().map(|&n| n.into()).collect()),
                default_project: Some("site".into()),
                access: None,
                pool: "shared".into(),
                terms: Terms::new(1, Vec::new()),
                version: 1,
            }))
        }

        /// A caller of another tenant.
        pub(crate) fn stranger_for_tests() -> Self {
            let who = Principal::for_tests(&[Scope::ToolsRead], None);
            let facts = Arc::try_unwrap(who.0).unwrap();
            Principal(Arc::new(PrincipalFacts {
                tenant_id: Uuid::from_u128(2),
                tenant: "zeta".into(),
                version: 2,
                ..facts
            }))
        }

        /// A caller with a limit of this many units per minute.
        pub(crate) fn limited_for_tests(units: u32) -> Self {
            Principal::with_for_tests(Override {
                level: Level::Key,
                of: TOTAL.into(),
                per_minute: units,
                of_key: true,
            })
        }

        /// A caller whose tenant may spend this many units a month.
        pub(crate) fn with_quota_for_tests(units: u32) -> Self {
            Principal::with_for_tests(Override {
                level: Level::Tenant,
                of: MONTH.into(),
                per_minute: units,
                of_key: false,
            })
        }

        fn with_for_tests(limit: Override) -> Self {
            let who = Principal::for_tests(&[Scope::ToolsRead], None);
            let facts = Arc::try_unwrap(who.0).unwrap();
            Principal(Arc::new(PrincipalFacts {
                terms: Terms::new(1, vec![limit]),
                ..facts
            }))
        }

        /// Another caller of the same tenant.
        pub(crate) fn named_for_tests(name: &str) -> Self {
            let who = Principal::for_tests(&[Scope::ToolsRead], None);
            let facts = Arc::try_unwrap(who.0).unwrap();
            Principal(Arc::new(PrincipalFacts {
                name: name.into(),
                ..facts
            }))
        }
    }
}
