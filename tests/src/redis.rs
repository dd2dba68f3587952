//! A real store of limits: Debian's redis-server, on a port of its own, with nothing on disk.

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

/// Below the ports that systems give to whoever asks for any: none of those is taken meanwhile.
const PORTS: std::ops::Range<u16> = 20_000..30_000;
/// Nothing it is asked takes longer, whatever else this machine does.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server that ends with this value.
#[derive(Debug)]
pub struct RedisServer {
    process: Child,
    address: SocketAddr,
    password: Option<String>,
    folder: TempDir,
}

impl RedisServer {
    /// One that answers everybody.
    pub async fn start() -> RedisServer {
        RedisServer::launch(None).await
    }

    /// One that wants to be told this password first.
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
            // Somebody else may have the port: then the server ends by itself.
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

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// As an address, for one who lies before it.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends it as a crash would. Nothing it knew is kept.
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Starts it again, at the same address.
    pub async fn restart(&mut self) {
        self.process = spawn(self.address, self.password.as_deref(), &self.folder);
        assert!(self.listens().await, "its port is free again");
    }

    /// Stops it where it stands: it goes on taking connections, and says nothing.
    pub fn freeze(&self) {
        self.signal("-STOP");
    }

    /// Lets it go on.
    pub fn thaw(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let pid = self.process.id().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status();
        assert!(sent.unwrap().success(), "the server runs");
    }

    /// What it answers to a command without spaces in its words: the text of a bulk string, or the
    /// line of anything else.
    pub async fn ask(&self, words: &str) -> String {
        timeout(PATIENCE, self.try_ask(words))
            .await
            .expect("redis-server answers in time")
            .expect("redis-server talks to us")
    }

    /// How often the script was run.
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

    /// Whether it comes to answer; not if its process ends.
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
        // It may have been killed by the test.
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
