//! Migrating beside sessions that hold a table, such as a backup's.
//!
//! What a reader would get wrong: a migration that simply waits for a table makes everybody wait,
//! because whoever wants that table next queues behind it. So each try waits for a moment, lets
//! the others pass, and begins anew; what earlier tries migrated stays.

use std::time::Duration;

use sqlx::migrate::{MigrateError, Migrator};
use sqlx::postgres::PgPoolOptions;
use sqlx::{Executor, PgPool};
use tokio::time::{Instant, sleep};

/// How long a try waits for a lock: less than any statement of gateways and workers may take.
const MOMENT: &str = "set lock_timeout = '1s'";
/// Between two tries, for those who queued behind the last.
const PAUSE: Duration = Duration::from_secs(2);
/// For how long it is tried: a backup of a large database takes minutes.
pub(super) const PATIENCE: Duration = Duration::from_secs(600);
/// What Postgres calls a lock that was not had in time.
const NOT_IN_TIME: &str = "55P03";

/// Runs what is missing of the migrations; tries again while other sessions hold what it needs,
/// another migration among them.
pub(super) async fn run(migrations: &Migrator, owner: &PgPool) -> Result<(), MigrateError> {
    let deadline = Instant::now() + PATIENCE;
    let mut told = false;
    loop {
        match try_once(migrations, owner).await {
            Err(error) if is_held(&error) && Instant::now() < deadline => {
                if !told {
                    told = true;
                    tracing::warn!(
                        minutes = PATIENCE.as_secs() / 60,
                        "another session holds a table that is migrated (a backup?), or migrates, \
                         too: trying again until it ends"
                    );
                }
                sleep(PAUSE).await;
            }
            ended => return ended,
        }
    }
}

/// On a connection of its own: the lock that migrations take belongs to it, and ends with it.
async fn try_once(migrations: &Migrator, owner: &PgPool) -> Result<(), MigrateError> {
    let alone = PgPoolOptions::new()
        .max_connections(1)
        .after_connect(|connection, _| {
            Box::pin(async move { connection.execute(MOMENT).await.map(drop) })
        })
        .connect_lazy_with(owner.connect_options().as_ref().clone());
    let ended = migrations.run(&alone).await;
    alone.close().await;
    ended
}

/// Whether somebody else holds what it needs.
pub(super) fn is_held(error: &MigrateError) -> bool {
    let (MigrateError::Execute(cause) | MigrateError::ExecuteMigration(cause, _)) = error else {
        return false;
    };
    let refusal = cause.as_database_error();
    refusal.is_some_and(|refusal| refusal.code().as_deref() == Some(NOT_IN_TIME))
}

#[cfg(test)]
mod tests {
    use sqlx::Row;

    use super::*;
    use crate::migrate::MIGRATIONS;
    use crate::migrate::tests::scratch;

    /// Made `projects`, to which a later one adds a column.
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
    async fn a_table_that_a_backup_holds_is_read_meanwhile_and_migrated_after() {
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
            .expect("it wants the table");
        // As a gateway does: its statements have two seconds.
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
    fn only_a_lock_that_was_not_had_is_tried_for_again() {
        assert!(!is_held(&MigrateError::VersionMissing(1)));
        assert!(!is_held(&MigrateError::Execute(sqlx::Error::PoolTimedOut)));
    }
}
