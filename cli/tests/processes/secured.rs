//! A Postgres that accepts only TLS with passwords, on a loopback port.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use archway::data_dir::DataDir;
use archway::postgres::{EmbeddedPostgres, PostgresConfig};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::issued::Issued;
use crate::role::wait_until;

/// The password of every role, the owner included. It needs no escaping in a URL.
pub(crate) const PASSWORD: &str = "hunter2-sesame";

/// Runs the server until its standard input closes, for any reason.
const KEEPER: &str = r#""$@" & server=$!; read -r _; kill -INT "$server"; wait "$server""#;

/// The server, which ends with this value.
pub(crate) struct Secured {
    programs: PathBuf,
    folder: TempDir,
    port: u16,
    keeper: Option<Child>,
}

impl Secured {
    /// Creates a cluster whose server has the certificate `issued`, and starts it.
    pub(crate) fn start(runtime: &Runtime, issued: &Issued) -> Secured {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let programs = runtime.block_on(cluster(folder.path()));
        let data = folder.path().join("postgres");
        let owner = fs::metadata(&data).unwrap().uid();
        for (from, to) in [
            (&issued.certificate, "server.crt"),
            (&issued.key, "server.key"),
        ] {
            let to = data.join(to);
            fs::copy(from, &to).unwrap();
            fs::set_permissions(&to, Permissions::from_mode(0o600)).unwrap();
            chown(&to, Some(owner), None).unwrap();
        }
        fs::write(
            data.join("pg_hba.conf"),
            "hostssl all all 127.0.0.1/32 scram-sha-256\n",
        )
        .unwrap();
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        let mut secured = Secured {
            programs,
            folder,
            port,
            keeper: None,
        };
        drop(free);
        secured.begin();
        secured
    }

    /// Starts the server, and returns once it accepts connections.
    pub(crate) fn begin(&mut self) {
        let data = self.folder.path().join("postgres");
        let owner = fs::metadata(&data).unwrap().uid();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", KEEPER, "keeper"]).current_dir("/");
        command
            .arg(self.programs.join("postgres"))
            .arg("-D")
            .arg(data);
        let port = format!("port={}", self.port);
        for setting in [
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            "ssl=on",
            "fsync=off",
            &port,
        ] {
            command.args(["-c", setting]);
        }
        if rustix::process::geteuid().is_root() {
            command.uid(owner).gid(owner);
        }
        command.stdin(Stdio::piped());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        self.keeper = Some(command.spawn().unwrap());
        // The last line of the log. The port is open earlier, but rejects connections until then.
        let state = self.folder.path().join("postgres/postmaster.pid");
        wait_until("the server takes connections", || {
            let state = fs::read_to_string(&state).unwrap_or_default();
            state.trim_end().ends_with("ready")
        });
    }

    /// Stops the server, which closes all connections.
    pub(crate) fn end(&mut self) {
        if let Some(mut keeper) = self.keeper.take() {
            drop(keeper.stdin.take());
            keeper.wait().unwrap();
        }
    }

    /// A URL for `role` with the host name `host`, trusting `authority`.
    pub(crate) fn url(&self, role: &str, host: &str, authority: &Path) -> String {
        let (port, authority) = (self.port, authority.display());
        format!(
            "postgres://{role}:{PASSWORD}@{host}:{port}/archway?sslmode=verify-full&sslrootcert={authority}"
        )
    }
}

impl Drop for Secured {
    fn drop(&mut self) {
        self.end();
    }
}

/// Creates a cluster in `folder` whose owner has a password. Returns the folder of the programs.
async fn cluster(folder: &Path) -> PathBuf {
    let data = DataDir::open(folder).unwrap();
    let config = PostgresConfig::default();
    let postgres = EmbeddedPostgres::start(&data, &config).await.unwrap();
    let mut owner = sqlx::ConnectOptions::connect(&postgres.owner())
        .await
        .unwrap();
    let programs: String =
        sqlx::query_scalar("select setting from pg_config where name = 'BINDIR'")
            .fetch_one(&mut owner)
            .await
            .unwrap();
    let statement = format!("alter role current_user password '{PASSWORD}'");
    let done = sqlx::query(sqlx::AssertSqlSafe(statement)).execute(&mut owner);
    done.await.unwrap();
    sqlx::Connection::close(owner).await.unwrap();
    postgres.stop().await.unwrap();
    PathBuf::from(programs)
}
