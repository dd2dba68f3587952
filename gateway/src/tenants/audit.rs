//! The audit trail as its reader finds it: chains, their records, and what was pruned.

use std::time::SystemTime;

use uuid::Uuid;

use super::{TenantError, TenantsTx, error::query, micros};
use crate::{
    audit::{
        chain::{Mac, Row, is_sealed, seal},
        verify::{Place, Verifier},
    },
    secrets::RootSecret,
};

/// Records read at a time.
const PAGE: i64 = 2_000;

/// A chain that there is something of.
#[derive(Clone, Debug)]
pub struct AuditChain {
    /// Which.
    pub id: Uuid,
    /// Where it was cut, if its first records were pruned.
    pub anchor: Option<Place>,
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

    /// Removes the months that ended before a moment, of all tenants, and keeps where their chains were
    /// cut; how many there were. The moment is the beginning of a month in UTC. What is removed is
    /// verified first: what was tampered with stays, for whoever looks into it.
    ///
    /// # Errors
    /// [`TenantError::Tampered`].
    pub async fn prune_audit(
        &mut self,
        before: SystemTime,
        secret: &RootSecret,
    ) -> Result<u32, TenantError> {
        let what = "prune audit records";
        // Nothing may be written between the cuts and the end of what is behind them.
        sqlx::query!("lock table audit_records in share row exclusive mode")
            .execute(&mut *self.tx)
            .await
            .map_err(query(what))?;
        let before = micros(before);
        let cuts = sqlx::query!(
            r#"select distinct on (r.tenant_id, r.chain) r.tenant_id, r.chain, r.number, r.mac,
                      a.number as "cut_before?", a.mac as "mac_before?", a.seal as "seal_before?"
               from audit_records r left join audit_anchors a using (tenant_id, chain)
               where r.at < 'epoch'::timestamptz + $1::bigint * interval '1 microsecond'
               order by r.tenant_id, r.chain, r.number desc"#,
            before
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(query(what))?;
        for cut in cuts {
            let place = Place {
                number: cut.number,
                mac: sized(&cut.mac),
            };
            let before = Anchor {
                number: cut.cut_before,
                mac: cut.mac_before,
                seal: cut.seal_before,
            };
            let chain = AuditChain {
                id: cut.chain,
                anchor: before.place((cut.tenant_id, cut.chain), secret),
            };
            self.cut(cut.tenant_id, chain, place, secret).await?;
        }
        let pruned = sqlx::query_scalar!(
            r#"select prune_audit('epoch'::timestamptz + $1::bigint * interval '1 microsecond')
                   as "pruned!""#,
            before
        )
        .fetch_one(&mut *self.tx)
        .await
        .map_err(query(what))?;
        Ok(pruned.unsigned_abs())
    }

    /// Says where a chain is cut, once all up to there is as it was written.
    async fn cut(
        &mut self,
        tenant: Uuid,
        AuditChain { id: chain, anchor }: AuditChain,
        place: Place,
        secret: &RootSecret,
    ) -> Result<(), TenantError> {
        let mut verifier = Verifier::new(tenant, chain, secret, anchor, Some(place));
        let mut last: Option<Row> = None;
        loop {
            let page = self.audit_rows(tenant, chain, last.as_ref()).await?;
            let rows = page.iter().filter(|row| row.number <= place.number);
            rows.for_each(|row| verifier.take(row));
            let is_past = page.last().is_none_or(|row| row.number > place.number);
            last = page.into_iter().last();
            if is_past {
                break;
            }
        }
        if !verifier.end().findings.is_empty() {
            return Err(TenantError::Tampered);
        }
        let sealed = seal(tenant, chain, &place, secret);
        sqlx::query!(
            "insert into audit_anchors (tenant_id, chain, number, mac, seal) \
             values ($1, $2, $3, $4, $5) \
             on conflict (tenant_id, chain) do update set number = excluded.number, \
                 mac = excluded.mac, seal = excluded.seal, pruned_at = now() \
             where excluded.number > audit_anchors.number",
            tenant,
            chain,
            place.number,
            place.mac.as_slice(),
            sealed.as_slice()
        )
        .execute(&mut *self.tx)
        .await
        .map_err(query("keep where audit records were cut"))?;
        Ok(())
    }
}

/// An anchor as Postgres has it, if it has one.
struct Anchor {
    number: Option<i64>,
    mac: Option<Vec<u8>>,
    seal: Option<Vec<u8>>,
}

impl Anchor {
    /// Where it says that a chain of a tenant was cut, if somebody with the secret said so.
    fn place(self, of: (Uuid, Uuid), secret: &RootSecret) -> Option<Place> {
        let place = Place {
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
fn sized(mac: &[u8]) -> Mac {
    mac.try_into().unwrap_or_default()
}
