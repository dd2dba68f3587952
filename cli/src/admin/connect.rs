//! Finds the database and the root secret of the installation to administer.
//!
//! An installation is named by its database's URL. Otherwise a running `archway dev` on this machine is
//! used, through its server's socket. A typed `--data` wins over a URL from the environment.
//!
//! What a reader would get wrong: the root secret must be the gateways' own, or new keys are good
//! nowhere. So a database named by URL is never combined with the secret of the default data folder,
//! and that of `archway dev` never with a secret from the environment.

use std::path::PathBuf;
use std::time::Duration;

use archway_gateway::secrets::{RootSecret, SecretError};
use archway_store::{DatabaseFileError, read_files};
use secrecy::SecretString;
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

use super::AdminError;
use super::typed_args::TypedArgs;
use crate::data_dir::{DataDir, DataDirError, ROOT_SECRET};
use crate::migrate::{self, SchemaError, UnreachableError};
use crate::password_file::{self, PasswordFileError};
use crate::postgres::EmbeddedPostgres;
use crate::tenants::{TenantError, Tenants, TenantsTx};

/// How long connecting to the server may take.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Which installation to administer, and the answer's format.
#[derive(Debug, clap::Args)]
pub(crate) struct Installation {
    #[command(flatten)]
    flags: TypedArgs<InstallationArgs>,
    /// Print the answer as one JSON document.
    #[arg(long, global = true)]
    pub(super) json: bool,
}

#[derive(Debug, clap::Args)]
struct InstallationArgs {
    /// The database, as the role that owns its tables [default: that of the `archway dev` that runs
    /// on this machine].
    #[arg(
        long,
        env = "ARCHWAY_MIGRATE_DATABASE_URL",
        hide_env_values = true,
        global = true,
        value_name = "URL",
        help_heading = "Installation"
    )]
    database_url: Option<SecretString>,
    /// File with the password of that role, if the URL holds none.
    #[arg(
        long,
        env = "ARCHWAY_MIGRATE_DATABASE_PASSWORD_FILE",
        global = true,
        value_name = "FILE",
        help_heading = "Installation"
    )]
    database_password_file: Option<PathBuf>,
    /// The data folder of `archway dev`. If typed, it wins over a database from the environment
    /// [default: the user's].
    #[arg(long, global = true, value_name = "DIR", help_heading = "Installation")]
    data: Option<PathBuf>,
}

/// Where the root secret is.
#[derive(Debug, clap::Args)]
pub(super) struct SecretFile {
    #[command(flatten)]
    flags: TypedArgs<SecretArgs>,
}

#[derive(Debug, clap::Args)]
struct SecretArgs {
    /// The root secret, which must be the gateways' [default: that of the `archway dev` in use,
    /// whatever the environment names].
    #[arg(
        long,
        env = "ARCHWAY_SECRET_FILE",
        value_name = "FILE",
        help_heading = "Installation"
    )]
    secret_file: Option<PathBuf>,
}

/// The root secret, for commands that create keys.
#[derive(Debug, clap::Args)]
pub(super) struct KeySecret {
    #[command(flatten)]
    pub(super) file: SecretFile,
    /// Accept a root secret under which no live key was made: the gateways' secret is lost, and this
    /// one replaces it.
    #[arg(long, help_heading = "Installation")]
    replace_secret: bool,
}

/// Why no database can be used.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// No URL, and no running `archway dev`.
    #[error(
        "there is no database: name one with --database-url (or ARCHWAY_MIGRATE_DATABASE_URL), or \
         start `archway dev` (none runs for the data folder {}; another is named with --data)",
        .0.display()
    )]
    Nowhere(PathBuf),
    /// A `dev` runs, and its server does not.
    #[error(
        "`archway dev` (pid {}) runs for the data folder {}, but its PostgreSQL does not: `archway dev` \
         restarts it; try again in a few seconds, and read the log of `archway dev` if that fails. \
         If `archway dev` was given --database-url, name the same database here", .1, .0.display()
    )]
    DevWithoutPostgres(PathBuf, u32),
    /// The URL cannot be parsed.
    #[error("--database-url can't be read as postgres://user:password@host/database")]
    Url(#[source] sqlx::Error),
    /// The owner's password cannot be used.
    #[error("--database-password-file (ARCHWAY_MIGRATE_DATABASE_PASSWORD_FILE) can't be used")]
    Password(#[from] PasswordFileError),
    /// The server cannot be reached, or refuses the connection.
    #[error("connecting to the database as its owner")]
    Connect(#[source] UnreachableError),
    /// A file that the URL names cannot be used.
    #[error(transparent)]
    File(#[from] DatabaseFileError),
    /// The data folder cannot be used.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The schema is not this version's.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// Creating keys needs it.
    #[error(
        "the root secret is missing: name the gateways' with --secret-file (or ARCHWAY_SECRET_FILE)"
    )]
    NoSecret,
    /// The root secret is invalid.
    #[error(transparent)]
    Secret(#[from] SecretError),
}

/// A connected database with this version's schema.
pub(super) struct Connected {
    tenants: Tenants,
    /// The number of its newest migration.
    pub(super) schema: i64,
    /// The data folder, if it is the database of `archway dev`.
    pub(super) dev: Option<PathBuf>,
    pool: PgPool,
}

impl Installation {
    /// Runs `work` in one transaction, committed if `work` succeeds.
    pub(super) async fn change<T>(
        &self,
        work: impl AsyncFnOnce(&mut TenantsTx, &Connected) -> Result<T, AdminError>,
    ) -> Result<T, AdminError> {
        self.change_unless(false, work).await
    }

    /// [`Installation::change`], rolled back if `dry_run` is set.
    pub(super) async fn change_unless<T>(
        &self,
        dry_run: bool,
        work: impl AsyncFnOnce(&mut TenantsTx, &Connected) -> Result<T, AdminError>,
    ) -> Result<T, AdminError> {
        let connected = self.connect().await?;
        let done = connected.change_unless(dry_run, work).await;
        connected.close().await;
        done
    }

    /// Runs `work` in a read-only transaction, which waits for no change in progress.
    pub(super) async fn read<T>(
        &self,
        work: impl AsyncFnOnce(&mut TenantsTx, &Connected) -> Result<T, AdminError>,
    ) -> Result<T, AdminError> {
        let connected = self.connect().await?;
        let read = connected.read(work).await;
        connected.close().await;
        read
    }

    /// Connects, and checks the schema. [`Installation::read`] suits a single read.
    pub(super) async fn connect(&self) -> Result<Connected, ConnectError> {
        let (options, dev) = self.find()?;
        let options = options.application_name("archway-admin");
        migrate::check_reachable(&options)
            .await
            .map_err(ConnectError::Connect)?;
        let pool = PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(TIMEOUT)
            .connect_with(options)
            .await
            .map_err(|error| ConnectError::Connect(error.into()))?;
        let schema = migrate::check(&pool).await?;
        Ok(Connected {
            tenants: Tenants::new(pool.clone()),
            schema,
            dev,
            pool,
        })
    }

    /// The root secret of the installation.
    pub(super) fn secret(&self, file: &SecretFile) -> Result<RootSecret, ConnectError> {
        let (_, dev) = self.find()?;
        // An `archway dev` with a database by URL has its secret in its data folder as well.
        let kept = dev.or_else(|| self.flags.values.data.clone());
        let kept = kept.map(|data| data.join(ROOT_SECRET));
        let named = file.flags.values.secret_file.clone();
        let path = if file.flags.is_typed("secret_file") {
            named
        } else {
            kept.or(named)
        };
        Ok(RootSecret::load(&path.ok_or(ConnectError::NoSecret)?)?)
    }

    fn find(&self) -> Result<(PgConnectOptions, Option<PathBuf>), ConnectError> {
        if let Some(url) = self.url() {
            let password = self.flags.values.database_password_file.as_deref();
            let url = password_file::complete(url, password)?;
            let options = migrate::options(&url).map_err(ConnectError::Url)?;
            return Ok((read_files(options)?, None));
        }
        let data = self.data_folder()?;
        match EmbeddedPostgres::of_another_process(&data) {
            Some(options) => Ok((options, Some(data))),
            None => Err(match DataDir::holder_of(&data) {
                Some(pid) => ConnectError::DevWithoutPostgres(data, pid),
                None => ConnectError::Nowhere(data),
            }),
        }
    }

    /// The database's URL. Ignored if `--data` was typed and the URL was not.
    fn url(&self) -> Option<&SecretString> {
        let passed_over = self.flags.values.data.is_some() && !self.flags.is_typed("database_url");
        self.flags
            .values
            .database_url
            .as_ref()
            .filter(|_| !passed_over)
    }

    fn data_folder(&self) -> Result<PathBuf, DataDirError> {
        let data = self.flags.values.data.clone();
        data.map_or_else(DataDir::default_path, Ok)
    }
}

impl KeySecret {
    /// Refuses a root secret that made none of the live keys, unless `--replace-secret` is given.
    ///
    /// # Errors
    /// [`TenantError::OtherSecret`].
    pub(super) async fn check(
        &self,
        tx: &mut TenantsTx,
        secret: &RootSecret,
    ) -> Result<(), TenantError> {
        if self.replace_secret {
            return Ok(());
        }
        tx.check_secret(secret).await
    }
}

impl Connected {
    /// Runs `work` in one transaction, rolled back if `dry_run` is set.
    pub(super) async fn change_unless<T>(
        &self,
        dry_run: bool,
        work: impl AsyncFnOnce(&mut TenantsTx, &Connected) -> Result<T, AdminError>,
    ) -> Result<T, AdminError> {
        let mut tx = self.tenants.begin().await?;
        let done = work(&mut tx, self).await?;
        if !dry_run {
            tx.commit().await?;
        }
        Ok(done)
    }

    /// Runs `work` in a read-only transaction, as of one point in time.
    pub(super) async fn read<T>(
        &self,
        work: impl AsyncFnOnce(&mut TenantsTx, &Connected) -> Result<T, AdminError>,
    ) -> Result<T, AdminError> {
        work(&mut self.tenants.read().await?, self).await
    }

    /// Closes the connection.
    pub(super) async fn close(self) {
        self.pool.close().await;
    }
}
