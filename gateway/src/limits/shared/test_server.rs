//! A real server for the tests of this module, on a socket in its own folder and without
//! persistence. Stops when the value is dropped.

use std::{
    process::{Child, Command, Stdio},
    time::Duration,
};

use redis::{AsyncConnectionConfig, Client, aio::MultiplexedConnection};
use tempfile::TempDir;

/// Longer than any start takes.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) struct RedisServer {
    process: Child,
    folder: TempDir,
}

impl RedisServer {
    pub(super) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let process = Command::new("redis-server")
            .args(["--port", "0", "--unixsocket", "socket", "--save", ""])
            .args(["--appendonly", "no"])
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server on the PATH: tests/run installs it");
        RedisServer { process, folder }
    }

    pub(super) fn url(&self) -> String {
        format!("unix://{}", self.folder.path().join("socket").display())
    }

    /// Connects once the server listens.
    pub(super) async fn connect(&self) -> MultiplexedConnection {
        let client = Client::open(self.url()).unwrap();
        let config = AsyncConnectionConfig::new().set_response_timeout(None);
        let connecting = async {
            loop {
                match client
                    .get_multiplexed_async_connection_with_config(&config)
                    .await
                {
                    Ok(connection) => return connection,
                    Err(_starting) => tokio::time::sleep(Duration::from_millis(10)).await,
                }
            }
        };
        let connected = tokio::time::timeout(PATIENCE, connecting).await;
        connected.expect("redis-server listens in time")
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}
