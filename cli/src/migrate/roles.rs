//! The runtime roles: made without a schema, since a dump that is restored on a new server names
//! them, and given their passwords.

mod scram;

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use sqlx::{Connection, Executor, PgConnection, PgPool};

use super::MigrateError;

/// How often a password is set where others are setting it, too, and the pause between: gateways that
/// start at once each migrate first, and no lock of a database reaches a role.
const PASSWORD_TRIES: u32 = 50;
const PASSWORD_PAUSE: Duration = Duration::from_millis(50);

/// As the first migration makes them, which a test holds it to.
const ROLES: &str = "
do $$
declare
    role text;
begin
    foreach role in array array['archway_gateway', 'archway_worker'] loop
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

/// Makes those of both that are missing.
pub(super) async fn make(owner: &PgPool) -> Result<(), sqlx::Error> {
    owner.execute(ROLES).await.map(drop)
}

/// Gives a role its password.
pub(super) async fn give(
    owner: &PgPool,
    role: &'static str,
    password: &SecretString,
) -> Result<(), MigrateError> {
    let verifier = scram::verifier(password).map_err(|_unspecified| MigrateError::Crypto)?;
    let failed = |source| MigrateError::SetPassword { role, source };
    let mut connection = owner.acquire().await.map_err(failed)?;
    let mut tries = PASSWORD_TRIES;
    while let Err(error) = set_password(&mut connection, role, &verifier).await {
        tries -= 1;
        if tries == 0 || !is_contended(&error) {
            return Err(failed(error));
        }
        tokio::time::sleep(PASSWORD_PAUSE).await;
    }
    Ok(())
}

/// Whether somebody else changed the role at that moment. PostgreSQL has no code for it.
fn is_contended(error: &sqlx::Error) -> bool {
    let refusal = error.as_database_error();
    refusal.is_some_and(|it| it.message().starts_with("tuple concurrently updated"))
}

/// The server may log whatever it is sent, so it is sent what it stores, which is good for no
/// login. `alter role` takes no parameters: the verifier goes in as a setting of the transaction.
async fn set_password(
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

    /// Each role with all that it may do, but for its number.
    async fn roles(owner: &PgPool) -> Vec<String> {
        let all = "select (to_jsonb(r) - 'oid')::text from pg_roles r \
                   where rolname like 'archway\\_%' order by rolname";
        sqlx::query_scalar(all).fetch_all(owner).await.unwrap()
    }

    #[tokio::test]
    async fn roles_that_are_made_alone_are_those_that_migrations_make() {
        let (_folder, postgres) = scratch().await;
        let owner = PgPool::connect(&postgres.owner_url()).await.unwrap();
        make(&owner).await.unwrap();
        make(&owner).await.unwrap();
        let alone = roles(&owner).await;
        assert_eq!(alone.len(), 2, "{alone:?}");
        let dropped = owner.execute("drop role archway_gateway, archway_worker");
        dropped.await.unwrap();
        MIGRATIONS.run(&owner).await.unwrap();
        assert_eq!(roles(&owner).await, alone);
        owner.close().await;
        postgres.stop().await.unwrap();
    }
}
