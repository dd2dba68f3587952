//! Where administration finds the database and the root secret.
//!
//! As a URL, where there is an installation; else a running `archway dev` of this machine is asked
//! over its server's socket. `--data` that was typed wins over a URL that the environment holds.
//!
//! What a reader would get wrong: the root secret must be the one that the gateways have, else the
//! keys made here are good nowhere. So a database that was given by URL is never paired with the
//! default data folder's secret, nor that of `archway dev` with a secret from the environment.

use std::path::PathBuf;
use std::time::Duration;

use crate::tenants::{TenantError, Tenants, TenantsTx};
use archway_gateway::secrets::{RootSecret, SecretError};
use archway_workers::store::{DatabaseFileError, read_files};
use secrecy::SecretString;
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

use super::AdminError;
use super::told::Told;
use crate::data_dir::{DataDir, DataDirError, ROOT_SECRET};
use crate::migrate::{self, ReachError, SchemaError};
use crate::password_file::{self, PasswordFileError};
use crate::postgres::EmbeddedPostgres;

/// How long a server may take to let us in.
const PATIENCE: Duration = Duration::from_secs(5);

/// Which installation a command is about, and how it answers.
#[derive(Debug, clap::Args)]
pub(super) struct Place {
    #[command(flatten)]
    told: Told<PlaceArgs>,
    /// Answer with one JSON document.
    #[arg(long, global = true)]
    pub(super) json: bool,
}

#[derive(Debug, clap::Args)]
struct PlaceArgs {
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
    /// File with the password of that role, where the URL holds none.
    #[arg(
        long,
        env = "ARCHWAY_MIGRATE_DATABASE_PASSWORD_FILE",
        global = true,
        value_name = "FILE",
        help_heading = "Installation"
    )]
    database_password_file: Option<PathBuf>,
    /// The data folder of `archway dev`; named, it wins over a database that only the environment
    /// names [default: the user's].
    #[arg(long, global = true, value_name = "DIR", help_heading = "Installation")]
    data: Option<PathBuf>,
}

/// Where the root secret is.
#[derive(Debug, clap::Args)]
pub(super) struct SecretFile {
    #[command(flatten)]
    told: Told<SecretArgs>,
}

#[derive(Debug, clap::Args)]
struct SecretArgs {
    /// The root secret, which must be the gateways' [default: that of the `archway dev` that is
    /// asked, whatever the environment names].
    #[arg(
        long,
        env = "ARCHWAY_SECRET_FILE",
        value_name = "FILE",
        help_heading = "Installation"
    )]
    secret_file: Option<PathBuf>,
}

/// The same for commands that make keys.
#[derive(Debug, clap::Args)]
pub(super) struct KeySecret {
    #[command(flatten)]
    pub(super) file: SecretFile,
    /// Take the root secret though no key that is good was made under it: the gateways' is lost,
    /// and this one takes its place.
    #[arg(long, help_heading = "Installation")]
    replace_secret: bool,
}

/// Why there is no database to work on.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Neither of the two ways leads anywhere.
    #[error(
        "there is no database: name one with --database-url (or ARCHWAY_MIGRATE_DATABASE_URL), or \
         start `archway dev` (none runs for the data folder {}; another is named with --data)",
        .0.display()
    )]
    Nowhere(PathBuf),
    /// The URL is none.
    #[error("--database-url can't be read as postgres://user:password@host/database")]
    Url(#[source] sqlx::Error),
    /// The owner's password can't be used.
    #[error("--database-password-file (ARCHWAY_MIGRATE_DATABASE_PASSWORD_FILE) can't be used")]
    Password(#[from] PasswordFileError),
    /// Nobody answers there, or not to us.
    #[error("connecting to the database as its owner")]
    Connect(#[source] ReachError),
    /// A file that the URL names is of no use.
    #[error(transparent)]
    File(#[from] DatabaseFileError),
    /// The data folder can't be found.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The schema is not this version's.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// Keys can't be made without it.
    #[error(
        "the root secret is missing: name the gateways' with --secret-file (or ARCHWAY_SECRET_FILE)"
    )]
    NoSecret,
    /// The root secret is not right.
    #[error(transparent)]
    Secret(#[from] SecretError),
}

/// A database of this version's schema, that answers.
pub(super) struct Connected {
    tenants: Tenants,
    /// The number of its newest migration.
    pub(super) schema: i64,
    /// The data folder of the `archway dev` whose database it is.
    pub(super) dev: Option<PathBuf>,
    pool: PgPool,
}

impl Place {
    /// Does `work` as one change: all of it is done if it succeeds, else nothing.
    pub(super) async fn change<T>(
        &self,
        work: impl AsyncFnOnce(&mut TenantsTx, &Connected) -> Result<T, AdminError>,
    ) -> Result<T, AdminError> {
        self.change_unless(false, work).await
    }

    /// The same, undone at its end if this is a dry run.
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

    /// Does `work` that only reads, and waits for no change that is under way.
    pub(super) async fn read<T>(
        &self,
        work: impl AsyncFnOnce(&mut TenantsTx, &Connected) -> Result<T, AdminError>,
    ) -> Result<T, AdminError> {
        let connected = self.connect().await?;
        let read = connected.read(work).await;
        connected.close().await;
        read
    }

    /// Connects, and checks the schema. Who asks only once has [`Place::read`].
    pub(super) async fn connect(&self) -> Result<Connected, ConnectError> {
        let (options, dev) = self.find()?;
        let options = options.application_name("archway-admin");
        migrate::reach(&options)
            .await
            .map_err(ConnectError::Connect)?;
        let pool = PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(PATIENCE)
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
        // A `dev` that was given its database by URL keeps its secret in its data folder, too.
        let kept = dev.or_else(|| self.told.args.data.clone());
        let kept = kept.map(|data| data.join(ROOT_SECRET));
        let named = file.told.args.secret_file.clone();
        let path = if file.told.is_typed("secret_file") {
            named
        } else {
            kept.or(named)
        };
        Ok(RootSecret::load(&path.ok_or(ConnectError::NoSecret)?)?)
    }

    fn find(&self) -> Result<(PgConnectOptions, Option<PathBuf>), ConnectError> {
        if let Some(url) = self.url() {
            let password = self.told.args.database_password_file.as_deref();
            let url = password_file::complete(url, password)?;
            let options = migrate::options(&url).map_err(ConnectError::Url)?;
            return Ok((read_files(options)?, None));
        }
        let data = self.data_folder()?;
        match EmbeddedPostgres::of_another_process(&data) {
            Some(options) => Ok((options, Some(data))),
            None => Err(ConnectError::Nowhere(data)),
        }
    }

    /// The database's, unless a data folder was typed and it was not.
    fn url(&self) -> Option<&SecretString> {
        let passed_over = self.told.args.data.is_some() && !self.told.is_typed("database_url");
        self.told
            .args
            .database_url
            .as_ref()
            .filter(|_| !passed_over)
    }

    fn data_folder(&self) -> Result<PathBuf, DataDirError> {
        let data = self.told.args.data.clone();
        data.map_or_else(DataDir::default_path, Ok)
    }
}

impl KeySecret {
    /// Rejects a root secret that issued no live key, unless the operator confirms it.
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
    /// Does `work` as one change, undone at its end if this is a dry run.
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

    /// Does `work` that only reads, as of one moment.
    pub(super) async fn read<T>(
        &self,
        work: impl AsyncFnOnce(&mut TenantsTx, &Connected) -> Result<T, AdminError>,
    ) -> Result<T, AdminError> {
        work(&mut self.tenants.read().await?, self).await
    }

    /// Says goodbye to the server.
    pub(super) async fn close(self) {
        self.pool.close().await;
    }
}
