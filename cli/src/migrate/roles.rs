//! The runtime roles: created independently of the schema, since a restored dump needs them to exist,
//! and given their passwords.

mod scram;

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use sqlx::{Connection, Executor, PgConnection, PgPool};

use super::MigrateError;

/// How often setting a password is attempted, and the pause in between. Gateways that start at the same
/// time each migrate first, and a lock of one database does not cover roles, which belong to the server.
const PASSWORD_TRIES: u32 = 50;
const PASSWORD_PAUSE: Duration = Duration::from_millis(50);

/// The same as in the migrations. A test compares them.
const ROLES: &str = "
do $$
declare
    role text;
begin
    foreach role in array array['archway_gateway', 'archway_worker', 'archway_sync'] loop
        if not exists (select from pg_roles where rolname = role) then
            begin
                execute format('create role %I login nosuperuser nobypassrls nocreatedb nocreaterole', role);
            exception when duplicate_object or unique_violation then
                null;
            end;
        end if;
    end loop;
end
$$";

/// Creates the roles that are missing.
pub(super) async fn create(owner: &PgPool) -> Result<(), sqlx::Error> {
    owner.execute(ROLES).await.map(drop)
}

/// Sets a role's password.
pub(super) async fn set_password(
    owner: &PgPool,
    role: &'static str,
    password: &SecretString,
) -> Result<(), MigrateError> {
    let verifier = scram::verifier(password).map_err(|_unspecified| MigrateError::Crypto)?;
    let failed = |source| MigrateError::SetPassword { role, source };
    let mut connection = owner.acquire().await.map_err(failed)?;
    let mut tries = PASSWORD_TRIES;
    while let Err(error) = send_verifier(&mut connection, role, &verifier).await {
        tries -= 1;
        if tries == 0 || !is_contended(&error) {
            return Err(failed(error));
        }
        tokio::time::sleep(PASSWORD_PAUSE).await;
    }
    Ok(())
}

/// Whether another session changed the role at the same time. PostgreSQL has no SQLSTATE for it.
fn is_contended(error: &sqlx::Error) -> bool {
    let refusal = error.as_database_error();
    refusal.is_some_and(|it| it.message().starts_with("tuple concurrently updated"))
}

/// Sends what PostgreSQL stores of the password, because the server may log any statement, and the
/// stored form does not allow logging in. `alter role` takes no parameters, so the verifier is passed
/// as a setting of the transaction.
async fn send_verifier(
    connection: &mut PgConnection,
    role: &str,
    verifier: &SecretString,
) -> Result<(), sqlx::Error> {
    let mut tx = connection.begin().await?;
    sqlx::query(
        "select set_config('archway.role', $1, true), set_config('archway.verifier', $2, true)",
    )
    .bind(role)
    .bind(verifier.expose_secret())
    .execute(&mut *tx)
    .await?;
    sqlx::query(
        "do $$ begin execute format('alter role %I password %L', \
         current_setting('archway.role'), current_setting('archway.verifier')); end $$",
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::migrate::MIGRATIONS;
    use crate::migrate::tests::scratch;

    /// Each role with all its attributes, except its oid.
    async fn roles(owner: &PgPool) -> Vec<String> {
        let all = "select (to_jsonb(r) - 'oid')::text from pg_roles r \
                   where rolname like 'archway\\_%' order by rolname";
        sqlx::query_scalar(all).fetch_all(owner).await.unwrap()
    }

    #[tokio::test]
    async fn separately_created_roles_equal_those_of_the_migrations() {
        let (_folder, postgres) = scratch().await;
        let owner = PgPool::connect(&postgres.owner_url()).await.unwrap();
        create(&owner).await.unwrap();
        create(&owner).await.unwrap();
        let alone = roles(&owner).await;
        assert_eq!(alone.len(), 3, "{alone:?}");
        let dropped = owner.execute("drop role archway_gateway, archway_worker, archway_sync");
        dropped.await.unwrap();
        MIGRATIONS.run(&owner).await.unwrap();
        assert_eq!(roles(&owner).await, alone);
        owner.close().await;
        postgres.stop().await.unwrap();
    }
}
