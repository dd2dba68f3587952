//! Records of calls, as a gateway may touch them: it appends, and does nothing else.

use std::ops::Range;

use uuid::Uuid;

use super::{StoreError, Stores, TenantStore, in_time};

/// Rows of one tenant's chains, column by column.
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
    /// Makes the partition of the month of a moment (in microseconds since 1970) if it isn't there;
    /// from when to when it is.
    pub(crate) async fn make_audit_month(&self, moment: i64) -> Result<Range<i64>, StoreError> {
        let made = sqlx::query!(
            r#"select begins as "begins!", ends as "ends!" from make_audit_month($1)"#,
            moment
        )
        .fetch_one(&self.pool);
        let month = in_time("a month of audit records", made).await?;
        Ok(month.begins..month.ends)
    }
}

impl TenantStore<'_> {
    /// Appends rows; those that are there already are passed over.
    pub(crate) async fn append_audit(&self, rows: &AuditRows<'_>) -> Result<(), StoreError> {
        let what = "room for audit records";
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
        in_time(what, appended).await?;
        in_time("a commit", tx.commit()).await
    }
}
