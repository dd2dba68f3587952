//! OIDC principals whose tokens were revoked. The database knows no others: only the issuers do.

use std::time::SystemTime;

use archway_gateway::Identity;

use super::{TenantError, TenantsTx, error::query, moment};

/// A principal whose tokens were revoked.
#[derive(Clone, Debug)]
pub struct RevokedPrincipal {
    /// The issuer's URL, exactly as in its tokens.
    pub issuer: String,
    /// The subject that the issuer's tokens name.
    pub subject: String,
    /// Tokens issued before this moment are refused, and so are those issued within the issuer's
    /// leeway after it.
    pub before: SystemTime,
}

impl TenantsTx {
    /// Revokes the tokens of this subject that were issued before now. Every gateway refuses them
    /// within a second. A token issued after the issuer's leeway has passed is good; until then it is
    /// refused, because the issuer's clock may be ahead.
    ///
    /// # Errors
    /// [`TenantError::Subject`] if no token can have this subject.
    pub async fn revoke_principal(
        &mut self,
        issuer: &str,
        subject: &str,
    ) -> Result<RevokedPrincipal, TenantError> {
        let identity = Identity::new(issuer, subject).ok_or(TenantError::Subject)?;
        // The time of this statement. The transaction may have begun earlier and waited.
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

    /// Principals whose tokens were revoked within the last two hours, the newest first. By then all
    /// tokens have expired, and gateways delete the row.
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
