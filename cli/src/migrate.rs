//! `archway migrate`: brings the database to this version's schema, and gives the runtime roles
//! their passwords.
//!
//! Runs as the owner of the tables. Gateways and workers never migrate: they connect as roles
//! that own nothing. Two migrations at one time wait for each other on an advisory lock.

mod scram;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use sqlx::migrate::MigrateError as Migration;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions, Connection, PgConnection, PgPool};

/// What Postgres calls a table that isn't there: nobody ever migrated.
const NO_SUCH_TABLE: &str = "42P01";

/// How long a server may take to let us in.
const REACH: Duration = Duration::from_secs(5);

/// What `archway migrate` is told.
#[derive(Debug, clap::Args)]
pub struct MigrateArgs {
    /// The database, as the role that owns its tables and may make roles:
    /// `postgres://user:password@host/database`.
    #[arg(
        long,
        env = "ARCHWAY_MIGRATE_DATABASE_URL",
        hide_env_values = true,
        value_name = "URL"
    )]
    database_url: SecretString,
    /// File with the password that the role `archway_gateway` gets, in plain ASCII; a line end at
    /// its end is no part of it [default: the role keeps what it has].
    #[arg(long, value_name = "FILE")]
    gateway_password_file: Option<PathBuf>,
    /// The same for the role `archway_worker`.
    #[arg(long, value_name = "FILE")]
    worker_password_file: Option<PathBuf>,
}

/// Why a database is not migrated.
#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    /// The URL is none.
    #[error("the database URL can't be read")]
    Url(#[source] sqlx::Error),
    /// Nobody answers there, or not to us.
    #[error("connecting to the database")]
    Connect(#[source] sqlx::Error),
    /// The database has migrations that this build does not, or that say something else here.
    #[error(
        "this database was made by another build of archway; use that one, or another database \
         (`archway dev`: another folder with --data)"
    )]
    OtherBuild(#[source] Migration),
    /// A migration failed; those before it are in place.
    #[error("migrating the database")]
    Migrate(#[source] Migration),
    /// A password file can't be read.
    #[error("reading the password file {}", path.display())]
    PasswordFile {
        /// The file.
        path: PathBuf,
        /// The operating system's answer.
        #[source]
        source: io::Error,
    },
    /// A password file holds no password.
    #[error("the password file {} is empty", .0.display())]
    EmptyPassword(PathBuf),
    /// A password file holds what clients might each send differently.
    #[error(
        "the password file {} holds more than one line, or characters that are not plain ASCII; \
         choose a password of letters, digits and signs", .0.display()
    )]
    OddPassword(PathBuf),
    /// The cryptographic library failed.
    #[error("the cryptographic library failed")]
    Crypto,
    /// A role's password was not set.
    #[error("setting the password of {role}")]
    SetPassword {
        /// The role.
        role: &'static str,
        /// The database's answer.
        #[source]
        source: sqlx::Error,
    },
}

/// Why a database can't be worked on as it is.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// It has fewer migrations than this build.
    #[error(
        "the database is at schema {found}, this archway needs {wanted}: run `archway migrate`"
    )]
    Older {
        /// The number of its newest migration; 0: it has none.
        found: i64,
        /// The number of ours.
        wanted: i64,
    },
    /// It has migrations that this build does not know, or that say something else here.
    #[error(
        "the database is at schema {found}, made by another build of archway (this one's is \
         {wanted}): use that one"
    )]
    OtherBuild {
        /// The number of its newest migration.
        found: i64,
        /// The number of ours.
        wanted: i64,
    },
    /// It can't be asked.
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
    if !agree || applied.len() > ours.len() {
        return Err(SchemaError::OtherBuild { found, wanted });
    }
    if applied.len() < ours.len() {
        return Err(SchemaError::Older { found, wanted });
    }
    Ok(found)
}

/// Runs the command.
pub async fn run(args: MigrateArgs) -> Result<(), MigrateError> {
    // Read before anything is changed.
    let gateway = args
        .gateway_password_file
        .as_deref()
        .map(read_password)
        .transpose()?;
    let worker = args
        .worker_password_file
        .as_deref()
        .map(read_password)
        .transpose()?;
    let owner = connect(&args.database_url).await?;
    migrate(&owner).await?;
    let passwords = [("archway_gateway", gateway), ("archway_worker", worker)];
    for (role, password) in passwords {
        if let Some(password) = password {
            let verifier =
                scram::verifier(&password).map_err(|_unspecified| MigrateError::Crypto)?;
            let failed = |source| MigrateError::SetPassword { role, source };
            let mut connection = owner.acquire().await.map_err(failed)?;
            set_password(&mut connection, role, &verifier)
                .await
                .map_err(failed)?;
        }
    }
    owner.close().await;
    Ok(())
}

/// Brings the database that `owner` is connected to, to this version's schema. Changes nothing
/// where that was done before.
pub async fn migrate(owner: &PgPool) -> Result<(), MigrateError> {
    MIGRATIONS.run(owner).await.map_err(|error| match error {
        Migration::VersionMismatch(_) | Migration::VersionMissing(_) => {
            MigrateError::OtherBuild(error)
        }
        error => MigrateError::Migrate(error),
    })
}

async fn connect(url: &SecretString) -> Result<PgPool, MigrateError> {
    let options = options(url).map_err(MigrateError::Url)?;
    reach(&options).await.map_err(MigrateError::Connect)?;
    let pool = PgPoolOptions::new().max_connections(2);
    pool.connect_with(options)
        .await
        .map_err(MigrateError::Connect)
}

/// The options of a URL. sqlx would take that of another kind of database, too.
pub(crate) fn options(url: &SecretString) -> Result<PgConnectOptions, sqlx::Error> {
    let text = url.expose_secret();
    if text.starts_with("postgres://") || text.starts_with("postgresql://") {
        return text.parse();
    }
    let expected = "it must begin with postgres://; characters such as / # ? @ in a password are \
                    written as %2F %23 %3F %40";
    Err(sqlx::Error::Configuration(expected.into()))
}

/// Connects once, for the reason why not: a pool tries again and again, and then only says that
/// it waited.
pub(crate) async fn reach(options: &PgConnectOptions) -> Result<(), sqlx::Error> {
    match tokio::time::timeout(REACH, options.connect()).await {
        Ok(connected) => connected?.close().await,
        Err(_elapsed) => Err(sqlx::Error::PoolTimedOut),
    }
}

fn read_password(path: &Path) -> Result<SecretString, MigrateError> {
    let text = fs::read_to_string(path).map_err(|source| MigrateError::PasswordFile {
        path: path.to_owned(),
        source,
    })?;
    let password = text.trim_end_matches(['\r', '\n']);
    if password.is_empty() {
        return Err(MigrateError::EmptyPassword(path.to_owned()));
    }
    // Others would have to be normalized (SASLprep), which not every client does alike.
    if !password.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return Err(MigrateError::OddPassword(path.to_owned()));
    }
    Ok(password.into())
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
    use std::time::Duration;

    use sqlx::ConnectOptions;

    use super::*;
    use crate::data_dir::DataDir;
    use crate::postgres::{EmbeddedPostgres, PostgresConfig};

    #[test]
    fn a_password_file_may_end_its_line_and_must_not_be_empty() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("password");
        fs::write(&file, "it's \"quoted\" \n").unwrap();
        assert_eq!(
            read_password(&file).unwrap().expose_secret(),
            "it's \"quoted\" "
        );
        fs::write(&file, "\n").unwrap();
        assert!(matches!(
            read_password(&file),
            Err(MigrateError::EmptyPassword(_))
        ));
        for odd in ["sésame", "two\nlines", "tab\t"] {
            fs::write(&file, odd).unwrap();
            let refusal = read_password(&file).unwrap_err();
            assert!(matches!(refusal, MigrateError::OddPassword(_)), "{odd}");
            assert!(!refusal.to_string().contains(odd));
        }
        let missing = folder.path().join("missing");
        assert!(matches!(
            read_password(&missing),
            Err(MigrateError::PasswordFile { .. })
        ));
    }

    /// From soon on, of the gateway's role.
    async fn ask_for_passwords(owner: &PgPool) {
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
    async fn migrating_twice_is_migrating_once_and_roles_get_their_passwords() {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let data = DataDir::open(folder.path()).unwrap();
        let postgres = EmbeddedPostgres::start(&data, &PostgresConfig::default())
            .await
            .unwrap();
        let file = folder.path().join("password");
        fs::write(&file, "it's; drop role archway_worker --\n").unwrap();
        for _ in 0..2 {
            let args = MigrateArgs {
                database_url: postgres.owner_url().into(),
                gateway_password_file: Some(file.clone()),
                worker_password_file: None,
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

        ask_for_passwords(&owner).await;
        let gateway = postgres.owner().username("archway_gateway");
        let log_in = async |password| gateway.clone().password(password).connect().await;
        let asked = async {
            while log_in("wrong").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let asked = tokio::time::timeout(Duration::from_secs(10), asked).await;
        asked.expect("the server asks for passwords");
        let session = log_in("it's; drop role archway_worker --").await.unwrap();
        session.close().await.unwrap();
        owner.close().await;
        postgres.stop().await.unwrap();
    }
}
