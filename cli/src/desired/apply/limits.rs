//! Applies limits: sets those that differ, and unsets unlisted ones when pruning.

use std::collections::BTreeSet;

use uuid::Uuid;

use super::{Applier, refused};
use crate::desired::{DesiredKey, DesiredLimit, ReconcileError};
use crate::tenants::{LimitOwner, SetLimits, TenantError, key_id};

impl Applier<'_> {
    /// Applies the limits of a tenant or key. `name` names the owner in messages.
    pub(super) async fn limits(
        &mut self,
        owner: LimitOwner,
        name: &str,
        desired: &[DesiredLimit],
        current: &SetLimits,
    ) -> Result<(), ReconcileError> {
        for limit in desired {
            let name = limit_name(name, limit.level.name(), &limit.of);
            let done = self.limit(owner, &name, limit, current).await;
            done.map_err(refused("limit", &name))?;
        }
        if self.prune.is_some() {
            self.unset_others(owner, name, desired, current).await?;
        }
        Ok(())
    }

    /// Applies the limits of all listed keys, which must exist by now.
    pub(super) async fn key_limits(
        &mut self,
        tenant: Uuid,
        slug: &str,
        keys: &[DesiredKey],
        current: &SetLimits,
    ) -> Result<(), ReconcileError> {
        for key in keys {
            let Some(limits) = &key.limits else { continue };
            let id = key_id(&key.text).ok_or(TenantError::NoKey)?;
            let owner = LimitOwner {
                tenant,
                lineage: Some(self.tx.find_key(&id).await?.lineage),
            };
            let name = format!("{slug}/{}", key.terms.label);
            self.limits(owner, &name, limits, current).await?;
        }
        Ok(())
    }

    async fn limit(
        &mut self,
        owner: LimitOwner,
        name: &str,
        desired: &DesiredLimit,
        current: &SetLimits,
    ) -> Result<(), TenantError> {
        let DesiredLimit {
            level,
            of,
            per_minute,
        } = desired;
        let mut own = current.of(owner.lineage);
        let before = own.find(|set| set.level == *level && set.of == *of);
        let changed = self.tx.set_limit(owner, *level, of, *per_minute).await?;
        match before.map(|set| set.per_minute) {
            None => self.report.add_action("created", "limit", name),
            Some(before) if changed => {
                self.report
                    .add_limit_change(name, of, (before, *per_minute))
            }
            Some(_) => self.report.add_comparison("limit", name, Vec::new()),
        }
        Ok(())
    }

    async fn unset_others(
        &mut self,
        owner: LimitOwner,
        name: &str,
        desired: &[DesiredLimit],
        current: &SetLimits,
    ) -> Result<(), ReconcileError> {
        let listed: BTreeSet<_> = desired
            .iter()
            .map(|limit| (limit.level, limit.of.as_str()))
            .collect();
        let own = current.of(owner.lineage);
        for other in own.filter(|set| !listed.contains(&(set.level, set.of.as_str()))) {
            self.tx.unset_limit(owner, other.level, &other.of).await?;
            let name = limit_name(name, other.level.name(), &other.of);
            self.report.add_action("removed", "limit", &name);
        }
        Ok(())
    }
}

/// `acme key total`, `acme/ci session hello`.
fn limit_name(owner: &str, level: &str, of: &str) -> String {
    format!("{owner} {level} {of}")
}
