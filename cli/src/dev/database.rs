//! The database of `dev`: the embedded server, or one given by URL.
//!
//! Row-level security applies to gateway and worker as in production. With the embedded server they log
//! in as their own roles. On a given server the passwords of those roles are unknown, so connections log
//! in as the owner and assume the role at their start.

use std::time::Duration;

use archway_gateway::AuthConfig;
use secrecy::SecretString;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions, PgPool};

use super::restart;
use crate::data_dir::DataDir;
use crate::migrate::{self, MigrateError};
use crate::postgres::{EmbeddedPostgres, PostgresConfig, PostgresError};

/// The maximum of `--key-grace`: a day.
const OWN_KEY_GRACE: Duration = Duration::from_secs(86_400);

/// A database that is in use.
#[derive(Debug)]
pub(super) enum Database {
    /// Started and stopped by `dev`.
    Embedded(EmbeddedPostgres),
    /// Another server; connection options of its owner.
    Given(Box<PgConnectOptions>),
}

/// Why there is no database.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// The embedded server failed.
    #[error(transparent)]
    Postgres(#[from] PostgresError),
    /// `--database-url` cannot be parsed.
    #[error("--database-url can't be read as postgres://user:password@host/database")]
    Url(#[source] sqlx::Error),
    /// The database refuses the connection.
    #[error("connecting to the database as its owner")]
    Connect(#[source] sqlx::Error),
    /// Its schema cannot be migrated.
    #[error(transparent)]
    Migrate(#[from] MigrateError),
    /// The owner cannot be granted the runtime roles.
    #[error(
        "granting the roles archway_gateway, archway_worker and archway_sync to the database's owner"
    )]
    Grant(#[source] sqlx::Error),
}

impl Database {
    /// The server that `url` names, else the embedded one of `data`, which is started.
    pub(super) async fn open(
        url: Option<&SecretString>,
        data: &DataDir,
        config: &PostgresConfig,
    ) -> Result<Self, DatabaseError> {
        match url {
            Some(url) => {
                let options = migrate::options(url).map_err(DatabaseError::Url)?;
                Ok(Database::Given(Box::new(options)))
            }
            None => Ok(Database::Embedded(
                EmbeddedPostgres::start(data, config).await?,
            )),
        }
    }

    /// A small pool of its owner, after migrating the schema.
    pub(super) async fn owner_pool(&self) -> Result<PgPool, DatabaseError> {
        let pool = PgPoolOptions::new().max_connections(2);
        let pool = pool
            .connect_with(self.owner())
            .await
            .map_err(DatabaseError::Connect)?;
        migrate::migrate(&pool).await?;
        match self {
            Database::Embedded(_) => {}
            Database::Given(_) => grant_roles(&pool).await.map_err(DatabaseError::Grant)?,
        }
        Ok(pool)
    }

    /// The URL with which a runtime role connects.
    pub(super) fn runtime_url(&self, role: &str) -> SecretString {
        let url = match self {
            Database::Embedded(postgres) => postgres.owner().username(role).to_url_lossy(),
            Database::Given(owner) => {
                let mut url = owner.to_url_lossy();
                let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
                // sqlx writes `file: PATH`, and would parse all of that as the path.
                let names = pairs
                    .iter()
                    .map(|(name, value)| (name, value.strip_prefix("file: ").unwrap_or(value)));
                url.query_pairs_mut().clear().extend_pairs(names);
                if let Some(options) = owner.get_options() {
                    url.query_pairs_mut().append_pair("options", options);
                }
                url.query_pairs_mut().append_pair("options[role]", role);
                url
            }
        };
        String::from(url).into()
    }

    /// [`Database::runtime_url`] as options.
    pub(super) fn runtime_options(&self, role: &str) -> PgConnectOptions {
        match self {
            Database::Embedded(postgres) => postgres.owner().username(role),
            Database::Given(owner) => PgConnectOptions::clone(owner).options([("role", role)]),
        }
    }

    /// Identifies this database among those used with the same data folder; `None` for the
    /// embedded one.
    pub(super) fn label(&self) -> Option<String> {
        match self {
            Database::Embedded(_) => None,
            Database::Given(owner) => {
                let host = owner.get_socket().map(|path| path.display().to_string());
                let host = host.unwrap_or_else(|| owner.get_host().to_owned());
                let database = owner.get_database().unwrap_or_else(|| owner.get_username());
                Some(format!("{host}:{}/{database}", owner.get_port()))
            }
        }
    }

    /// Restarts the embedded server whenever it ends by itself. A given server is not managed. Returns
    /// if the data folder is gone.
    pub(super) async fn keep(&mut self) -> DatabaseError {
        match self {
            Database::Embedded(postgres) => restart::keep(postgres).await.into(),
            Database::Given(_) => std::future::pending().await,
        }
    }

    /// How long a confirmed key stays valid while the database is down. For the embedded database
    /// that is a day: while it is down, no key can be revoked.
    pub(super) fn key_grace(&self) -> Duration {
        match self {
            Database::Embedded(_) => OWN_KEY_GRACE,
            Database::Given(_) => AuthConfig::default().key_grace,
        }
    }

    /// Stops the embedded server.
    pub(super) async fn stop(self) -> Result<(), DatabaseError> {
        match self {
            Database::Embedded(postgres) => Ok(postgres.stop().await?),
            Database::Given(_) => Ok(()),
        }
    }

    fn owner(&self) -> PgConnectOptions {
        match self {
            Database::Embedded(postgres) => postgres.owner(),
            Database::Given(options) => PgConnectOptions::clone(options),
        }
    }
}

/// Superusers may assume any role, others only roles that were granted to them.
async fn grant_roles(owner: &PgPool) -> Result<(), sqlx::Error> {
    sqlx::query(
        "do $$ begin \
             if not (select rolsuper from pg_roles where rolname = current_user) then \
                 grant archway_gateway, archway_worker, archway_sync to current_user; \
             end if; \
         end $$",
    )
    .execute(owner)
    .await
    .map(|_done| ())
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    #[test]
    fn on_a_given_server_the_owner_assumes_the_role() {
        let url = "postgres://me:p%40ss@db:5433/mine?options=-c%20search_path%3Dx";
        let database = Database::Given(Box::new(url.parse().unwrap()));
        let url = database.runtime_url("archway_worker");
        let options: PgConnectOptions = url.expose_secret().parse().unwrap();
        assert_eq!(options.get_username(), "me");
        assert_eq!(
            options.get_options(),
            Some("-c search_path=x -c role=archway_worker")
        );
        assert_eq!(database.label().as_deref(), Some("db:5433/mine"));
        assert!(!format!("{url:?}").contains("p@ss"));
    }

    #[test]
    fn on_a_given_server_the_roles_trust_the_owners_authority() {
        let url = "postgres://me@db/mine?sslmode=verify-full&sslrootcert=%2Fa%20b%2Fca.pem";
        let owner: PgConnectOptions = url.parse().unwrap();
        let authority = |options: &PgConnectOptions| {
            let url = options.to_url_lossy();
            let found = url.query_pairs().find(|(name, _)| name == "sslrootcert");
            found.map(|(_, file)| file.into_owned())
        };
        let expected = authority(&owner);
        assert!(expected.is_some());
        let url = Database::Given(Box::new(owner)).runtime_url("archway_worker");
        assert_eq!(authority(&url.expose_secret().parse().unwrap()), expected);
    }
}
