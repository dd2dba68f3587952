//! TLS to workers, where a certificate authority is configured: every worker that is not a unix
//! socket is reached over TLS only.
//!
//! A worker's certificate is checked against the host in `--worker`, not against the resolved
//! address. The authority file is read again for every new connection, so that a renewed file needs
//! no restart; established connections are not checked again.
//!
//! What a reader would get wrong: only one connection at a time reads the file. Otherwise a slow
//! reader's older contents could undo a renewal, and a hanging file system would cost a thread per
//! connection.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use archway_proto::chain::Chain;
use http::Uri;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::net::TcpStream;
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{
        self, ClientConfig, RootCertStore,
        crypto::aws_lc_rs,
        pki_types::{CertificateDer, ServerName, pem, pem::PemObject},
        version::TLS13,
    },
};
use tonic::transport::{Channel, Endpoint};
use tower::service_fn;

use super::config::HTTP_PORT;

/// HTTP/2's name in TLS (RFC 9113, 3.2).
const ALPN: &[u8] = b"h2";

/// Why a file of certificate authorities is unusable.
#[derive(Debug, thiserror::Error)]
pub enum WorkerCaError {
    /// The file cannot be read.
    #[error("reading it")]
    Read(#[source] io::Error),
    /// The file is not PEM. Fixed texts only: it may be a key by mistake.
    #[error("not valid PEM: {0}")]
    Pem(&'static str),
    /// The file holds no certificate.
    #[error("it holds no certificate")]
    Empty,
    /// A certificate in the file is unusable.
    #[error("a certificate in it can't be used")]
    Certificate(#[source] rustls::Error),
}

/// The certificate authorities that workers' certificates must come from.
pub(super) struct WorkerCa {
    path: PathBuf,
    /// Held by the one connection that reads the file again.
    reload_lock: Mutex<()>,
    loaded: Mutex<LoadedCa>,
}

struct LoadedCa {
    pem: Vec<u8>,
    config: Arc<ClientConfig>,
    /// Whether it is logged that the file cannot be read again.
    logged: bool,
}

impl WorkerCa {
    /// Reads the file.
    pub(super) fn read(path: &Path) -> Result<Self, WorkerCaError> {
        let pem = std::fs::read(path).map_err(WorkerCaError::Read)?;
        let config = config(&pem)?;
        let logged = false;
        Ok(WorkerCa {
            path: path.to_owned(),
            reload_lock: Mutex::default(),
            loaded: Mutex::new(LoadedCa {
                pem,
                config,
                logged,
            }),
        })
    }

    /// The configuration from the file as it is now. The last one if the file cannot be read, or
    /// another connection is reading it.
    fn current(&self) -> Arc<ClientConfig> {
        if let Some(_alone) = self.reload_lock.try_lock() {
            self.reload();
        }
        Arc::clone(&self.loaded.lock().config)
    }

    fn reload(&self) {
        let read = std::fs::read(&self.path).map_err(WorkerCaError::Read);
        let mut loaded = self.loaded.lock();
        let changed = read.and_then(|pem| match pem == loaded.pem {
            true => Ok(None),
            false => config(&pem).map(|config| Some((pem, config))),
        });
        match changed {
            Ok(None) => loaded.logged = false,
            Ok(Some((pem, config))) => {
                let logged = false;
                *loaded = LoadedCa {
                    pem,
                    config,
                    logged,
                };
                tracing::info!("workers' certificate authorities reloaded");
            }
            Err(error) if !loaded.logged => {
                loaded.logged = true;
                tracing::warn!(error = %Chain(&error), "--worker-ca could not be read again: the last one stays in use");
            }
            Err(_logged) => {}
        }
    }
}

/// Why PEM is invalid. The library's own text contains the input that it could not parse, which is
/// a whole key if the file lost its line ends.
fn pem_problem(error: &pem::Error) -> &'static str {
    match error {
        pem::Error::MissingSectionEnd { .. } => "a section has no END line",
        pem::Error::IllegalSectionStart { .. } => "a BEGIN line is broken",
        pem::Error::Base64Decode(_) => "the contents of a section are not base64",
        _ => "it cannot be parsed",
    }
}

fn config(pem: &[u8]) -> Result<Arc<ClientConfig>, WorkerCaError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| WorkerCaError::Pem(pem_problem(&error)))?;
        let added = roots.add(certificate);
        added.map_err(WorkerCaError::Certificate)?;
    }
    if roots.is_empty() {
        return Err(WorkerCaError::Empty);
    }
    // Two crypto providers are linked in, so one is chosen explicitly.
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])
        .map_err(WorkerCaError::Certificate)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![ALPN.to_vec()];
    Ok(Arc::new(config))
}

/// A channel that connects over TLS only, to a worker whose certificate is for `name`.
pub(super) fn channel(endpoint: &Endpoint, authority: &Arc<WorkerCa>, name: &str) -> Channel {
    let target = Arc::new(TlsTarget {
        authority: Arc::clone(authority),
        name: name.to_owned(),
        logged: Mutex::default(),
    });
    endpoint.connect_with_connector_lazy(service_fn(move |worker: Uri| {
        let target = Arc::clone(&target);
        async move { target.connect(&worker).await.map(TokioIo::new) }
    }))
}

/// How connections to one worker are made.
struct TlsTarget {
    authority: Arc<WorkerCa>,
    name: String,
    /// Why the last handshake failed, if it did, so that each reason is logged once.
    logged: Mutex<Option<String>>,
}

impl TlsTarget {
    async fn connect(self: &Arc<Self>, worker: &Uri) -> io::Result<TlsStream<TcpStream>> {
        let host = worker.host().unwrap_or_default();
        let port = worker.port_u16().unwrap_or(HTTP_PORT);
        let socket = TcpStream::connect(format!("{host}:{port}")).await?;
        socket.set_nodelay(true)?;
        let opened = self.handshake(socket).await;
        let reason = opened.as_ref().err().map(|error| Chain(error).to_string());
        let mut logged = self.logged.lock();
        if let Some(reason) = reason.as_ref().filter(|it| logged.as_ref() != Some(*it)) {
            let (worker, name) = (worker.authority().map(ToString::to_string), &self.name);
            tracing::warn!(
                worker,
                name,
                error = reason,
                "worker not trusted: TLS handshake failed"
            );
        }
        *logged = reason;
        opened
    }

    async fn handshake(self: &Arc<Self>, socket: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let name = ServerName::try_from(self.name.clone())
            .map_err(|_bad| io::Error::other("no certificate can be for this name"))?;
        let target = Arc::clone(self);
        let reading = tokio::task::spawn_blocking(move || target.authority.current());
        let connector = TlsConnector::from(reading.await?);
        let stream = connector.connect(name, socket).await?;
        match stream.get_ref().1.alpn_protocol() {
            Some(ALPN) => Ok(stream),
            _ => Err(io::Error::other("it does not offer HTTP/2 over TLS")),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::{process::Command, sync::mpsc, time::Duration};

    use super::*;

    /// A new authority's certificate and key, both PEM.
    fn issue(folder: &Path) -> (String, String) {
        let [certificate, key] = ["ca.pem", "ca.key"].map(|name| folder.join(name));
        let mut openssl = Command::new("openssl");
        openssl.args(["req", "-x509", "-nodes", "-days", "2", "-newkey", "ec"]);
        openssl.args(["-pkeyopt", "ec_paramgen_curve:P-256", "-subj", "/CN=ours"]);
        openssl
            .arg("-keyout")
            .arg(&key)
            .arg("-out")
            .arg(&certificate);
        let made = openssl.output().unwrap();
        assert!(made.status.success(), "{made:?}");
        let read = |path| std::fs::read_to_string(path).unwrap();
        (read(certificate), read(key))
    }

    /// An authority created in this folder.
    pub(in crate::upstream) fn authority_in(folder: &Path) -> Arc<WorkerCa> {
        issue(folder);
        Arc::new(WorkerCa::read(&folder.join("ca.pem")).unwrap())
    }

    #[test]
    fn a_hanging_file_blocks_one_connection_and_others_use_the_last_one() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (issue(folder.path()).0, issue(folder.path()).0);
        let path = folder.path().join("authority.pem");
        std::fs::write(&path, &first).unwrap();
        let authority = Arc::new(WorkerCa::read(&path).unwrap());
        // A pipe blocks its reader until something is written.
        std::fs::remove_file(&path).unwrap();
        let made = Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        let asking = || {
            let (authority, (send, answer)) = (Arc::clone(&authority), mpsc::channel());
            std::thread::spawn(move || send.send(authority.current()));
            answer
        };
        let patience = Duration::from_secs(20);

        let reader = asking();
        // Opening the pipe succeeds once the reader has opened it.
        let mut pipe = std::fs::File::options().write(true).open(&path).unwrap();
        let old = asking().recv_timeout(patience).expect("it does not wait");
        assert!(Arc::ptr_eq(&old, &authority.loaded.lock().config));
        assert!(matches!(reader.try_recv(), Err(mpsc::TryRecvError::Empty)));

        io::Write::write_all(&mut pipe, second.as_bytes()).unwrap();
        drop(pipe);
        let new = reader.recv_timeout(patience).unwrap();
        assert!(!Arc::ptr_eq(&old, &new));
        assert_eq!(authority.loaded.lock().pem, second.as_bytes());
    }

    #[test]
    fn no_error_contains_the_file_contents() {
        let folder = tempfile::tempdir().unwrap();
        let (_, key) = issue(folder.path());
        let flat = key.replace('\n', "");
        let headless = key.replace("KEY-----\n", "KEY\n");
        let not_base64 = key.replacen("\n", "\n!", 1);
        let secret = key.lines().nth(1).unwrap();
        let decimals = format!("{:?}", secret.as_bytes());
        let decimals = decimals.trim_matches(['[', ']']);
        for (pem, why) in [
            (flat, "a section has no END line"),
            (headless, "a BEGIN line is broken"),
            (not_base64, "are not base64"),
        ] {
            let error = config(pem.as_bytes()).unwrap_err();
            let said = format!("{} {error:?}", Chain(&error));
            assert!(said.contains(why), "{why} in {said}");
            assert!(!said.contains(secret) && !said.contains(decimals), "{said}");
        }
    }
}
