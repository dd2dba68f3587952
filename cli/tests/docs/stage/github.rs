//! A double of GitHub on loopback, by TLS: an organisation's listing, and its repositories by git's own
//! `http-backend`.
//!
//! Both need the token: the API as `Bearer`, git as a password.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use parking_lot::Mutex;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

use super::repository;
use crate::git_http::{Request, git_answer};
use crate::self_signed::SelfSigned;

const ORGANISATION: &str = "acme";

/// Serves until the test process ends.
pub(super) struct Github {
    port: u16,
    certificate: PathBuf,
    shared: Arc<Shared>,
}

struct Shared {
    /// Its repositories are below it, at `acme/<name>`.
    folder: PathBuf,
    token: &'static str,
    listing: Mutex<Vec<Value>>,
}

impl Github {
    pub(super) fn start(folder: &Path, token: &'static str) -> Github {
        std::fs::create_dir_all(folder.join(ORGANISATION)).unwrap();
        let identity = SelfSigned::make(folder);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let config = tls(&identity);
        let shared = Arc::new(Shared {
            folder: folder.to_owned(),
            token,
            listing: Mutex::default(),
        });
        let serving = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (config, shared) = (Arc::clone(&config), Arc::clone(&serving));
                std::thread::spawn(move || answer(stream, config, &shared));
            }
        });
        Github {
            port,
            certificate: identity.certificate,
            shared,
        }
    }

    /// Makes a repository of the organisation, and lists it.
    pub(super) fn add(&self, name: &str) {
        let path = format!("{ORGANISATION}/{name}");
        repository(&self.shared.folder.join(&path));
        let mut listing = self.shared.listing.lock();
        let id = listing.len() + 1;
        listing.push(json!({
            "id": id,
            "full_name": path,
            "clone_url": format!("https://{}/{path}/.git", self.host()),
            "default_branch": "main",
            "description": format!("The {name} of Acme"),
            "topics": ["shop"],
            "archived": false,
            "fork": false,
            "private": true,
            "pushed_at": "2026-01-01T00:00:00Z",
            "owner": { "login": ORGANISATION },
        }));
    }

    /// What pages write of a connection, and what that is here: an Enterprise server whose certificate no system
    /// trusts.
    pub(super) fn names(&self) -> Vec<(String, String)> {
        let (host, certificate) = (self.host(), self.certificate.display());
        let in_file = format!(
            "github: {{org: {ORGANISATION}, url: \"https://{host}\"}}\n        ca_file: {certificate}"
        );
        let option = format!("--github {ORGANISATION}");
        let options = format!("{option} --url https://{host} --ca-file {certificate}");
        vec![
            (format!("github: {{org: {ORGANISATION}}}"), in_file),
            (option, options),
            ("github.com".to_owned(), host),
        ]
    }

    fn host(&self) -> String {
        format!("localhost:{}", self.port)
    }
}

fn tls(identity: &SelfSigned) -> Arc<ServerConfig> {
    let key = PrivateKeyDer::from_pem_file(&identity.key).unwrap();
    let chain = vec![CertificateDer::from_pem_file(&identity.certificate).unwrap()];
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth();
    Arc::new(config.with_single_cert(chain, key).unwrap())
}

/// Answers one request. A client that does not trust the certificate hangs up.
fn answer(socket: TcpStream, config: Arc<ServerConfig>, shared: &Shared) {
    let connection = ServerConnection::new(config).unwrap();
    let mut stream = StreamOwned::new(connection, socket);
    let Some(request) = Request::read(&mut stream) else {
        return;
    };
    let password = BASE64_STANDARD.encode(format!("x-access-token:{}", shared.token));
    let answer = match listed(&request, shared) {
        Some(answer) => answer.into_bytes(),
        None => git_answer(&request, &shared.folder, Some(&password)),
    };
    stream.write_all(&answer).ok();
    stream.conn.send_close_notify();
    stream.flush().ok();
}

/// The answer of the API; `None` for another request.
fn listed(request: &Request, shared: &Shared) -> Option<String> {
    let path = request.line.split(' ').nth(1)?.strip_prefix("/api/v3/")?;
    let is_listing = path.starts_with(&format!("orgs/{ORGANISATION}/repos?"));
    let is_known = request.header("authorization") == format!("Bearer {}", shared.token);
    let (status, body) = match (is_known, is_listing) {
        (false, _) => (
            "401 Unauthorized",
            r#"{"message":"Bad credentials"}"#.to_owned(),
        ),
        (true, false) => ("404 Not Found", r#"{"message":"Not Found"}"#.to_owned()),
        (true, true) => ("200 OK", json!(*shared.listing.lock()).to_string()),
    };
    let length = body.len();
    Some(format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    ))
}
