//! Limits as they shall be: what differs is set, and pruning takes back what isn't listed.

use std::collections::BTreeSet;

use crate::tenants::{SetLimits, Spender, TenantError, key_id};
use uuid::Uuid;

use super::{Applying, refused};
use crate::wanted::{WantedError, WantedKey, WantedLimit};

impl Applying<'_> {
    /// The limits of a tenant or of a key, as messages name it.
    pub(super) async fn limits(
        &mut self,
        whose: Spender,
        name: &str,
        wanted: &[WantedLimit],
        there: &SetLimits,
    ) -> Result<(), WantedError> {
        for limit in wanted {
            let name = limit_name(name, limit.level.name(), &limit.of);
            let done = self.limit(whose, &name, limit, there).await;
            done.map_err(refused("limit", &name))?;
        }
        if self.prune.is_some() {
            self.take_back_others(whose, name, wanted, there).await?;
        }
        Ok(())
    }

    /// The limits of all keys that are wanted, once they are there.
    pub(super) async fn key_limits(
        &mut self,
        tenant: Uuid,
        slug: &str,
        keys: &[WantedKey],
        there: &SetLimits,
    ) -> Result<(), WantedError> {
        for key in keys {
            let Some(limits) = &key.limits else { continue };
            let id = key_id(&key.text).ok_or(TenantError::NoKey)?;
            let whose = Spender {
                tenant,
                lineage: Some(self.tx.find_key(&id).await?.lineage),
            };
            let name = format!("{slug}/{}", key.terms.label);
            self.limits(whose, &name, limits, there).await?;
        }
        Ok(())
    }

    async fn limit(
        &mut self,
        whose: Spender,
        name: &str,
        wanted: &WantedLimit,
        there: &SetLimits,
    ) -> Result<(), TenantError> {
        let WantedLimit {
            level,
            of,
            per_minute,
        } = wanted;
        let mut own = there.of(whose.lineage);
        let before = own.find(|set| set.level == *level && set.of == *of);
        let changed = self.tx.set_limit(whose, *level, of, *per_minute).await?;
        match before.map(|set| set.per_minute) {
            None => self.report.did("created", "limit", name),
            Some(before) if changed => self.report.turned("limit", name, before, *per_minute),
            Some(_) => self.report.compared("limit", name, Vec::new()),
        }
        Ok(())
    }

    async fn take_back_others(
        &mut self,
        whose: Spender,
        name: &str,
        wanted: &[WantedLimit],
        there: &SetLimits,
    ) -> Result<(), WantedError> {
        let listed: BTreeSet<_> = wanted
            .iter()
            .map(|limit| (limit.level, limit.of.as_str()))
            .collect();
        let own = there.of(whose.lineage);
        for other in own.filter(|set| !listed.contains(&(set.level, set.of.as_str()))) {
            self.tx.unset_limit(whose, other.level, &other.of).await?;
            let name = limit_name(name, other.level.name(), &other.of);
            self.report.did("removed", "limit", &name);
        }
        Ok(())
    }
}

/// `acme key total`, `acme/ci session hello`.
fn limit_name(whose: &str, level: &str, of: &str) -> String {
    format!("{whose} {level} {of}")
}
