//! What administration changed: reading, verifying and pruning its records.
//!
//! Triggers append a record for each changed row, in the transaction of the change, whoever made it. Records are chained
//! by hashes without a key, since most commands have no root secret. What a reader would get wrong: such a chain alone
//! shows that nobody changed one record. Only a comparison with an earlier end shows that nobody rewrote all.

use std::time::SystemTime;

use archway_gateway::{
    audit::{
        chain::{Mac, NOTHING_BEFORE, is_sealed, seal},
        verify::{ChainPosition, Finding},
    },
    secrets::RootSecret,
};
use aws_lc_rs::digest::{SHA256, digest};
use uuid::Uuid;

use super::{TenantError, TenantsTx, audit::sized, error::query, micros};

/// Records per page.
const PAGE: i64 = 2_000;
/// Findings kept; further ones are dropped.
const MOST_FINDINGS: usize = 20;
/// The place of a chain that is no tenant's, in a seal.
const NOBODYS: (Uuid, Uuid) = (Uuid::nil(), Uuid::nil());

/// A record as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdministrationRecord {
    /// From 1, without gaps.
    pub number: i64,
    /// Microseconds since 1970.
    pub at: i64,
    /// JSON, byte for byte as covered by the hash.
    pub record: String,
    /// SHA-256 over the hash before and this record.
    pub hash: Mac,
}

/// The records to read, the latest first.
#[derive(Clone, Copy, Debug)]
pub struct AdministrationQuery<'a> {
    /// Of this tenant's slug, whether it exists or not; `None` for all.
    pub tenant: Option<&'a str>,
    /// From this moment on.
    pub since: SystemTime,
    /// Before the record with this number; `None` from the last on.
    pub before: Option<i64>,
    /// At most so many.
    pub limit: i64,
}

/// The result of a verification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifiedAdministration {
    /// The last record, or where pruning removed it.
    pub last: Option<ChainPosition>,
    /// The number of verified records.
    pub records: u64,
    /// What is wrong with them.
    pub findings: Vec<Finding>,
}

impl AdministrationRecord {
    /// Whether this is the record that was appended after the one with this hash.
    fn follows(&self, before: &Mac) -> bool {
        let number = self.number.to_be_bytes();
        let at = self.at.to_be_bytes();
        let message = [before.as_slice(), &number, &at, self.record.as_bytes()].concat();
        digest(&SHA256, &message).as_ref() == self.hash
    }

    fn position(&self) -> ChainPosition {
        ChainPosition {
            number: self.number,
            mac: self.hash,
        }
    }
}

impl VerifiedAdministration {
    fn check(&mut self, row: &AdministrationRecord, known: Option<ChainPosition>) {
        self.records += 1;
        let (number, mac) = self
            .last
            .map_or((0, NOTHING_BEFORE), |last| (last.number, last.mac));
        if row.number > number + 1 {
            self.find(Finding::Removed(number + 1, row.number - 1));
        } else if row.number <= number || !row.follows(&mac) {
            self.find(Finding::Changed(row.number));
        }
        if known.is_some_and(|known| known.number == row.number && known.mac != row.hash) {
            self.find(Finding::Changed(row.number));
        }
        self.last = Some(row.position());
    }

    fn find(&mut self, finding: Finding) {
        if self.findings.len() < MOST_FINDINGS && !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }
}

impl TenantsTx {
    /// The records that match, the latest first.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn administration(
        &mut self,
        of: &AdministrationQuery<'_>,
    ) -> Result<Vec<AdministrationRecord>, TenantError> {
        let rows = sqlx::query_as!(
            Stored,
            r#"select number, (extract(epoch from at) * 1000000)::bigint as "at!", record, hash
               from administration_records
               where ($1::text is null or tenant = $1) and ($2::bigint is null or number < $2)
                 and at >= 'epoch'::timestamptz + $3::bigint * interval '1 microsecond'
               order by number desc limit $4"#,
            of.tenant,
            of.before,
            micros(of.since),
            of.limit
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(query("read records of administration"))?;
        Ok(rows.into_iter().map(AdministrationRecord::from).collect())
    }

    /// Records after a number, in order. At most 2,000.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn administration_page(
        &mut self,
        behind: i64,
    ) -> Result<Vec<AdministrationRecord>, TenantError> {
        let rows = sqlx::query_as!(
            Stored,
            r#"select number, (extract(epoch from at) * 1000000)::bigint as "at!", record, hash
               from administration_records where number > $1 order by number limit $2"#,
            behind,
            PAGE
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(query("read records of administration"))?;
        Ok(rows.into_iter().map(AdministrationRecord::from).collect())
    }

    /// Verifies all records. `known` is where they ended at an earlier verification.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn verify_administration(
        &mut self,
        secret: &RootSecret,
        known: Option<ChainPosition>,
    ) -> Result<VerifiedAdministration, TenantError> {
        let mut verified = VerifiedAdministration {
            last: self.administration_cut(secret).await?,
            ..VerifiedAdministration::default()
        };
        let mut behind = 0;
        loop {
            let page = self.administration_page(behind).await?;
            page.iter().for_each(|row| verified.check(row, known));
            match page.last() {
                Some(last) => behind = last.number,
                None => break,
            }
        }
        let end = verified.last.map_or(0, |last| last.number);
        if let Some(known) = known.filter(|known| known.number > end) {
            verified.find(Finding::Removed(end + 1, known.number));
        }
        Ok(verified)
    }

    /// Removes the records of before a moment, unless one of them was changed, and records that the audit trail was pruned.
    /// Returns how many there were.
    ///
    /// # Errors
    /// [`TenantError::TamperedAdministration`].
    pub(super) async fn prune_administration(
        &mut self,
        before: i64,
        secret: &RootSecret,
    ) -> Result<i64, TenantError> {
        const WHAT: &str = "prune records of administration";
        let change = sqlx::query!(
            "select append_administration(jsonb_build_object('what', 'audit_records', 'action', 'pruned', 'after', \
                 jsonb_build_object('before', 'epoch'::timestamptz + $1::bigint * interval '1 microsecond')))",
            before
        );
        change.fetch_one(&mut *self.tx).await.map_err(query(WHAT))?;
        let last = sqlx::query!(
            "select number, hash from administration_records \
             where at < 'epoch'::timestamptz + $1::bigint * interval '1 microsecond' order by number desc limit 1",
            before
        );
        let last = last.fetch_optional(&mut *self.tx).await;
        let Some(last) = last.map_err(query(WHAT))? else {
            return Ok(0);
        };
        let verified = self.verify_administration(secret, None).await?;
        if verified.findings.iter().any(|it| it.is_up_to(last.number)) {
            return Err(TenantError::TamperedAdministration);
        }
        let position = ChainPosition {
            number: last.number,
            mac: sized(&last.hash),
        };
        let sealed = seal(NOBODYS.0, NOBODYS.1, &position, secret);
        let pruned = sqlx::query_scalar!(
            r#"with cut as (insert into administration_cuts (number, hash, seal) values ($1, $2, $3))
               select prune_administration($1) as "pruned!""#,
            last.number,
            last.hash,
            sealed.as_slice()
        );
        let pruned = pruned.fetch_one(&mut *self.tx).await;
        pruned.map_err(query(WHAT))
    }

    /// Where pruning ended. `None` unless the root secret sealed it.
    async fn administration_cut(
        &mut self,
        secret: &RootSecret,
    ) -> Result<Option<ChainPosition>, TenantError> {
        let cuts =
            sqlx::query!("select number, hash, seal from administration_cuts order by number desc")
                .fetch_all(&mut *self.tx)
                .await
                .map_err(query("read where records of administration were cut"))?;
        let mut cuts = cuts.into_iter().map(|cut| {
            let position = ChainPosition {
                number: cut.number,
                mac: sized(&cut.hash),
            };
            (position, sized(&cut.seal))
        });
        let sealed = cuts.find(|(position, mac)| is_sealed(NOBODYS, position, mac, secret));
        Ok(sealed.map(|(position, _)| position))
    }
}

/// A row of `administration_records`.
struct Stored {
    number: i64,
    at: i64,
    record: String,
    hash: Vec<u8>,
}

impl From<Stored> for AdministrationRecord {
    fn from(row: Stored) -> Self {
        AdministrationRecord {
            number: row.number,
            at: row.at,
            record: row.record,
            hash: sized(&row.hash),
        }
    }
}
