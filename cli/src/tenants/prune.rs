//! Pruning the audit trail by month: verify, cut, remove.
//!
//! Verifying a month takes long, and while a chain is cut nothing may be appended to any chain. So
//! chains are verified first, without a lock. Under the lock, a chain is verified again only if it is
//! now cut elsewhere: another command pruned it, or late records arrived.

use std::{collections::BTreeMap, time::SystemTime};

use archway_gateway::{
    audit::{
        chain::{Row, seal},
        verify::{ChainPosition, Verifier},
    },
    secrets::RootSecret,
};
use uuid::Uuid;

use super::{
    TenantError, TenantsTx,
    audit::{Anchor, sized},
    error::query,
    micros,
};

const WHAT: &str = "prune audit records";

/// A chain of a tenant.
type Chain = (Uuid, Uuid);

/// Verified cuts: up to each, the chain is as gateways wrote it.
#[derive(Clone, Debug, Default)]
pub struct AuditCuts(BTreeMap<Chain, Cut>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cut {
    /// The last record to remove.
    last: ChainPosition,
    /// Where the chain was cut before.
    before: Option<ChainPosition>,
}

impl TenantsTx {
    /// Verifies every record that [`TenantsTx::prune_audit`] would remove for the same moment.
    ///
    /// # Errors
    /// [`TenantError::Tampered`].
    pub async fn verify_audit_cuts(
        &mut self,
        before: SystemTime,
        secret: &RootSecret,
    ) -> Result<AuditCuts, TenantError> {
        let cuts = self.audit_cuts(micros(before), secret).await?;
        for (chain, cut) in &cuts {
            self.verify_cut(*chain, *cut, secret).await?;
        }
        Ok(AuditCuts(cuts))
    }

    /// Removes the months that ended before a moment, of all tenants, and stores where their chains
    /// were cut. Returns how many months there were, and how many
    /// records of administration were removed with them. The moment is the beginning of a month in UTC.
    /// Chains that `verified` doesn't cover are verified now, so tampered records stay as evidence.
    ///
    /// # Errors
    /// [`TenantError::Tampered`].
    pub async fn prune_audit(
        &mut self,
        before: SystemTime,
        verified: &AuditCuts,
        secret: &RootSecret,
    ) -> Result<(u32, u64), TenantError> {
        let before = micros(before);
        // Before the lock, which keeps gateways from writing records.
        let administration = self.prune_administration(before, secret).await?;
        // Nothing may be appended between computing the cuts and removing what precedes them.
        sqlx::query!("lock table audit_records in share row exclusive mode")
            .execute(&mut *self.tx)
            .await
            .map_err(query(WHAT))?;
        for (chain, cut) in self.audit_cuts(before, secret).await? {
            if verified.0.get(&chain) != Some(&cut) {
                self.verify_cut(chain, cut, secret).await?;
            }
            self.cut(chain, &cut.last, secret).await?;
        }
        let pruned = sqlx::query_scalar!(
            r#"select prune_audit('epoch'::timestamptz + $1::bigint * interval '1 microsecond')
                   as "pruned!""#,
            before
        )
        .fetch_one(&mut *self.tx)
        .await
        .map_err(query(WHAT))?;
        Ok((pruned.unsigned_abs(), administration.unsigned_abs()))
    }

    /// Where each chain must be cut to remove the records before a moment.
    async fn audit_cuts(
        &mut self,
        before: i64,
        secret: &RootSecret,
    ) -> Result<BTreeMap<Chain, Cut>, TenantError> {
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
        .map_err(query(WHAT))?;
        let cuts = cuts.into_iter().map(|cut| {
            let chain = (cut.tenant_id, cut.chain);
            let last = ChainPosition {
                number: cut.number,
                mac: sized(&cut.mac),
            };
            let before = Anchor {
                number: cut.cut_before,
                mac: cut.mac_before,
                seal: cut.seal_before,
            };
            let before = before.place(chain, secret);
            (chain, Cut { last, before })
        });
        Ok(cuts.collect())
    }

    /// Verifies a chain up to its cut.
    async fn verify_cut(
        &mut self,
        (tenant, chain): Chain,
        Cut { last, before }: Cut,
        secret: &RootSecret,
    ) -> Result<(), TenantError> {
        let mut verifier = Verifier::new(tenant, chain, secret, before, Some(last));
        let mut behind: Option<Row> = None;
        loop {
            let page = self.audit_rows(tenant, chain, behind.as_ref()).await?;
            let rows = page.iter().filter(|row| row.number <= last.number);
            rows.for_each(|row| verifier.check(row));
            let is_past = page.last().is_none_or(|row| row.number > last.number);
            behind = page.into_iter().last();
            if is_past {
                break;
            }
        }
        let is_whole = verifier.end().findings.is_empty();
        is_whole.then_some(()).ok_or(TenantError::Tampered)
    }

    /// Stores where a chain is cut.
    async fn cut(
        &mut self,
        (tenant, chain): Chain,
        last: &ChainPosition,
        secret: &RootSecret,
    ) -> Result<(), TenantError> {
        let sealed = seal(tenant, chain, last, secret);
        sqlx::query!(
            "insert into audit_anchors (tenant_id, chain, number, mac, seal) \
             values ($1, $2, $3, $4, $5) \
             on conflict (tenant_id, chain) do update set number = excluded.number, \
                 mac = excluded.mac, seal = excluded.seal, pruned_at = now() \
             where excluded.number > audit_anchors.number",
            tenant,
            chain,
            last.number,
            last.mac.as_slice(),
            sealed.as_slice()
        )
        .execute(&mut *self.tx)
        .await
        .map_err(query("store where audit records were cut"))?;
        Ok(())
    }
}
