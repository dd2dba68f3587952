//! What a git host says of a tenant's projects while the stack runs, written by the functions by which `archway sync`
//! writes it.

use serde_json::json;
use sqlx::{Connection as _, PgConnection};

use super::Stack;

/// Settings of a connection whose host says who may read.
const SETTINGS: &str = r#"{"name": "github", "github": {"org": "acme"}, "credential": "github", "permissions": "host"}"#;

impl Stack {
    /// Makes a connection `github` of a tenant whose host says who may read these projects, each with its visibility.
    /// Nobody is known there yet.
    pub async fn guard(&self, tenant: &str, projects: &[(&str, &str)]) {
        let id = self.tenant_id(tenant);
        let mut owner = self.as_owner().await;
        sqlx::query(
            "insert into connections (tenant_id, name, settings) values ($1, 'github', $2::jsonb)",
        )
        .bind(id)
        .bind(SETTINGS)
        .execute(&mut owner)
        .await
        .unwrap();
        for (project, visibility) in projects {
            sqlx::query(
                "insert into sources (project_id, tenant_id, url, host, connection_id, host_id, host_path, visibility) \
                 select p.id, p.tenant_id, 'https://github.com/acme/' || p.slug, 'github.com', c.id, p.slug, \
                        'acme/' || p.slug, $3 \
                 from projects p join connections c on c.tenant_id = p.tenant_id \
                 where p.tenant_id = $1 and p.slug = $2",
            )
            .bind(id)
            .bind(project)
            .bind(visibility)
            .execute(&mut owner)
            .await
            .unwrap();
        }
    }

    /// The host says that the accounts with these ids and logins may read a project, so many hours ago.
    pub async fn host_says(
        &self,
        tenant: &str,
        project: &str,
        readers: &[(i64, &str)],
        hours: i64,
    ) {
        let accounts: Vec<_> = readers
            .iter()
            .map(|(account, login)| json!({ "account": account, "login": login }))
            .collect();
        let ids: Vec<i64> = readers.iter().map(|(account, _)| *account).collect();
        let recorded: Option<bool> = sqlx::query_scalar(
            "select record_readers(h.connection_id, h.lease_number, jsonb_build_array(jsonb_build_object( \
                 'project_id', p.id, 'is_answer', true, 'readers', $3, 'etags', '{}'::text[], 'next_seconds', 3600, \
                 'asked_at', (extract(epoch from now() - make_interval(hours => $4)) * 1000000)::bigint)), $5::jsonb, 60) \
             from host_permissions h join projects p on p.tenant_id = h.tenant_id \
             where h.tenant_id = $1 and p.slug = $2",
        )
        .bind(self.tenant_id(tenant))
        .bind(project)
        .bind(&ids)
        .bind(i32::try_from(hours).unwrap())
        .bind(json!(accounts).to_string())
        .fetch_one(&mut self.as_owner().await)
        .await
        .unwrap();
        assert_eq!(recorded, Some(true));
    }

    /// A webhook says that a project is private now.
    pub async fn privatize(&self, tenant: &str, project: &str) {
        sqlx::query("select hide_repository(connection_id, $2, null) from host_permissions where tenant_id = $1")
            .bind(self.tenant_id(tenant))
            .bind(project)
            .execute(&mut self.as_owner().await)
            .await
            .unwrap();
    }

    /// Changes for how many hours an answer of the tenant's hosts counts.
    pub async fn set_grace(&self, tenant: &str, hours: i32) {
        sqlx::query("update connections set settings = settings || jsonb_build_object('permissions_grace', $2) where tenant_id = $1")
            .bind(self.tenant_id(tenant))
            .bind(hours)
            .execute(&mut self.as_owner().await)
            .await
            .unwrap();
    }

    async fn as_owner(&self) -> PgConnection {
        PgConnection::connect_with(&self.database().owner())
            .await
            .unwrap()
    }
}
