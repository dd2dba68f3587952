//! Who calls: what a good credential says of its holder, for every stop behind `auth`.
//!
//! Only `auth` can make one, so whoever is given a [`Principal`] need not ask whether it is good.

use std::sync::Arc;

use archway_proto::{catalog::Scope, pass::Pass};
use uuid::Uuid;

use crate::{
    error::{GatewayError, MissingScope},
    terms::Terms,
};

/// What the endpoint asks for.
pub(crate) const SCOPES: [Scope; 2] = [Scope::ToolsRead, Scope::MemoryWrite];

/// A caller whose credential was verified. Private fields: only `auth` builds one.
#[derive(Clone, Debug)]
pub(crate) struct Principal(Arc<PrincipalFacts>);

/// What a credential and its record say of its holder.
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
    pub(crate) pool: String,
    pub(crate) terms: Terms,
    pub(crate) edition: u64,
}

impl Principal {
    pub(crate) fn new(facts: PrincipalFacts) -> Self {
        Principal(Arc::new(facts))
    }

    pub(crate) fn tenant_id(&self) -> Uuid {
        self.0.tenant_id
    }

    /// The tenant's slug. For the operator and for workers: callers are told of no tenant.
    pub(crate) fn tenant(&self) -> &str {
        &self.0.tenant
    }

    /// Who this is within the tenant: `key:<lineage>`, the same after a key was rotated, or
    /// `jwt:<issuer>:<subject>`.
    pub(crate) fn name(&self) -> &str {
        &self.0.name
    }

    /// The public part of the key, or the id of an issuer's principal: fit for logs.
    pub(crate) fn key_id(&self) -> &str {
        &self.0.credential
    }

    pub(crate) fn default_project(&self) -> Option<&str> {
        self.0.default_project.as_deref()
    }

    pub(crate) fn holds(&self, scope: Scope) -> bool {
        self.0.scopes.contains(&scope)
    }

    /// What the caller is told who lacks a scope.
    pub(crate) fn lacks(&self, lacked: Scope) -> GatewayError {
        let is_needed = |scope: &Scope| *scope == lacked || self.holds(*scope);
        let needed = SCOPES.into_iter().filter(is_needed).collect();
        GatewayError::ScopeMissing(MissingScope { lacked, needed })
    }

    /// Whether the credential covers this family of tools.
    pub(crate) fn covers_family(&self, family: &str) -> bool {
        self.0
            .families
            .as_ref()
            .is_none_or(|names| names.iter().any(|name| name == family))
    }

    /// Which reading of the credential's record this is: whatever is derived from the principal may be
    /// cached under it, and is derived anew once the record was read again.
    pub(crate) fn edition(&self) -> u64 {
        self.0.edition
    }

    /// The pool of workers that serves the tenant.
    pub(crate) fn pool(&self) -> &str {
        &self.0.pool
    }

    /// What the caller may spend.
    pub(crate) fn terms(&self) -> &Terms {
        &self.0.terms
    }

    /// What workers are told about the caller.
    pub(crate) fn pass(&self, pool: &str) -> Pass {
        let facts = &self.0;
        Pass {
            tenant_id: facts.tenant_id,
            tenant: facts.tenant.clone(),
            principal: facts.name.clone(),
            projects: facts.projects.clone(),
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
    use crate::terms::{Level, Override, TOTAL};

    impl Principal {
        /// A caller as tests of the modules below want one.
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
                pool: "shared".into(),
                terms: Terms::new(1, Vec::new()),
                edition: 1,
            }))
        }

        /// A caller of another tenant.
        pub(crate) fn stranger_for_tests() -> Self {
            let who = Principal::for_tests(&[Scope::ToolsRead], None);
            let facts = Arc::try_unwrap(who.0).unwrap();
            Principal(Arc::new(PrincipalFacts {
                tenant_id: Uuid::from_u128(2),
                tenant: "zeta".into(),
                edition: 2,
                ..facts
            }))
        }

        /// A caller that may spend so many units a minute.
        pub(crate) fn limited_for_tests(units: u32) -> Self {
            let who = Principal::for_tests(&[Scope::ToolsRead], None);
            let facts = Arc::try_unwrap(who.0).unwrap();
            let total = Override {
                level: Level::Key,
                of: TOTAL.into(),
                per_minute: units,
                of_key: true,
            };
            Principal(Arc::new(PrincipalFacts {
                terms: Terms::new(1, vec![total]),
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
