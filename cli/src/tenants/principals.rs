//! Principals of OIDC issuers, as far as administration knows them: those whose tokens were taken
//! back. Who else there is, only their issuers know.

use std::time::SystemTime;

use archway_gateway::Identity;

use super::{TenantError, TenantsTx, error::query, moment};

/// A principal whose tokens were taken back.
#[derive(Clone, Debug)]
pub struct RevokedPrincipal {
    /// The issuer's URL, as its tokens write it.
    pub issuer: String,
    /// Whom it calls so.
    pub subject: String,
    /// Tokens that were issued before are refused, and those from within the issuer's leeway after.
    pub before: SystemTime,
}

impl TenantsTx {
    /// Has every gateway refuse, within a second, the tokens of this subject that were issued before
    /// now; since when they are refused. One that is issued later is good, once the issuer's leeway
    /// has passed: nobody knows by how much of it its clock is ahead.
    ///
    /// # Errors
    /// [`TenantError::Subject`] for one that no token can name.
    pub async fn revoke_principal(
        &mut self,
        issuer: &str,
        subject: &str,
    ) -> Result<RevokedPrincipal, TenantError> {
        let identity = Identity::new(issuer, subject).ok_or(TenantError::Subject)?;
        // The moment of the change itself, not of the transaction, which may have waited.
        let before = sqlx::query_scalar!(
            r#"insert into principals (id, issuer, subject, revoked_before)
               values ($1, $2, $3, clock_timestamp())
               on conflict (id) do update set revoked_before = excluded.revoked_before
               returning (extract(epoch from revoked_before) * 1000000)::bigint as "before!""#,
            identity.id(),
            issuer,
            subject
        )
        .fetch_one(&mut *self.tx)
        .await
        .map_err(query("revoke a principal"))?;
        Ok(RevokedPrincipal {
            issuer: issuer.to_owned(),
            subject: subject.to_owned(),
            before: moment(before),
        })
    }

    /// Whose tokens were taken back of late, the last one first. Tokens have ended by themselves
    /// within two hours, and gateways forget it then.
    pub async fn revoked_principals(&mut self) -> Result<Vec<RevokedPrincipal>, TenantError> {
        let rows = sqlx::query!(
            r#"select issuer, subject,
                      (extract(epoch from revoked_before) * 1000000)::bigint as "before!"
               from principals order by revoked_before desc, id"#
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(query("list revoked principals"))?;
        let principals = rows.into_iter().map(|row| RevokedPrincipal {
            issuer: row.issuer,
            subject: row.subject,
            before: moment(row.before),
        });
        Ok(principals.collect())
    }
}
