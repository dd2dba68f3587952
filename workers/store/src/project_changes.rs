//! Notifications that a project has changed: its row, its memory, or its index.
//!
//! Migration 0020's triggers send them on [`CHANNEL`], and so may whatever changes a repository:
//! `select pg_notify('archway_projects', '<tenant id>/<project id>')`. The ids say nothing about
//! projects that a worker has not mounted.

use std::time::Duration;

use sqlx::Executor as _;
use sqlx::postgres::PgListener;
use tokio::time::timeout;
use uuid::Uuid;

use super::keys::ProjectKey;
use super::{StoreError, Stores, failed};

/// The channel of the notifications.
const CHANNEL: &str = "archway_projects";
/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// After this time without a notification the connection is tested: a dead one can look idle.
const IDLE_LIMIT: Duration = Duration::from_secs(30);
/// How long an answer to this test may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// A connection that receives notifications.
pub struct ProjectChanges(PgListener);

/// The next event of [`ProjectChanges`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectChange {
    /// This project changed.
    Project(ProjectKey),
    /// Any project of this tenant changed.
    Tenant(Uuid),
    /// Nothing changed, and the connection is alive.
    Nothing,
}

impl Stores {
    /// Starts to receive notifications, on a connection of its own. Those sent after this returns
    /// are received.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn project_changes(&self) -> Result<ProjectChanges, StoreError> {
        let pool = self.with_own_pool(1).pool;
        let listen = async {
            let mut listener = PgListener::connect_with(&pool).await?;
            listener.eager_reconnect(false);
            listener.listen(CHANNEL).await?;
            Ok(ProjectChanges(listener))
        };
        let listening = timeout(CONNECT_TIMEOUT, listen).await;
        listening
            .unwrap_or(Err(sqlx::Error::PoolTimedOut))
            .map_err(failed("listening for changed projects"))
    }
}

impl ProjectChanges {
    /// Waits for the next event, for at most 35 s. `None` if the connection is lost, and with it any
    /// notification sent meanwhile.
    pub async fn next(&mut self) -> Option<ProjectChange> {
        match timeout(IDLE_LIMIT, self.0.try_recv()).await {
            Ok(Ok(Some(notification))) => {
                let change = parse(notification.payload());
                Some(change.unwrap_or(ProjectChange::Nothing))
            }
            Ok(Ok(None) | Err(_)) => None,
            Err(_elapsed) => match timeout(ANSWER_TIMEOUT, self.0.execute("select 1")).await {
                Ok(Ok(_)) => Some(ProjectChange::Nothing),
                Ok(Err(_)) | Err(_) => None,
            },
        }
    }
}

/// Parses `<tenant id>/<project id>` or `<tenant id>`. Any role of the database may notify, so
/// anything else is ignored.
fn parse(payload: &str) -> Option<ProjectChange> {
    let Some((tenant, project)) = payload.split_once('/') else {
        return payload.parse().ok().map(ProjectChange::Tenant);
    };
    let (tenant, project) = (tenant.parse().ok()?, project.parse().ok()?);
    Some(ProjectChange::Project(ProjectKey { tenant, project }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_names_a_tenant_or_a_project_by_ids() {
        let (tenant, project) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let key = ProjectKey { tenant, project };
        let both = format!("{tenant}/{project}");
        assert_eq!(parse(&both), Some(ProjectChange::Project(key)));
        assert_eq!(
            parse(&tenant.to_string()),
            Some(ProjectChange::Tenant(tenant))
        );
        for other in [
            "",
            "/",
            "acme/app",
            &format!("{tenant}/"),
            &format!("{both}/x"),
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
    }
}
