//! Sums of calls, as a trigger keeps them of what gateways append to the audit trail.

use std::time::SystemTime;

use uuid::Uuid;

use super::{TenantError, TenantsTx, error::query, micros};

/// The sums to read.
#[derive(Clone, Copy, Debug)]
pub struct UsageQuery<'a> {
    /// Of this tenant; `None` for all.
    pub tenant: Option<Uuid>,
    /// What each row is: `tool`, `key`, `project`, `agent`, `day`, `month` or `tenant`.
    pub by: &'a str,
    /// From the full hour that contains this moment.
    pub since: SystemTime,
}

/// The sums of the calls that have one thing in common.
#[derive(Clone, Debug, PartialEq)]
pub struct UsageRow {
    /// The slug of the tenant that a key or project belongs to; `None` for what may belong to several.
    pub tenant: Option<String>,
    /// The tool, key, project, agent, day, month or tenant; empty where calls have none.
    pub of: String,
    /// The label of a key.
    pub label: Option<String>,
    /// Calls, refused ones included.
    pub calls: i64,
    /// Those that succeeded.
    pub ok: i64,
    /// Units of the limits.
    pub units: i64,
    /// Bytes of the messages that answered.
    pub bytes_out: i64,
    /// Estimated: four bytes are one, rounded up for each call.
    pub tokens: i64,
    /// Milliseconds, in all.
    pub duration_ms: f64,
    /// Calls without an audit record, which are in no other sum.
    pub missing: i64,
}

impl TenantsTx {
    /// The sums of calls: days and months in their order, other rows with the most calls first.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn usage(&mut self, of: &UsageQuery<'_>) -> Result<Vec<UsageRow>, TenantError> {
        // Counts of refusals have no credential: they belong to the newest key of their lineage.
        sqlx::query_as!(
            UsageRow,
            r#"select s.tenant as "tenant?", s.of as "of!", k.label as "label?", s.calls as "calls!",
                      s.ok as "ok!", s.units as "units!", s.bytes_out as "bytes_out!",
                      s.tokens as "tokens!", s.duration_ms as "duration_ms!", s.missing as "missing!"
               from (
                   select case when $1 in ('key', 'project') then t.slug end as tenant,
                          case $1
                              when 'tool' then u.tool
                              when 'project' then u.project
                              when 'agent' then u.agent
                              when 'day' then to_char(u.hour at time zone 'UTC', 'YYYY-MM-DD')
                              when 'month' then to_char(u.hour at time zone 'UTC', 'YYYY-MM')
                              when 'tenant' then t.slug
                              else case when u.principal like 'jwt:%' then u.principal
                                        else coalesce(nullif(u.credential, ''), n.id, u.principal) end
                          end as of,
                          sum(u.calls)::bigint as calls,
                          coalesce(sum(u.calls) filter (where u.outcome = 'ok'), 0)::bigint as ok,
                          sum(u.units)::bigint as units, sum(u.bytes_out)::bigint as bytes_out,
                          sum(u.tokens)::bigint as tokens, sum(u.duration_ms) as duration_ms,
                          sum(u.missing)::bigint as missing
                   from usage_hours u
                   join tenants t on t.id = u.tenant_id
                   left join (select distinct on (lineage) lineage, id from api_keys
                              order by lineage, created_at desc) n
                          on $1 = 'key' and u.principal = 'key:' || n.lineage
                   where ($2::uuid is null or u.tenant_id = $2)
                     and u.hour >= date_trunc('hour', 'epoch'::timestamptz
                                              + $3::bigint * interval '1 microsecond', 'UTC')
                   group by 1, 2
               ) s
               left join api_keys k on $1 = 'key' and k.id = s.of
               order by case when $1 in ('day', 'month') then s.of end collate "C", s.calls desc, s.tenant collate "C",
                        s.of collate "C""#,
            of.by,
            of.tenant,
            micros(of.since)
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(query("read usage"))
    }
}
