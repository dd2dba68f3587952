//! A host of git repositories over HTTPS with basic authentication: git's own `http-backend` behind TLS.

mod api;
mod app;
mod other_hosts;

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use http_body_util::{BodyExt as _, Full};
use hyper::{
    Request, Response, StatusCode,
    body::{Bytes, Incoming},
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{io::AsyncWriteExt as _, net::TcpListener, process::Command};

use crate::{Repo, git, tls};

pub use api::{send_hook, send_payload};
pub use app::GivenToken;
pub use other_hosts::{send_gitea_hook, send_gitea_push, send_gitlab_hook, send_gitlab_push};

/// A host whose repositories need a user and a password. It ends when it is dropped.
pub struct GitHost {
    folder: TempDir,
    identity: TempDir,
    address: SocketAddr,
    state: Arc<HostState>,
    serving: tokio::task::JoinHandle<()>,
}

/// Makes another answer of a request's body and git's answer to it.
type Tamper = Box<dyn Fn(&[u8], &[u8]) -> Vec<u8> + Send + Sync>;

#[derive(Default)]
struct HostState {
    authorization: String,
    /// The header of requests to its API.
    bearer: String,
    /// Whose tokens are accepted instead of both.
    app: Mutex<Option<app::App>>,
    /// With an App: what is seen of the processes of this test while they ask.
    seen_processes: Mutex<String>,
    /// What its API lists for an organisation, as GitHub does; `None` if it has no API.
    listing: Mutex<Option<Vec<Value>>>,
    /// What it lists after so many more pages.
    later: Mutex<Option<(usize, Vec<Value>)>>,
    /// Who may read each repository, by number and login.
    readers: Mutex<BTreeMap<String, Vec<(i64, String)>>>,
    /// What it answers instead of readers: a status, a `Link`, a body.
    instead_of_readers: Mutex<Option<(StatusCode, String, String)>>,
    /// With which status its API refuses to list, and for how many seconds.
    limit: Mutex<Option<(StatusCode, u32)>>,
    /// An answer instead of git's own: `503 Service Unavailable`, or a redirect.
    instead: Mutex<Option<(StatusCode, String)>>,
    /// What is made of git's own answers.
    tamper: Mutex<Option<Tamper>>,
    /// What was requested: method, path and query, and the headers.
    requests: Mutex<Vec<String>>,
}

impl GitHost {
    /// Starts a host on loopback whose repositories are read with `user:password`.
    pub async fn start(credential: &str) -> GitHost {
        let (folder, identity) = (tempfile::tempdir().unwrap(), tls::identity());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(HostState {
            authorization: format!("Basic {}", BASE64_STANDARD.encode(credential)),
            bearer: format!("Bearer {}", credential.split(':').next_back().unwrap()),
            ..HostState::default()
        });
        let acceptor = tls::acceptor(identity.path());
        let (root, shared) = (folder.path().to_owned(), Arc::clone(&state));
        let serving = tokio::spawn(async move {
            loop {
                let Ok((socket, _)) = listener.accept().await else {
                    continue;
                };
                let (acceptor, root) = (acceptor.clone(), root.clone());
                let state = Arc::clone(&shared);
                tokio::spawn(async move {
                    let Ok(stream) = tls::secured(socket, Some(acceptor)).await else {
                        return;
                    };
                    let answer = |request| answer(request, root.clone(), Arc::clone(&state));
                    let connection = hyper::server::conn::http1::Builder::new();
                    let served =
                        connection.serve_connection(TokioIo::new(stream), service_fn(answer));
                    // A git that was killed hangs up.
                    _ = served.await;
                });
            }
        });
        GitHost {
            folder,
            identity,
            address,
            state,
            serving,
        }
    }

    /// Makes a repository, and returns its work tree.
    pub fn add(&self, path: &str, repo: Repo) -> PathBuf {
        let work = self.folder.path().join(path);
        repo.build(&work);
        git(&work, &["config", "http.receivepack", "false"]);
        work
    }

    /// The work tree of a repository.
    pub fn folder(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// The URL of a repository.
    pub fn url(&self, path: &str) -> String {
        format!("https://localhost:{}/{path}/.git", self.address.port())
    }

    /// Its address, as the setting `url` of a connection.
    pub fn base(&self) -> String {
        format!("https://localhost:{}", self.address.port())
    }

    /// An entry of its API: a repository with this id at `path`, such as `acme/site`, last pushed to at the
    /// second `pushed`.
    pub fn entry(&self, id: u64, path: &str, pushed: u32) -> Value {
        json!({
            "id": id,
            "full_name": path,
            "clone_url": self.url(path),
            "default_branch": "main",
            "description": format!("about {path}"),
            "topics": ["web"],
            "archived": false,
            "fork": false,
            "private": true,
            "pushed_at": format!("2026-01-01T00:00:{pushed:02}Z"),
            "updated_at": format!("2026-01-01T00:00:{pushed:02}Z"),
            "owner": { "login": "acme" },
        })
    }

    /// What its API lists from now on.
    pub fn list(&self, entries: Vec<Value>) {
        *self.state.listing.lock() = Some(entries);
    }

    /// The certificate, for a client that trusts it.
    pub fn certificate(&self) -> PathBuf {
        tls::certificate(self.identity.path())
    }

    /// Answers every request so, with this `Location`; `None` for git's own answers again.
    pub fn answer_instead(&self, instead: Option<(StatusCode, &str)>) {
        *self.state.instead.lock() =
            instead.map(|(status, location)| (status, location.to_owned()));
    }

    /// From now on, answers what this makes of a request's body and git's answer to it.
    pub fn tamper(&self, tamper: impl Fn(&[u8], &[u8]) -> Vec<u8> + Send + Sync + 'static) {
        *self.state.tamper.lock() = Some(Box::new(tamper));
    }

    /// What was requested so far, a line for each request.
    pub fn requests(&self) -> Vec<String> {
        self.state.requests.lock().clone()
    }
}

impl Drop for GitHost {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl HostState {
    /// Whether a request may read: by its App's token, or as `expected`.
    fn admits(&self, expected: &str, authorization: &str) -> bool {
        match self.app.lock().as_mut() {
            Some(app) => app.admits(authorization),
            None => authorization == expected,
        }
    }
}

async fn answer(
    request: Request<Incoming>,
    root: PathBuf,
    state: Arc<HostState>,
) -> Result<Response<Full<Bytes>>, std::io::Error> {
    let header = |name: &str| {
        let value = request.headers().get(name);
        value
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
            .to_owned()
    };
    let seen = format!(
        "{} {} {:?}",
        request.method(),
        request.uri(),
        request.headers()
    );
    state.requests.lock().push(seen);
    let status = |status: StatusCode| Response::builder().status(status);
    if let Some((code, location)) = state.instead.lock().clone() {
        let answer = status(code).header("Location", location);
        return Ok(answer.body(Full::default()).unwrap());
    }
    if let Some(answer) = api::answer(&request, &state, &header("authorization")) {
        return Ok(answer);
    }
    if state.app.lock().is_some() {
        let seen = app::shown_of_descendants();
        state.seen_processes.lock().push_str(&seen);
    }
    if !state.admits(&state.authorization, &header("authorization")) {
        let challenge =
            status(StatusCode::UNAUTHORIZED).header("WWW-Authenticate", "Basic realm=\"git\"");
        return Ok(challenge.body(Full::default()).unwrap());
    }
    let mut backend = Command::new("git");
    backend
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", &root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("REQUEST_METHOD", request.method().as_str())
        .env("PATH_INFO", request.uri().path())
        .env("QUERY_STRING", request.uri().query().unwrap_or_default())
        .env("CONTENT_TYPE", header("content-type"))
        .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
        .env("GIT_PROTOCOL", header("git-protocol"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let body = request.into_body().collect().await;
    let body = body.map_err(std::io::Error::other)?.to_bytes();
    let mut child = backend
        .env("CONTENT_LENGTH", body.len().to_string())
        .spawn()?;
    let mut stdin = child.stdin.take().unwrap();
    let asked = body.clone();
    let feeding = async move { stdin.write_all(&body).await };
    let (_fed, output) = tokio::join!(feeding, child.wait_with_output());
    let tamper = state.tamper.lock();
    Ok(parse(&output?.stdout, |answer| match &*tamper {
        Some(tamper) => tamper(&asked, answer).into(),
        None => Bytes::copy_from_slice(answer),
    }))
}

/// An answer of a CGI program, with what is made of its body.
fn parse(output: &[u8], make: impl Fn(&[u8]) -> Bytes) -> Response<Full<Bytes>> {
    let end = output.windows(4).position(|four| four == b"\r\n\r\n");
    let (head, body) = output.split_at(end.expect("a head"));
    let mut answer = Response::builder();
    for line in String::from_utf8_lossy(head).lines() {
        let (name, value) = line.split_once(": ").expect("a header");
        answer = match name {
            "Status" => answer.status(value.split(' ').next().unwrap()),
            _ => answer.header(name, value),
        };
    }
    let body = make(body.get(4..).unwrap_or_default());
    answer.body(Full::new(body)).unwrap()
}

/// A folder with a file of credentials for [`archway_sync`].
pub fn credentials(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        write_private(&folder.path().join(name), text);
    }
    folder
}

fn write_private(file: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::write(file, text).unwrap();
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600)).unwrap();
}
