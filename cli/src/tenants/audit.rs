//! Reading the audit trail: chains, their records, and where chains were cut.

use std::time::SystemTime;

use archway_gateway::{
    audit::{
        chain::{Mac, Row, is_sealed},
        verify::ChainPosition,
    },
    secrets::RootSecret,
};
use uuid::Uuid;

use super::{TenantError, TenantsTx, error::query, micros};

/// Records per page.
const PAGE: i64 = 2_000;

/// A chain with records, or with an anchor that marks where its records were pruned.
#[derive(Clone, Debug)]
pub struct AuditChain {
    /// Its id.
    pub id: Uuid,
    /// Where it was cut, if its first records were pruned.
    pub anchor: Option<ChainPosition>,
}

/// A position in an export: the next page begins after it.
#[derive(Clone, Copy, Debug)]
pub struct ExportPosition {
    at: i64,
    chain: Uuid,
    number: i64,
}

impl ExportPosition {
    /// The position before all records from `moment` on.
    pub fn from(moment: SystemTime) -> Self {
        ExportPosition {
            at: micros(moment),
            chain: Uuid::nil(),
            number: 0,
        }
    }

    /// The position after a record.
    pub fn behind(row: &Row) -> Self {
        ExportPosition {
            at: row.at,
            chain: row.chain,
            number: row.number,
        }
    }
}

impl TenantsTx {
    /// A tenant's chains, ordered by id. An anchor without a valid seal of the root secret is
    /// ignored.
    pub async fn audit_chains(
        &mut self,
        tenant: Uuid,
        secret: &RootSecret,
    ) -> Result<Vec<AuditChain>, TenantError> {
        let rows = sqlx::query!(
            r#"select coalesce(r.chain, a.chain) as "chain!", a.number as "number?", a.mac as "mac?",
                      a.seal as "seal?"
               from (select distinct chain from audit_records where tenant_id = $1) r
               full join (select chain, number, mac, seal from audit_anchors
                          where tenant_id = $1) a using (chain)
               order by 1"#,
            tenant
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(query("find the chains of a tenant's audit records"))?;
        let chains = rows.into_iter().map(|row| {
            let anchor = Anchor {
                number: row.number,
                mac: row.mac,
                seal: row.seal,
            };
            AuditChain {
                id: row.chain,
                anchor: anchor.place((tenant, row.chain), secret),
            }
        });
        Ok(chains.collect())
    }

    /// A page of a chain's records after `behind`, in order. At most 2,000.
    pub async fn audit_rows(
        &mut self,
        tenant: Uuid,
        chain: Uuid,
        behind: Option<&Row>,
    ) -> Result<Vec<Row>, TenantError> {
        let (number, at) = behind.map_or((0, 0), |row| (row.number, row.at));
        let rows = sqlx::query_as!(
            AuditRow,
            r#"select chain, number, (extract(epoch from at) * 1000000)::bigint as "at!", record, mac
               from audit_records
               where tenant_id = $1 and chain = $2
                 and (number, at)
                     > ($3, 'epoch'::timestamptz + $4::bigint * interval '1 microsecond')
               order by number, at limit $5"#,
            tenant,
            chain,
            number,
            at,
            PAGE
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(query("read audit records"))?;
        Ok(rows.into_iter().map(Row::from).collect())
    }

    /// A page of a tenant's records after a position and before a moment, in the order in which calls
    /// ended. At most 2,000.
    pub async fn audit_page(
        &mut self,
        tenant: Uuid,
        behind: ExportPosition,
        until: SystemTime,
    ) -> Result<Vec<Row>, TenantError> {
        let rows = sqlx::query_as!(
            AuditRow,
            r#"select chain, number, (extract(epoch from at) * 1000000)::bigint as "at!", record, mac
               from audit_records
               where tenant_id = $1
                 and at >= 'epoch'::timestamptz + $2::bigint * interval '1 microsecond'
                 and at < 'epoch'::timestamptz + $5::bigint * interval '1 microsecond'
                 and (at, chain, number)
                     > ('epoch'::timestamptz + $2::bigint * interval '1 microsecond', $3, $4)
               order by at, chain, number limit $6"#,
            tenant,
            behind.at,
            behind.chain,
            behind.number,
            micros(until),
            PAGE
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(query("read audit records"))?;
        Ok(rows.into_iter().map(Row::from).collect())
    }
}

/// The columns of an anchor's row, if there is one.
pub(super) struct Anchor {
    pub(super) number: Option<i64>,
    pub(super) mac: Option<Vec<u8>>,
    pub(super) seal: Option<Vec<u8>>,
}

impl Anchor {
    /// Where a tenant's chain was cut. `None` unless the root secret sealed it.
    pub(super) fn place(self, of: (Uuid, Uuid), secret: &RootSecret) -> Option<ChainPosition> {
        let place = ChainPosition {
            number: self.number?,
            mac: sized(&self.mac?),
        };
        is_sealed(of, &place, &sized(&self.seal?), secret).then_some(place)
    }
}

/// A row of `audit_records`.
struct AuditRow {
    chain: Uuid,
    number: i64,
    at: i64,
    record: String,
    mac: Vec<u8>,
}

impl From<AuditRow> for Row {
    fn from(row: AuditRow) -> Self {
        Row {
            chain: row.chain,
            number: row.number,
            at: row.at,
            record: row.record,
            mac: sized(&row.mac),
        }
    }
}

/// A MAC from a row. The table's constraint holds its length.
pub(super) fn sized(mac: &[u8]) -> Mac {
    mac.try_into().unwrap_or_default()
}
