//! Access rules of a tenant. The gateway owns the table; workers only read it.
//!
//! Gateways read the same rules, and the hosts that decide, in `gateway/src/store/access.rs`: neither crate may use the
//! other, and the contract between them has no SQL.

use archway_proto::access::AccessRule;
use sqlx::{Postgres, Transaction, types::Json};

use super::{StoreError, TenantStore, failed};

impl TenantStore<'_> {
    /// How often the tenant's access rules have changed, and the rules by id. A tenant that never had any has edition 0.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn access_rules(&self) -> Result<(i64, Vec<AccessRule>), StoreError> {
        let what = "reading access rules";
        let mut tx = self.begin().await?;
        let found = sqlx::query!(
            r#"select e.edition,
                      (select jsonb_agg(jsonb_build_object('id', r.id, 'who', r.who, 'projects', r.projects,
                                                           'families', r.families, 'deny', r.deny) order by r.id)
                       from access_rules r where r.tenant_id = e.tenant_id) as "rules: Json<Vec<AccessRule>>"
               from access_editions e where e.tenant_id = $1"#,
            self.tenant
        )
        .fetch_optional(&mut *tx)
        .await
        .map_err(failed(what))?;
        tx.commit().await.map_err(failed(what))?;
        let rules = found.map(|it| (it.edition, it.rules.map(|Json(rules)| rules)));
        let (edition, rules) = rules.unwrap_or_default();
        Ok((edition, rules.unwrap_or_default()))
    }

    /// How often the tenant's access rules, and what hosts say, have changed.
    pub(super) async fn access_edition(
        &self,
        tx: &mut Transaction<'static, Postgres>,
    ) -> Result<i64, StoreError> {
        let edition = sqlx::query_scalar!(
            "select edition from access_editions where tenant_id = $1",
            self.tenant
        )
        .fetch_optional(&mut **tx)
        .await
        .map_err(failed("reading the edition of access rules"))?;
        Ok(edition.unwrap_or(0))
    }
}
