//! `archway migrate`: migrates the database to this version's schema, and sets the passwords of the
//! runtime roles.
//!
//! Runs as the owner of the tables. Gateways and workers never migrate: their roles own nothing.
//! Concurrent migrations wait for one another on an advisory lock. A migration that waits for a table
//! held by another session lets gateways and workers proceed meanwhile.

mod lock_timeout;
mod reachability;
mod roles;

use std::path::PathBuf;

use archway_store::{DatabaseFileError, read_files};
use secrecy::{ExposeSecret, SecretString};
use sqlx::PgPool;
use sqlx::migrate::MigrateError as Migration;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

use crate::output::{self, OutputError};
use crate::password_file::{self, PasswordFileError};

pub use reachability::UnreachableError;
pub(crate) use reachability::check_reachable;

/// SQLSTATE of a missing table: the database was never migrated.
const NO_SUCH_TABLE: &str = "42P01";

/// Arguments of `archway migrate`.
#[derive(Debug, clap::Args)]
pub struct MigrateArgs {
    /// The database, as the role that owns its tables and may create roles:
    /// `postgres://user:password@host/database`.
    #[arg(
        long,
        env = "ARCHWAY_MIGRATE_DATABASE_URL",
        hide_env_values = true,
        value_name = "URL"
    )]
    database_url: SecretString,
    /// File with the password of that role, if the URL holds none.
    #[arg(
        long,
        env = "ARCHWAY_MIGRATE_DATABASE_PASSWORD_FILE",
        value_name = "FILE"
    )]
    database_password_file: Option<PathBuf>,
    /// File with the new password of the role `archway_gateway`, in plain ASCII; a final newline is
    /// ignored [default: the role keeps its password].
    #[arg(long, value_name = "FILE")]
    gateway_password_file: Option<PathBuf>,
    /// The same for the role `archway_worker`.
    #[arg(long, value_name = "FILE")]
    worker_password_file: Option<PathBuf>,
    /// The same for the role `archway_sync`.
    #[arg(long, value_name = "FILE")]
    sync_password_file: Option<PathBuf>,
    /// Create the roles and set their passwords, without migrating: for a server on which a dump is
    /// restored.
    #[arg(long)]
    roles_only: bool,
}

/// Why a database was not migrated.
#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    /// The URL cannot be parsed.
    #[error("the database URL can't be read")]
    Url(#[source] sqlx::Error),
    /// A file that the URL names cannot be used.
    #[error(transparent)]
    File(#[from] DatabaseFileError),
    /// The server cannot be reached, or refuses the connection.
    #[error("connecting to the database")]
    Connect(#[source] UnreachableError),
    /// The database has migrations that this build lacks or that differ from its own.
    #[error(
        "this database was made by another build of archway; use that one, or another database \
         (`archway dev`: another folder with --data)"
    )]
    OtherBuild(#[source] Migration),
    /// Another session holds what a migration needs, and the retries are used up.
    #[error(
        "another session holds a table that is being migrated, or is migrating as well: end it (`select \
         pid, query, xact_start from pg_stat_activity order by xact_start` shows the oldest first), and \
         run `archway migrate` again"
    )]
    Held(#[source] Migration),
    /// The roles could not be created.
    #[error("making the roles archway_gateway, archway_worker and archway_sync")]
    Roles(#[source] sqlx::Error),
    /// A migration failed. The earlier ones stay applied.
    #[error("migrating the database")]
    Migrate(#[source] Migration),
    /// A password file cannot be used.
    #[error(transparent)]
    Password(#[from] PasswordFileError),
    /// The cryptographic library failed.
    #[error("the cryptographic library failed")]
    Crypto,
    /// A role's password could not be set.
    #[error("setting the password of {role}")]
    SetPassword {
        /// The role.
        role: &'static str,
        /// The database's error.
        #[source]
        source: sqlx::Error,
    },
    /// Standard output cannot be written.
    #[error("writing to standard output")]
    Output(#[source] OutputError),
}

/// Why a database's schema cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// It has fewer migrations than this build.
    #[error(
        "the database is at schema {found}, this archway needs {wanted}: run `archway migrate`"
    )]
    Older {
        /// The number of its newest migration; 0 if it has none.
        found: i64,
        /// The number of this build's.
        wanted: i64,
    },
    /// It has all of this build's migrations, and more.
    #[error(
        "the database is at schema {found}, made by a newer build of archway (this one's is \
         {wanted}): use that one"
    )]
    Newer {
        /// The number of its newest migration.
        found: i64,
        /// The number of this build's.
        wanted: i64,
    },
    /// Its migrations differ from this build's.
    #[error(
        "the database is at schema {found}, made by another build of archway (this one's is \
         {wanted}): use that one"
    )]
    OtherBuild {
        /// The number of its newest migration.
        found: i64,
        /// The number of this build's.
        wanted: i64,
    },
    /// The query failed.
    #[error("reading the database's schema version")]
    Query(#[source] sqlx::Error),
}

static MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!("../migrations");

/// The number of the database's newest migration, if its schema is this build's.
pub async fn check(owner: &PgPool) -> Result<i64, SchemaError> {
    let applied: Vec<(i64, Vec<u8>)> = sqlx::query_as(
        "select version, checksum from _sqlx_migrations where success order by version",
    )
    .fetch_all(owner)
    .await
    .or_else(|error| match &error {
        sqlx::Error::Database(refusal) if refusal.code().as_deref() == Some(NO_SUCH_TABLE) => {
            Ok(Vec::new())
        }
        _ => Err(SchemaError::Query(error)),
    })?;
    let ours: Vec<_> = MIGRATIONS.iter().collect();
    let found = applied.last().map_or(0, |(version, _)| *version);
    let wanted = ours.last().map_or(0, |migration| migration.version);
    let agree = ours
        .iter()
        .zip(&applied)
        .all(|(ours, (version, checksum))| {
            ours.version == *version && *ours.checksum == **checksum
        });
    if !agree {
        return Err(SchemaError::OtherBuild { found, wanted });
    }
    if applied.len() > ours.len() {
        return Err(SchemaError::Newer { found, wanted });
    }
    if applied.len() < ours.len() {
        return Err(SchemaError::Older { found, wanted });
    }
    Ok(found)
}

/// Runs the command.
pub async fn run(args: MigrateArgs) -> Result<(), MigrateError> {
    // Files are read before anything is changed.
    let gateway = args
        .gateway_password_file
        .as_deref()
        .map(password_file::read)
        .transpose()?;
    let worker = args
        .worker_password_file
        .as_deref()
        .map(password_file::read)
        .transpose()?;
    let sync = args
        .sync_password_file
        .as_deref()
        .map(password_file::read)
        .transpose()?;
    let own = args.database_password_file.as_deref();
    let owner = connect(&password_file::complete(&args.database_url, own)?).await?;
    let mut done = Vec::new();
    if args.roles_only {
        roles::create(&owner).await.map_err(MigrateError::Roles)?;
        done.push("roles archway_gateway, archway_worker, archway_sync".to_owned());
    } else {
        done.push(migrate_and_report(&owner).await?);
    }
    let passwords = [
        ("archway_gateway", gateway),
        ("archway_worker", worker),
        ("archway_sync", sync),
    ];
    for (role, password) in passwords {
        if let Some(password) = password {
            roles::set_password(&owner, role, &password).await?;
            done.push(format!("password of {role}"));
        }
    }
    owner.close().await;
    // For the log of a Job or an init container. A closed output doesn't undo the work.
    output::print(&done.join("\n"), false).map_err(MigrateError::Output)
}

/// Migrates, unless a newer build made the schema. Reports the schema's number now and before: of
/// several concurrent migrations, one does the work and the others wait.
async fn migrate_and_report(owner: &PgPool) -> Result<String, MigrateError> {
    let before = check(owner).await;
    // After a rollback. Gateways and workers check for themselves whether they can use the schema.
    if let Err(SchemaError::Newer { found, wanted }) = before {
        tracing::warn!(
            found,
            wanted,
            "a newer build of archway made this schema; it stays unchanged"
        );
        return Ok(format!("schema {found}, unchanged: it is a newer build's"));
    }
    migrate(owner).await?;
    Ok(match before {
        Ok(version) => format!("schema {version}, unchanged"),
        Err(SchemaError::Older { found: 0, wanted }) => format!("schema {wanted}, new"),
        Err(SchemaError::Older { found, wanted }) => format!("schema {wanted}, was {found}"),
        // The earlier check failed, but the schema is right now.
        Err(_) => "schema migrated".to_owned(),
    })
}

/// Migrates the database of `owner` to this version's schema. Idempotent.
pub async fn migrate(owner: &PgPool) -> Result<(), MigrateError> {
    let ended = lock_timeout::run(&MIGRATIONS, owner).await;
    ended.map_err(|error| match error {
        Migration::VersionMismatch(_) | Migration::VersionMissing(_) => {
            MigrateError::OtherBuild(error)
        }
        error if lock_timeout::is_lock_timeout(&error) => MigrateError::Held(error),
        error => MigrateError::Migrate(error),
    })
}

async fn connect(url: &SecretString) -> Result<PgPool, MigrateError> {
    let options = read_files(options(url).map_err(MigrateError::Url)?)?;
    check_reachable(&options)
        .await
        .map_err(MigrateError::Connect)?;
    let pool = PgPoolOptions::new().max_connections(2);
    let connected = pool.connect_with(options).await;
    connected.map_err(|error| MigrateError::Connect(error.into()))
}

/// Parses a URL. sqlx alone would accept URLs of other databases, too.
pub(crate) fn options(url: &SecretString) -> Result<PgConnectOptions, sqlx::Error> {
    let text = url.expose_secret();
    if text.starts_with("postgres://") || text.starts_with("postgresql://") {
        return text.parse();
    }
    let expected = "it must begin with postgres://; characters such as / # ? @ in a password are \
                    written as %2F %23 %3F %40";
    Err(sqlx::Error::Configuration(expected.into()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use sqlx::{ConnectOptions, Connection};

    use super::*;
    use crate::data_dir::DataDir;
    use crate::postgres::{EmbeddedPostgres, PostgresConfig};

    /// A server of its own, and its folder.
    pub(super) async fn scratch() -> (tempfile::TempDir, EmbeddedPostgres) {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let data = DataDir::open(folder.path()).unwrap();
        let config = PostgresConfig::default();
        let postgres = EmbeddedPostgres::start(&data, &config).await.unwrap();
        (folder, postgres)
    }

    /// Makes the server require passwords of the gateway's role, soon.
    async fn require_passwords(owner: &PgPool) {
        let file: String = sqlx::query_scalar("show hba_file")
            .fetch_one(owner)
            .await
            .unwrap();
        let rules = fs::read_to_string(&file).unwrap();
        fs::write(
            &file,
            format!("local all archway_gateway scram-sha-256\n{rules}"),
        )
        .unwrap();
        let reload = sqlx::query("select pg_reload_conf()");
        reload.execute(owner).await.unwrap();
    }

    #[tokio::test]
    async fn migrating_is_idempotent_and_roles_get_their_passwords() {
        let (folder, postgres) = scratch().await;
        let file = folder.path().join("password");
        fs::write(&file, "it's; drop role archway_worker --\n").unwrap();
        for _ in 0..2 {
            let args = MigrateArgs {
                database_url: postgres.owner_url().into(),
                database_password_file: None,
                gateway_password_file: Some(file.clone()),
                worker_password_file: None,
                sync_password_file: None,
                roles_only: false,
            };
            run(args).await.unwrap();
        }
        let owner = connect(&postgres.owner_url().into()).await.unwrap();
        let stored: Vec<(String, bool)> = sqlx::query_as(
            "select rolname::text, rolpassword ~ \
                 '^SCRAM-SHA-256\\$4096:[A-Za-z0-9+/]{22}==\\$[A-Za-z0-9+/]{43}=:[A-Za-z0-9+/]{43}=$' \
             from pg_authid where rolname like 'archway\\_%' and rolpassword is not null",
        )
        .fetch_all(&owner)
        .await
        .unwrap();
        assert_eq!(stored, [("archway_gateway".to_owned(), true)]);

        require_passwords(&owner).await;
        let gateway = postgres.owner().username("archway_gateway");
        let log_in = async |password| gateway.clone().password(password).connect().await;
        let asked = async {
            while log_in("wrong").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let asked = tokio::time::timeout(Duration::from_secs(10), asked).await;
        asked.expect("the server requires passwords");
        let session = log_in("it's; drop role archway_worker --").await.unwrap();
        session.close().await.unwrap();
        owner.close().await;
        postgres.stop().await.unwrap();
    }

    #[tokio::test]
    async fn concurrent_settings_of_one_password_all_succeed() {
        let (folder, postgres) = scratch().await;
        let file = folder.path().join("password");
        fs::write(&file, "hush").unwrap();
        let mut running = tokio::task::JoinSet::new();
        for _ in 0..12 {
            running.spawn(run(MigrateArgs {
                database_url: postgres.owner_url().into(),
                database_password_file: None,
                gateway_password_file: Some(file.clone()),
                worker_password_file: Some(file.clone()),
                sync_password_file: None,
                roles_only: false,
            }));
        }
        for migrated in running.join_all().await {
            migrated.unwrap();
        }
        postgres.stop().await.unwrap();
    }
}
