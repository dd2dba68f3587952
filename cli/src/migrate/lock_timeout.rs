//! Migrating while other sessions, such as a backup, hold a table.
//!
//! What a reader would get wrong: a migration that simply waits for a table blocks every session, because
//! later requests for that table queue behind it. So each attempt waits for a lock for 1 s only, pauses
//! to let others proceed, and retries. Migrations that earlier attempts completed stay.

use std::time::Duration;

use sqlx::migrate::{MigrateError, Migrator};
use sqlx::postgres::PgPoolOptions;
use sqlx::{Executor, PgPool};
use tokio::time::{Instant, sleep};

/// How long an attempt waits for a lock: less than any statement timeout of gateways and workers. And no notices:
/// sqlx asks whether one would be logged, and if not, the log loses the thread's next event, whatever it is.
const SETTINGS: &str = "set lock_timeout = '1s'; set client_min_messages = warning";
/// Between two attempts, for sessions that queued behind the last one.
const PAUSE: Duration = Duration::from_secs(2);
/// For how long attempts are made: a backup of a large database takes minutes.
pub(super) const RETRY_LIMIT: Duration = Duration::from_secs(600);
/// SQLSTATE of a lock timeout.
const LOCK_NOT_AVAILABLE: &str = "55P03";

/// Runs the missing migrations. Retries while other sessions, including other migrations, hold what it
/// needs.
pub(super) async fn run(migrations: &Migrator, owner: &PgPool) -> Result<(), MigrateError> {
    let deadline = Instant::now() + RETRY_LIMIT;
    let mut logged = false;
    loop {
        match try_once(migrations, owner).await {
            Err(error) if is_lock_timeout(&error) && Instant::now() < deadline => {
                if !logged {
                    logged = true;
                    tracing::warn!(
                        minutes = RETRY_LIMIT.as_secs() / 60,
                        "another session holds a table that is being migrated (a backup?), or is migrating \
                         as well: retrying until it ends"
                    );
                }
                sleep(PAUSE).await;
            }
            ended => return ended,
        }
    }
}

/// One attempt on its own connection: the migration lock belongs to the connection, and ends with it.
async fn try_once(migrations: &Migrator, owner: &PgPool) -> Result<(), MigrateError> {
    let alone = PgPoolOptions::new()
        .max_connections(1)
        .after_connect(|connection, _| {
            Box::pin(async move { connection.execute(SETTINGS).await.map(drop) })
        })
        .connect_lazy_with(owner.connect_options().as_ref().clone());
    let ended = migrations.run(&alone).await;
    alone.close().await;
    ended
}

/// Whether another session holds what it needs.
pub(super) fn is_lock_timeout(error: &MigrateError) -> bool {
    let (MigrateError::Execute(cause) | MigrateError::ExecuteMigration(cause, _)) = error else {
        return false;
    };
    let refusal = cause.as_database_error();
    refusal.is_some_and(|refusal| refusal.code().as_deref() == Some(LOCK_NOT_AVAILABLE))
}

#[cfg(test)]
mod tests {
    use sqlx::Row;

    use super::*;
    use crate::migrate::MIGRATIONS;
    use crate::migrate::tests::scratch;

    /// The migration that created `projects`. A later one adds a column to it.
    const FIRST: i64 = 1;

    async fn waits_for_a_table(owner: &PgPool) {
        let waiting = "select count(*) from pg_locks l join pg_class c on c.oid = l.relation \
                       where c.relname = 'projects' and not l.granted";
        loop {
            let row = sqlx::query(waiting).fetch_one(owner).await.unwrap();
            if row.get::<i64, _>(0) > 0 {
                return;
            }
            sleep(Duration::from_millis(5)).await;
        }
    }

    #[tokio::test]
    async fn a_table_held_by_a_backup_is_readable_and_migrated_later() {
        let (_folder, postgres) = scratch().await;
        let owner = PgPool::connect(&postgres.owner_url()).await.unwrap();
        MIGRATIONS.run_to(FIRST, &owner).await.unwrap();
        let mut backup = owner.begin().await.unwrap();
        backup.execute("select from projects").await.unwrap();

        let pool = owner.clone();
        let migrating = tokio::spawn(async move { run(&MIGRATIONS, &pool).await });
        let within = Duration::from_secs(30);
        tokio::time::timeout(within, waits_for_a_table(&owner))
            .await
            .expect("the migration waits for the table");
        // Like a gateway, whose statements time out after 2 s.
        let mut gateway = owner.begin().await.unwrap();
        gateway
            .execute("set local statement_timeout = '2s'")
            .await
            .unwrap();
        gateway.execute("select from projects").await.unwrap();
        gateway.rollback().await.unwrap();
        assert!(!migrating.is_finished());

        backup.rollback().await.unwrap();
        migrating.await.unwrap().unwrap();
        crate::migrate::check(&owner).await.unwrap();
        owner.close().await;
        postgres.stop().await.unwrap();
    }

    #[test]
    fn only_lock_timeouts_are_retried() {
        assert!(!is_lock_timeout(&MigrateError::VersionMissing(1)));
        assert!(!is_lock_timeout(&MigrateError::Execute(
            sqlx::Error::PoolTimedOut
        )));
    }
}
