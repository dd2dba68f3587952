//! The audit trail as its reader finds it: chains, their records, and where they were cut.

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

/// Records read at a time.
const PAGE: i64 = 2_000;

/// A chain that there is something of.
#[derive(Clone, Debug)]
pub struct AuditChain {
    /// Which.
    pub id: Uuid,
    /// Where it was cut, if its first records were pruned.
    pub anchor: Option<ChainPosition>,
}

/// Where the next page of an export begins: behind this record.
#[derive(Clone, Copy, Debug)]
pub struct AuditPlace {
    at: i64,
    chain: Uuid,
    number: i64,
}

impl AuditPlace {
    /// Before all records from a moment on.
    pub fn from(moment: SystemTime) -> Self {
        AuditPlace {
            at: micros(moment),
            chain: Uuid::nil(),
            number: 0,
        }
    }

    /// Behind a record.
    pub fn behind(row: &Row) -> Self {
        AuditPlace {
            at: row.at,
            chain: row.chain,
            number: row.number,
        }
    }
}

impl TenantsTx {
    /// The chains of a tenant, the oldest first. An anchor that nobody with the secret sealed is none.
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

    /// Records of a chain behind this one, in order: some thousand at most.
    pub async fn audit_rows(
        &mut self,
        tenant: Uuid,
        chain: Uuid,
        behind: Option<&Row>,
    ) -> Result<Vec<Row>, TenantError> {
        let (number, at) = behind.map_or((0, 0), |row| (row.number, row.at));
        let rows = sqlx::query_as!(
            Kept,
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

    /// Records of a tenant behind a place and before a moment, in the order in which calls ended: some
    /// thousand at most.
    pub async fn audit_page(
        &mut self,
        tenant: Uuid,
        behind: AuditPlace,
        until: SystemTime,
    ) -> Result<Vec<Row>, TenantError> {
        let rows = sqlx::query_as!(
            Kept,
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

/// An anchor as Postgres has it, if it has one.
pub(super) struct Anchor {
    pub(super) number: Option<i64>,
    pub(super) mac: Option<Vec<u8>>,
    pub(super) seal: Option<Vec<u8>>,
}

impl Anchor {
    /// Where it says that a chain of a tenant was cut, if somebody with the secret said so.
    pub(super) fn place(self, of: (Uuid, Uuid), secret: &RootSecret) -> Option<ChainPosition> {
        let place = ChainPosition {
            number: self.number?,
            mac: sized(&self.mac?),
        };
        is_sealed(of, &place, &sized(&self.seal?), secret).then_some(place)
    }
}

/// A record as Postgres has it.
struct Kept {
    chain: Uuid,
    number: i64,
    at: i64,
    record: String,
    mac: Vec<u8>,
}

impl From<Kept> for Row {
    fn from(kept: Kept) -> Self {
        Row {
            chain: kept.chain,
            number: kept.number,
            at: kept.at,
            record: kept.record,
            mac: sized(&kept.mac),
        }
    }
}

/// A MAC as kept: the table has none of another length.
pub(super) fn sized(mac: &[u8]) -> Mac {
    mac.try_into().unwrap_or_default()
}
