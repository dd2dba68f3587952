//! Access rules of a tenant, the labels of its keys that they name, and the connections whose hosts decide.

use archway_proto::access::AccessRule;
use sqlx::types::Json;

use super::{StoreError, TenantStore, with_timeout};

impl TenantStore<'_> {
    /// How often the tenant's rules, and what hosts say, have changed; the rules by id; and the names of the connections
    /// whose hosts say who may read what. A tenant that never had any has edition 0.
    pub(crate) async fn access_rules(
        &self,
    ) -> Result<(i64, Vec<AccessRule>, Vec<String>), StoreError> {
        let mut tx = self.begin().await?;
        let found = sqlx::query!(
            r#"select e.edition,
                      (select jsonb_agg(jsonb_build_object('id', r.id, 'who', r.who, 'projects', r.projects,
                                                           'families', r.families, 'deny', r.deny) order by r.id)
                       from access_rules r where r.tenant_id = e.tenant_id) as "rules: Json<Vec<AccessRule>>",
                      array(select h.name from host_permissions h where h.tenant_id = e.tenant_id) as "hosts!"
               from access_editions e where e.tenant_id = $1"#,
            self.tenant
        )
        .fetch_optional(&mut *tx);
        let found = with_timeout("access rules", found).await?;
        with_timeout("a commit", tx.commit()).await?;
        let found = found.map(|it| (it.edition, it.rules.map(|Json(rules)| rules), it.hosts));
        let (edition, rules, hosts) = found.unwrap_or_default();
        Ok((edition, rules.unwrap_or_default(), hosts))
    }

    /// The label of one of the tenant's keys.
    pub(crate) async fn key_label(&self, id: &str) -> Result<Option<String>, StoreError> {
        let mut tx = self.begin().await?;
        let found = sqlx::query_scalar!(
            "select label from api_keys where tenant_id = $1 and id = $2",
            self.tenant,
            id
        )
        .fetch_optional(&mut *tx);
        let label = with_timeout("a key's label", found).await?;
        with_timeout("a commit", tx.commit()).await?;
        Ok(label)
    }
}
