//! Administration of limits: what is set otherwise than by default, for a tenant or for one key.
//!
//! What a key's row says outlives the key: it goes by lineage, so a rotation changes nothing.
//! Gateways go by a change within a second: the table's trigger tells them to read the tenant's
//! keys again. What no row says is [`Terms`](archway_gateway::terms::Terms)' to say.

use archway_gateway::terms::{Level, MEMORY, MOST, Override, TOTAL};
use uuid::Uuid;

use super::{TenantError, TenantsTx, error::query};

/// Bytes of a name at most.
const LONGEST_NAME: usize = 64;

/// Whose limits: those of all keys of a tenant, or of one lineage of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spender {
    /// The tenant.
    pub tenant: Uuid,
    /// The lineage of one of its keys; `None`: all of them.
    pub lineage: Option<Uuid>,
}

/// Why a limit can't be set.
#[derive(Debug, thiserror::Error)]
pub enum LimitError {
    /// Not a name that anything with a limit has.
    #[error(
        "{0:?} is no name of a limit: a lower-case letter, then lower-case letters, digits, _ and \
         /, at most 64 in all"
    )]
    Name(String),
    /// More than is counted.
    #[error("a limit is 0 (none) to {MOST} a minute, not {0}")]
    TooMuch(u32),
    /// Sessions are bounded tool by tool.
    #[error(
        "a session has no total of its own: limit its tools at level session, or the total at \
         level key or tenant"
    )]
    SessionTotal,
    /// Memory belongs to a tenant.
    #[error("the room for memory is a tenant's: set {MEMORY} at level tenant, without a key")]
    MemoryLevel,
    /// A key decides nothing for the others.
    #[error(
        "what one key may spend says nothing of its tenant: with a key, the level is key or session"
    )]
    TenantOfKey,
}

/// Everything that is set for a tenant and its keys.
#[derive(Clone, Debug)]
pub struct SetLimits(Vec<(Option<Uuid>, Override)>);

impl SetLimits {
    /// What goes for a key of this lineage, or for one that nothing was set for: the tenant's, and
    /// its own. As [`Terms`](archway_gateway::terms::Terms) takes them.
    pub fn in_force(&self, lineage: Option<Uuid>) -> Vec<Override> {
        let of_tenant = self.of(None);
        let own = self.of(lineage).filter(|set| set.of_key);
        of_tenant.chain(own).cloned().collect()
    }

    /// What is set for this lineage alone; for `None` what is set for the tenant.
    pub fn of(&self, lineage: Option<Uuid>) -> impl Iterator<Item = &Override> {
        let rows = self.0.iter();
        rows.filter(move |(of, _)| *of == lineage)
            .map(|(_, set)| set)
    }
}

impl TenantsTx {
    /// What is set for a tenant and its keys, in a fixed order.
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

    /// Sets a limit of a tool, of `prompts/get` or of the total, a minute; 0 is no limit at that
    /// level. Whether it was another before.
    ///
    /// # Errors
    /// [`TenantError::Limit`] for one that makes no sense. Whether there is such a tool is not
    /// looked at: workers of another build may have it.
    pub async fn set_limit(
        &mut self,
        whose: Spender,
        level: Level,
        of: &str,
        per_minute: u32,
    ) -> Result<bool, TenantError> {
        check(whose, level, of)?;
        let stored = i32::try_from(per_minute)
            .ok()
            .filter(|_| per_minute <= MOST);
        let changed = sqlx::query!(
            "insert into limits (tenant_id, lineage, level, of, per_minute) \
             values ($1, $2, $3, $4, $5) \
             on conflict (tenant_id, lineage, level, of) \
             do update set per_minute = excluded.per_minute \
             where limits.per_minute <> excluded.per_minute",
            whose.tenant,
            whose.lineage,
            level.name(),
            of,
            stored.ok_or(LimitError::TooMuch(per_minute))?
        )
        .execute(&mut *self.tx)
        .await
        .map_err(query("set a limit"))?;
        Ok(changed.rows_affected() > 0)
    }

    /// Takes a limit back that was set: what is less specific is in force again. Whether it was
    /// set.
    pub async fn unset_limit(
        &mut self,
        whose: Spender,
        level: Level,
        of: &str,
    ) -> Result<bool, TenantError> {
        let changed = sqlx::query!(
            "delete from limits where tenant_id = $1 and lineage is not distinct from $2 \
                 and level = $3 and of = $4",
            whose.tenant,
            whose.lineage,
            level.name(),
            of
        )
        .execute(&mut *self.tx)
        .await
        .map_err(query("take a limit back"))?;
        Ok(changed.rows_affected() > 0)
    }
}

/// As the schema has it, in words.
fn check(whose: Spender, level: Level, of: &str) -> Result<(), LimitError> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let fits = of.len() <= LONGEST_NAME
        && of.bytes().next().is_some_and(|b| b.is_ascii_lowercase())
        && of.bytes().all(|byte| plain(byte) || b"_/".contains(&byte));
    match (level, whose.lineage) {
        _ if !fits => Err(LimitError::Name(of.chars().take(LONGEST_NAME).collect())),
        (Level::Session, _) if of == TOTAL => Err(LimitError::SessionTotal),
        (Level::Session | Level::Key, _) if of == MEMORY => Err(LimitError::MemoryLevel),
        (Level::Tenant, Some(_)) => Err(LimitError::TenantOfKey),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_schema_refuses_is_refused_in_words() {
        let all = Spender {
            tenant: Uuid::nil(),
            lineage: None,
        };
        let one = Spender {
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
        let refused = |whose, level, of| check(whose, level, of).unwrap_err();
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
    }

    #[test]
    fn what_goes_for_a_key_is_its_tenants_and_its_own() {
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
            let sets = limits.in_force(lineage).into_iter();
            sets.map(|set| set.per_minute).collect::<Vec<_>>()
        };
        assert_eq!(of(None), [1]);
        assert_eq!(of(Some(own)), [1, 2]);
        assert_eq!(of(Some(Uuid::nil())), [1]);
    }
}
