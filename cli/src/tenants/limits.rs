//! Administration of limits: those that were set for a tenant or for one key.
//!
//! A key's limits are stored by lineage, so they survive its rotation. Gateways apply a change within
//! a second: the table's trigger notifies them to read the tenant's keys again. Defaults come from
//! [`Terms`](archway_gateway::terms::Terms).

use archway_gateway::terms::{Level, MEMORY, MONTH, Override, TOTAL, most};
use uuid::Uuid;

use super::{TenantError, TenantsTx, error::query};

/// The longest name, in bytes.
const LONGEST_NAME: usize = 64;

/// The owner of a limit: a tenant, for all its keys, or one lineage of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitOwner {
    /// The tenant.
    pub tenant: Uuid,
    /// The lineage of a key; `None` for all keys of the tenant.
    pub lineage: Option<Uuid>,
}

/// Why a limit can't be set.
#[derive(Debug, thiserror::Error)]
pub enum LimitError {
    /// The name cannot be that of a tool or method.
    #[error(
        "{0:?} is not a valid name of a limit: a lower-case letter, then lower-case letters, \
         digits, _ and /, at most 64 in all"
    )]
    Name(String),
    /// Above the maximum.
    #[error("a limit is 0 (none) to {most} {unit}, not {given}")]
    TooMuch {
        /// The number.
        given: u32,
        /// The highest of its name.
        most: u32,
        /// What is counted: `a minute` or `units a month`.
        unit: &'static str,
    },
    /// A session has limits per tool only.
    #[error(
        "a session has no total of its own: limit its tools at level session, or the total at \
         level key or tenant"
    )]
    SessionTotal,
    /// Memory is limited per tenant only.
    #[error("memory is limited per tenant: set {MEMORY} at level tenant, without a key")]
    MemoryLevel,
    /// The month is limited per tenant only.
    #[error("a month is limited per tenant: set {MONTH} at level tenant, without a key")]
    MonthLevel,
    /// A limit of one key cannot bind its tenant.
    #[error("a key's limit does not bind its tenant: with a key, the level is key or session")]
    TenantOfKey,
}

/// All limits that were set for a tenant and its keys.
#[derive(Clone, Debug)]
pub struct SetLimits(Vec<(Option<Uuid>, Override)>);

impl SetLimits {
    /// The limits that apply to a key of this lineage, or to a key without limits of its own: the
    /// tenant's, then the key's. [`Terms`](archway_gateway::terms::Terms) takes them in this order.
    pub fn applicable(&self, lineage: Option<Uuid>) -> Vec<Override> {
        let of_tenant = self.of(None);
        let own = self.of(lineage).filter(|set| set.of_key);
        of_tenant.chain(own).cloned().collect()
    }

    /// The limits set for this lineage alone; for `None`, those set for the tenant.
    pub fn of(&self, lineage: Option<Uuid>) -> impl Iterator<Item = &Override> {
        let rows = self.0.iter();
        rows.filter(move |(of, _)| *of == lineage)
            .map(|(_, set)| set)
    }
}

impl TenantsTx {
    /// The limits set for a tenant and its keys, in a fixed order.
    pub async fn limits(&mut self, tenant: Uuid) -> Result<SetLimits, TenantError> {
        let rows = sqlx::query!(
            r#"select lineage, level, of, per_minute from limits where tenant_id = $1
               order by lineage nulls first, level collate "C", of collate "C""#,
            tenant
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(query("list limits"))?;
        let limits = rows.into_iter().filter_map(|row| {
            let set = Override {
                level: Level::parse(&row.level)?,
                of: row.of,
                per_minute: row.per_minute.unsigned_abs(),
                of_key: row.lineage.is_some(),
            };
            Some((row.lineage, set))
        });
        Ok(SetLimits(limits.collect()))
    }

    /// Sets a limit per minute of a tool, of `prompts/get` or of the total, or that of the month; 0
    /// removes the limit at that level. Returns whether it changed.
    ///
    /// # Errors
    /// [`TenantError::Limit`] for an invalid combination. Unknown tools are accepted, since workers
    /// of another build may have them.
    pub async fn set_limit(
        &mut self,
        owner: LimitOwner,
        level: Level,
        of: &str,
        per_minute: u32,
    ) -> Result<bool, TenantError> {
        check(owner, level, of)?;
        let most = most(of);
        let stored = i32::try_from(per_minute)
            .ok()
            .filter(|_| per_minute <= most);
        let too_much = LimitError::TooMuch {
            given: per_minute,
            most,
            unit: if of == MONTH {
                "units a month"
            } else {
                "a minute"
            },
        };
        let changed = sqlx::query!(
            "insert into limits (tenant_id, lineage, level, of, per_minute) \
             values ($1, $2, $3, $4, $5) \
             on conflict (tenant_id, lineage, level, of) \
             do update set per_minute = excluded.per_minute \
             where limits.per_minute <> excluded.per_minute",
            owner.tenant,
            owner.lineage,
            level.name(),
            of,
            stored.ok_or(too_much)?
        )
        .execute(&mut *self.tx)
        .await
        .map_err(query("set a limit"))?;
        Ok(changed.rows_affected() > 0)
    }

    /// Unsets a limit, so that the less specific one applies. Returns whether it was set.
    pub async fn unset_limit(
        &mut self,
        owner: LimitOwner,
        level: Level,
        of: &str,
    ) -> Result<bool, TenantError> {
        let changed = sqlx::query!(
            "delete from limits where tenant_id = $1 and lineage is not distinct from $2 \
                 and level = $3 and of = $4",
            owner.tenant,
            owner.lineage,
            level.name(),
            of
        )
        .execute(&mut *self.tx)
        .await
        .map_err(query("unset a limit"))?;
        Ok(changed.rows_affected() > 0)
    }
}

/// The schema's constraints, checked early for a readable error.
fn check(owner: LimitOwner, level: Level, of: &str) -> Result<(), LimitError> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let fits = of.len() <= LONGEST_NAME
        && of.bytes().next().is_some_and(|b| b.is_ascii_lowercase())
        && of.bytes().all(|byte| plain(byte) || b"_/".contains(&byte));
    match (level, owner.lineage) {
        _ if !fits => Err(LimitError::Name(of.chars().take(LONGEST_NAME).collect())),
        (Level::Session, _) if of == TOTAL => Err(LimitError::SessionTotal),
        (Level::Session | Level::Key, _) if of == MEMORY => Err(LimitError::MemoryLevel),
        (Level::Session | Level::Key, _) if of == MONTH => Err(LimitError::MonthLevel),
        (Level::Tenant, Some(_)) => Err(LimitError::TenantOfKey),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_the_schema_forbids_are_refused_with_a_reason() {
        let all = LimitOwner {
            tenant: Uuid::nil(),
            lineage: None,
        };
        let one = LimitOwner {
            lineage: Some(Uuid::nil()),
            ..all
        };
        for name in ["hello", "prompts/get", "total", "a1_", &"a".repeat(64)] {
            assert!(check(one, Level::Key, name).is_ok(), "{name}");
        }
        for name in ["", "Hello", "_a", "1a", "a-b", "ä", &"a".repeat(65)] {
            let refused = check(all, Level::Key, name);
            assert!(matches!(refused, Err(LimitError::Name(_))), "{name}");
        }
        let refused = |owner, level, of| check(owner, level, of).unwrap_err();
        assert!(matches!(
            refused(one, Level::Session, TOTAL),
            LimitError::SessionTotal
        ));
        assert!(matches!(
            refused(one, Level::Tenant, "hello"),
            LimitError::TenantOfKey
        ));
        assert!(check(all, Level::Tenant, TOTAL).is_ok());
        for level in [Level::Session, Level::Key] {
            assert!(matches!(
                refused(all, level, MEMORY),
                LimitError::MemoryLevel
            ));
        }
        assert!(check(all, Level::Tenant, MEMORY).is_ok());
        assert!(matches!(
            refused(all, Level::Key, MONTH),
            LimitError::MonthLevel
        ));
        assert!(check(all, Level::Tenant, MONTH).is_ok());
    }

    #[test]
    fn a_key_has_its_tenants_limits_and_its_own() {
        let (own, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let set = |lineage: Option<Uuid>, per_minute| {
            let set = Override {
                level: Level::Key,
                of: "hello".to_owned(),
                per_minute,
                of_key: lineage.is_some(),
            };
            (lineage, set)
        };
        let limits = SetLimits(vec![set(None, 1), set(Some(own), 2), set(Some(other), 3)]);
        let of = |lineage| {
            let sets = limits.applicable(lineage).into_iter();
            sets.map(|set| set.per_minute).collect::<Vec<_>>()
        };
        assert_eq!(of(None), [1]);
        assert_eq!(of(Some(own)), [1, 2]);
        assert_eq!(of(Some(Uuid::nil())), [1]);
    }
}
