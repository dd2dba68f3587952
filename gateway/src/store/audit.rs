//! Audit records: a gateway appends them, and can do nothing else with them.

use std::ops::Range;

use uuid::Uuid;

use super::{StoreError, Stores, TenantStore, with_timeout};

/// Rows of one tenant's chains, by column.
#[derive(Default)]
pub(crate) struct AuditRows<'a> {
    pub(crate) chains: Vec<Uuid>,
    pub(crate) numbers: Vec<i64>,
    /// Microseconds since 1970.
    pub(crate) moments: Vec<i64>,
    pub(crate) records: Vec<&'a str>,
    pub(crate) macs: Vec<&'a [u8]>,
}

impl Stores {
    /// Creates the partition of the month that contains this moment (microseconds since 1970),
    /// unless it exists. Returns the month's start and end.
    pub(crate) async fn make_audit_month(&self, moment: i64) -> Result<Range<i64>, StoreError> {
        let made = sqlx::query!(
            r#"select begins as "begins!", ends as "ends!" from make_audit_month($1)"#,
            moment
        )
        .fetch_one(&self.pool);
        let month = with_timeout("a month of audit records", made).await?;
        Ok(month.begins..month.ends)
    }
}

impl TenantStore<'_> {
    /// Appends rows, skipping those that exist already.
    pub(crate) async fn append_audit(&self, rows: &AuditRows<'_>) -> Result<(), StoreError> {
        let what = "storage of audit records";
        let mut tx = self.begin().await?;
        let appended = sqlx::query!(
            "insert into audit_records (tenant_id, chain, number, at, record, mac) \
             select $1, chain, number, 'epoch'::timestamptz + row.at * interval '1 microsecond', \
                    record, mac \
             from unnest($2::uuid[], $3::bigint[], $4::bigint[], $5::text[], $6::bytea[]) \
                  as row (chain, number, at, record, mac) \
             on conflict do nothing",
            self.tenant,
            &rows.chains,
            &rows.numbers,
            &rows.moments,
            &rows.records as &[&str],
            &rows.macs as &[&[u8]]
        )
        .execute(&mut *tx);
        with_timeout(what, appended).await?;
        with_timeout("a commit", tx.commit()).await
    }
}
