//! `archway worker`: a worker as a process of its own.
//!
//! What a reader would get wrong: the main thread confines itself to the repositories *before* the
//! runtime exists, because only threads that start later inherit the confinement. So everything outside
//! of it (keys, the number of cores) is read first, and ports are bound first.

use std::io;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use archway_proto::name::checked;
use archway_proto::pass::PassVerifier;
use archway_proto::pass::files::{self, PassFileError};
use archway_repo::Mounts;
use archway_repo::confine::{ConfineError, Confinement, confine};
use archway_store::StoreError;
use archway_workers::server::{
    BLOCKING_GRACE, CacheFolder, CacheFolderError, Listener, TlsConfig, TlsError, Worker,
    WorkerConfig, WorkerError, WorkerParts, WorkerPartsError,
};
use tokio_util::sync::CancellationToken;

use crate::bind::{BindError, bind};
use crate::database_role;
use crate::drain::DrainArgs;
use crate::file_limit;
use crate::host_name::name_at;
use crate::otlp::{Collector, Exporting, OtlpArgs, OtlpError};
use crate::password_file::{self, PasswordFileError};
use crate::signals::Signals;

/// Arguments of `archway worker`.
#[derive(Debug, clap::Args)]
pub struct WorkerArgs {
    /// Where gateways connect, by gRPC; port 0 means any free port.
    #[arg(
        long,
        env = "ARCHWAY_WORKER_LISTEN",
        value_name = "ADDRESS:PORT",
        default_value = "0.0.0.0:7000"
    )]
    listen: SocketAddr,
    /// Where probes and Prometheus get /healthz, /readyz and /metrics, without a credential.
    #[arg(
        long,
        env = "ARCHWAY_WORKER_ADMIN_LISTEN",
        value_name = "ADDRESS:PORT",
        default_value = "0.0.0.0:9091"
    )]
    admin_listen: SocketAddr,
    /// Folder of the repositories: a project is the folder `<tenant>/<project>` below it. Otherwise
    /// the worker can read only its cache.
    #[arg(long, env = "ARCHWAY_REPOS", value_name = "DIR")]
    repos: PathBuf,
    /// Folder of the mirrors of `archway sync`, if it is another one: it is read for projects that
    /// `--repos` lacks.
    #[arg(long, env = "ARCHWAY_MIRRORS", value_name = "DIR")]
    mirrors: Option<PathBuf>,
    /// File with the public keys of gateways, one or two: `archway pass-key generate` makes it, and
    /// the private one for gateways.
    #[arg(long, env = "ARCHWAY_PASS_PUBLIC_FILE", value_name = "FILE")]
    pass_public_file: PathBuf,
    /// Its name in lists of workers. Workers of one name are shown with their hosts and ports [default:
    /// the host's name and the port, as `box-7000`].
    #[arg(long, env = "ARCHWAY_WORKER_NAME", value_name = "NAME", value_parser = checked)]
    name: Option<String>,
    /// Refuse to run if the kernel cannot confine the worker to the repositories (no Landlock). The
    /// variable takes `1` or `0`, `true` or `false`, `yes` or `no`, `on` or `off`.
    #[arg(
        long,
        env = "ARCHWAY_REQUIRE_CONFINEMENT",
        value_parser = clap::builder::BoolishValueParser::new()
    )]
    require_confinement: bool,
    #[command(flatten)]
    tls: TlsConfig,
    #[command(flatten)]
    worker: WorkerConfig,
    /// File with the password of the database role, if the URL holds none.
    #[arg(long, env = "ARCHWAY_DATABASE_PASSWORD_FILE", value_name = "FILE")]
    database_password_file: Option<PathBuf>,
    #[command(flatten)]
    drain: DrainArgs,
    #[command(flatten)]
    pub(crate) otlp: OtlpArgs,
}

/// Why a worker did not start, or ended.
#[derive(Debug, thiserror::Error)]
pub enum WorkerCommandError {
    /// The public keys cannot be used.
    #[error("--pass-public-file (ARCHWAY_PASS_PUBLIC_FILE) can't be used")]
    PassKey(#[from] PassFileError),
    /// Certificate and key cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// A folder of repositories cannot be read.
    #[error("{option} {} can't be read: name the folder with the repositories", path.display())]
    Repos {
        /// The option that names it.
        option: &'static str,
        /// The folder.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The database URL is malformed, or its role the wrong one.
    #[error("--database-url (ARCHWAY_DATABASE_URL) can't be used")]
    Store(#[from] StoreError),
    /// The password of the database role cannot be used.
    #[error("--database-password-file (ARCHWAY_DATABASE_PASSWORD_FILE) can't be used")]
    Password(#[from] PasswordFileError),
    /// A port cannot be bound.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The kernel refused to confine it.
    #[error(transparent)]
    Confine(#[from] ConfineError),
    /// The kernel cannot confine it, and `--require-confinement` is set.
    #[error(
        "this kernel has no Landlock, so the worker can't be confined: use one that has (Linux \
         5.13 and later, where /sys/kernel/security/lsm lists it), or leave \
         --require-confinement out"
    )]
    NotConfined,
    /// The cache cannot be at its configured place.
    #[error(transparent)]
    Cache(#[from] CacheFolderError),
    /// Its index or its chat model is misconfigured.
    #[error(transparent)]
    Parts(#[from] WorkerPartsError),
    /// No runtime could be started.
    #[error("starting the asynchronous runtime")]
    Runtime(#[source] io::Error),
    /// The export of traces is misconfigured.
    #[error(transparent)]
    Otlp(#[from] OtlpError),
    /// Signals cannot be received.
    #[error("waiting for signals")]
    Signals(#[source] io::Error),
    /// The worker failed.
    #[error(transparent)]
    Worker(#[from] WorkerError),
    /// Its admin port failed.
    #[error("serving the admin port")]
    Admin(#[source] io::Error),
}

/// Runs until a signal, and then to the end of the drain. Permanently confines the calling thread, so
/// it must be the main one, outside of any runtime.
pub fn run(args: WorkerArgs) -> Result<(), WorkerCommandError> {
    file_limit::raise();
    let start = PreparedWorker::prepare(args)?;
    start.confine()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(start.threads.get())
        .enable_all()
        .build()
        .map_err(WorkerCommandError::Runtime)?;
    let served = runtime.block_on(start.serve());
    // A blocking thread may still compute the status of a large tree. Its result is not needed.
    runtime.shutdown_timeout(BLOCKING_GRACE);
    served
}

fn readable(folder: &Path, option: &'static str) -> Result<PathBuf, WorkerCommandError> {
    let absolute = std::path::absolute(folder).and_then(|path| {
        std::fs::read_dir(&path)?;
        Ok(path)
    });
    absolute.map_err(|source| WorkerCommandError::Repos {
        option,
        path: folder.to_owned(),
        source,
    })
}

/// What was read and bound before the confinement.
struct PreparedWorker {
    args: WorkerArgs,
    mounts: Mounts,
    verifier: PassVerifier,
    parts: WorkerParts,
    collector: Option<Collector>,
    name: String,
    /// Its name by default, which tells it from others that were given the same name.
    instance: String,
    threads: NonZeroUsize,
    listener: Listener,
    admin: std::net::TcpListener,
}

impl PreparedWorker {
    fn prepare(mut args: WorkerArgs) -> Result<Self, WorkerCommandError> {
        let keys = files::load_public_keys(&args.pass_public_file)?;
        let tls = args.tls.read()?;
        let mounts = Mounts::beneath(readable(&args.repos, "--repos (ARCHWAY_REPOS)")?);
        let mounts = match &args.mirrors {
            Some(mirrors) => mounts.and_beneath(readable(mirrors, "--mirrors (ARCHWAY_MIRRORS)")?),
            None => mounts,
        };
        let password = args.database_password_file.as_deref();
        let store = &mut args.worker.store;
        store.url = password_file::complete(&store.url, password)?;
        let parts = WorkerParts::read(&args.worker)?;
        let collector = args.otlp.read("archway-worker")?;
        // Determined by kernel files that cannot be read once confined.
        let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        if args.worker.search_threads == 0 {
            args.worker.search_threads = cores.get();
        }
        let (listener, address) = bind(args.listen, "--listen")?;
        let (admin, admin_address) = bind(args.admin_listen, "--admin-listen")?;
        let instance = name_at(address, "worker");
        let name = args.name.clone().unwrap_or_else(|| instance.clone());
        tracing::info!(%address, admin = %admin_address, name, tls = tls.is_some(), "worker listens");
        let listener = match tls {
            Some(tls) => Listener::Tls(listener, tls),
            None => Listener::Tcp(listener),
        };
        Ok(PreparedWorker {
            verifier: PassVerifier::new(&keys, args.worker.pool.clone()),
            mounts,
            parts,
            collector,
            name,
            instance,
            threads: cores,
            listener,
            admin,
            args,
        })
    }

    fn confine(&self) -> Result<(), WorkerCommandError> {
        let worker = &self.args.worker;
        let cache = worker.cache_folder(&self.mounts)?;
        let own = cache.as_ref().map(CacheFolder::paths);
        let own = own.as_ref().map_or(&[][..], |own| own);
        match confine(&self.mounts.folders(), own)? {
            Confinement::Absent if self.args.require_confinement => {
                return Err(WorkerCommandError::NotConfined);
            }
            Confinement::Absent => {
                tracing::warn!("not confined: this kernel has no Landlock");
            }
            level => tracing::info!(?level, "confined to the repositories"),
        }
        Ok(())
    }

    async fn serve(self) -> Result<(), WorkerCommandError> {
        let signals = Signals::listen().map_err(WorkerCommandError::Signals)?;
        let exporting = Exporting::begin(self.collector)?;
        let worker = Worker::new(&self.args.worker, self.mounts, self.verifier, self.parts)?
            .with_drain_limit(self.args.drain.limit())
            .reporting_as(self.name, self.instance);
        let (stores, admin) = (worker.stores(), worker.admin());
        let probes = admin.clone().serve(self.admin);
        let stop = CancellationToken::new();
        // Tools that read repositories work even if Postgres does not answer.
        let unbound = |error: &StoreError| matches!(error, StoreError::UnrestrictedRole { .. });
        let wrong_role = database_role::unbound_role(|| stores.check_role(), unbound);
        let serving = async {
            tokio::select! {
                served = worker.serve(self.listener, stop.clone()) => Ok(served?),
                ended = probes => ended.map_err(WorkerCommandError::Admin),
                wrong = wrong_role => Err(wrong.into()),
            }
        };
        let announce = || admin.announce_end();
        let ended = self
            .args
            .drain
            .run(signals, serving, announce, stop.clone());
        let ended = Box::pin(ended).await.unwrap_or(Ok(()));
        exporting.finish().await;
        ended
    }
}
