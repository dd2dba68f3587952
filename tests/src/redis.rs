//! A real limit store: Debian's redis-server, on a port of its own, without persistence.

use std::{
    net::SocketAddr,
    process::{Child, Command, Stdio},
    time::Duration,
};

use rand::Rng;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    time::{Instant, timeout},
};

/// Below the range of ephemeral ports, so that no other process is given one of these meanwhile.
const PORTS: std::ops::Range<u16> = 20_000..30_000;
/// How long an answer may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running server. Dropping it ends the process.
#[derive(Debug)]
pub struct RedisServer {
    process: Child,
    address: SocketAddr,
    password: Option<String>,
    folder: TempDir,
}

impl RedisServer {
    /// Starts one without a password.
    pub async fn start() -> RedisServer {
        RedisServer::launch(None).await
    }

    /// Starts one that requires this password.
    pub async fn with_password(password: &str) -> RedisServer {
        RedisServer::launch(Some(password.to_owned())).await
    }

    async fn launch(password: Option<String>) -> RedisServer {
        loop {
            let port = rand::rng().random_range(PORTS);
            let address = SocketAddr::from(([127, 0, 0, 1], port));
            let folder = tempfile::tempdir().unwrap();
            let mut server = RedisServer {
                process: spawn(address, password.as_deref(), &folder),
                address,
                password: password.clone(),
                folder,
            };
            // If the port is taken, the server exits and the next port is tried.
            if server.listens().await {
                return server;
            }
        }
    }

    /// For `--limits-url`.
    pub fn url(&self) -> String {
        match &self.password {
            Some(password) => format!("redis://:{password}@{}", self.address),
            None => format!("redis://{}", self.address),
        }
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Its address, for a relay in front of it.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Kills it, as a crash would. Its data is lost.
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Starts it again at the same address.
    pub async fn restart(&mut self) {
        self.process = spawn(self.address, self.password.as_deref(), &self.folder);
        assert!(self.listens().await, "the port is free again");
    }

    /// Stops the process: it still accepts connections and never answers.
    pub fn freeze(&self) {
        self.signal("-STOP");
    }

    /// Resumes the process.
    pub fn thaw(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let pid = self.process.id().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status();
        assert!(sent.unwrap().success(), "the server runs");
    }

    /// Sends a command whose words contain no spaces. Returns the bulk string, or the line of any other
    /// reply.
    pub async fn ask(&self, words: &str) -> String {
        timeout(PATIENCE, self.try_ask(words))
            .await
            .expect("redis-server answers in time")
            .expect("redis-server talks to us")
    }

    /// How often the limit script ran.
    pub async fn scripts_run(&self) -> u64 {
        let info = self.ask("INFO commandstats").await;
        let line = info
            .lines()
            .find(|line| line.starts_with("cmdstat_evalsha:"));
        let calls = line.and_then(|line| line.split_once("calls=")?.1.split_once(','));
        calls.map_or(0, |(calls, _)| calls.parse().unwrap())
    }

    async fn try_ask(&self, words: &str) -> std::io::Result<String> {
        let mut stream = BufReader::new(TcpStream::connect(self.address).await?);
        let mut line = String::new();
        if let Some(password) = &self.password {
            let auth = format!("AUTH {password}\r\n");
            stream.write_all(auth.as_bytes()).await?;
            stream.read_line(&mut line).await?;
            line.clear();
        }
        stream.write_all(format!("{words}\r\n").as_bytes()).await?;
        stream.read_line(&mut line).await?;
        let Some(length) = line.strip_prefix('$') else {
            return Ok(line.trim_end().to_owned());
        };
        let mut text = vec![0; length.trim_end().parse().unwrap_or(0)];
        stream.read_exact(&mut text).await?;
        Ok(String::from_utf8(text).expect("text"))
    }

    /// Waits until it answers. Returns `false` if its process ends first.
    async fn listens(&mut self) -> bool {
        let deadline = Instant::now() + PATIENCE;
        while self.process.try_wait().unwrap().is_none() {
            if self.try_ask("PING").await.is_ok_and(|pong| pong == "+PONG") {
                return true;
            }
            assert!(Instant::now() < deadline, "redis-server starts in time");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        false
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        // The test may have killed it already.
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

fn spawn(address: SocketAddr, password: Option<&str>, folder: &TempDir) -> Child {
    let mut command = Command::new("redis-server");
    command
        .args(["--bind", "127.0.0.1", "--port", &address.port().to_string()])
        .args(["--save", "", "--appendonly", "no"])
        .current_dir(folder.path())
        .stdout(Stdio::null());
    if let Some(password) = password {
        command.args(["--requirepass", password]);
    }
    command
        .spawn()
        .expect("redis-server on the PATH: tests/run installs it")
}
