//! TLS to the workers, where an authority is configured: every worker that is no unix socket is
//! spoken to by it, and never in the clear.
//!
//! A worker's certificate is held against the host that `--worker` names, not against the address
//! that was found for it. The authorities' file is read again for every new connection, so that a
//! renewed one needs no restart; connections that stand are not asked twice.
//!
//! What a reader would get wrong: one connection at a time reads that file. What a slower one read
//! before would undo a renewal, and where the file system hangs each would cost a thread.

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

/// HTTP/2, as TLS names it (RFC 9113, 3.2).
const ALPN: &[u8] = b"h2";

/// Why a file of authorities is of no use.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// It can't be read.
    #[error("reading it")]
    Read(#[source] io::Error),
    /// It is no PEM. In fixed words: it may be a key by mistake.
    #[error("it is no PEM: {0}")]
    Pem(&'static str),
    /// There is none in it.
    #[error("it holds no certificate")]
    Empty,
    /// What is in it can't be used.
    #[error("a certificate in it can't be used")]
    Certificate(#[source] rustls::Error),
}

/// The authorities whose word about workers is taken.
pub(super) struct Authority {
    path: PathBuf,
    /// Held by who reads the file again.
    rereading: Mutex<()>,
    known: Mutex<Known>,
}

struct Known {
    pem: Vec<u8>,
    config: Arc<ClientConfig>,
    /// Whether the log has it that the file can't be read again.
    told: bool,
}

impl Authority {
    /// Reads the file.
    pub(super) fn read(path: &Path) -> Result<Self, AuthorityError> {
        let pem = std::fs::read(path).map_err(AuthorityError::Read)?;
        let config = config(&pem)?;
        let told = false;
        Ok(Authority {
            path: path.to_owned(),
            rereading: Mutex::default(),
            known: Mutex::new(Known { pem, config, told }),
        })
    }

    /// What the file says now; what it said before, if it can't be read any longer, or is being
    /// read.
    fn now(&self) -> Arc<ClientConfig> {
        if let Some(_alone) = self.rereading.try_lock() {
            self.reread();
        }
        Arc::clone(&self.known.lock().config)
    }

    fn reread(&self) {
        let read = std::fs::read(&self.path).map_err(AuthorityError::Read);
        let mut known = self.known.lock();
        let changed = read.and_then(|pem| match pem == known.pem {
            true => Ok(None),
            false => config(&pem).map(|config| Some((pem, config))),
        });
        match changed {
            Ok(None) => known.told = false,
            Ok(Some((pem, config))) => {
                let told = false;
                *known = Known { pem, config, told };
                tracing::info!("workers' authorities renewed");
            }
            Err(error) if !known.told => {
                known.told = true;
                tracing::warn!(error = %Chain(&error), "--worker-ca not reread: the old one is in force");
            }
            Err(_told) => {}
        }
    }
}

/// Why PEM can't be used. The library's own words hold what it could not read: all of a key, if
/// the file lost its line ends.
fn fault(error: &pem::Error) -> &'static str {
    match error {
        pem::Error::MissingSectionEnd { .. } => "a section has no END line",
        pem::Error::IllegalSectionStart { .. } => "a BEGIN line is broken",
        pem::Error::Base64Decode(_) => "what a section holds is not base64",
        _ => "it can't be read as such",
    }
}

fn config(pem: &[u8]) -> Result<Arc<ClientConfig>, AuthorityError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| AuthorityError::Pem(fault(&error)))?;
        let added = roots.add(certificate);
        added.map_err(AuthorityError::Certificate)?;
    }
    if roots.is_empty() {
        return Err(AuthorityError::Empty);
    }
    // Two cryptographies are linked in, so the one is named.
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])
        .map_err(AuthorityError::Certificate)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![ALPN.to_vec()];
    Ok(Arc::new(config))
}

/// A channel that connects by TLS alone, to a worker whose certificate is for `name`.
pub(super) fn channel(endpoint: &Endpoint, authority: &Arc<Authority>, name: &str) -> Channel {
    let way = Arc::new(Way {
        authority: Arc::clone(authority),
        name: name.to_owned(),
        told: Mutex::default(),
    });
    endpoint.connect_with_connector_lazy(service_fn(move |worker: Uri| {
        let way = Arc::clone(&way);
        async move { way.open(&worker).await.map(TokioIo::new) }
    }))
}

/// How connections to one worker are made.
struct Way {
    authority: Arc<Authority>,
    name: String,
    /// Why the last handshake failed, if it did: a reason is logged once.
    told: Mutex<Option<String>>,
}

impl Way {
    async fn open(self: &Arc<Self>, worker: &Uri) -> io::Result<TlsStream<TcpStream>> {
        let host = worker.host().unwrap_or_default();
        let port = worker.port_u16().unwrap_or(HTTP_PORT);
        let socket = TcpStream::connect(format!("{host}:{port}")).await?;
        socket.set_nodelay(true)?;
        let opened = self.shake_hands(socket).await;
        let reason = opened.as_ref().err().map(|error| Chain(error).to_string());
        let mut told = self.told.lock();
        if let Some(reason) = reason.as_ref().filter(|it| told.as_ref() != Some(*it)) {
            let (worker, name) = (worker.authority().map(ToString::to_string), &self.name);
            tracing::warn!(
                worker,
                name,
                error = reason,
                "worker not believed: TLS failed"
            );
        }
        *told = reason;
        opened
    }

    async fn shake_hands(self: &Arc<Self>, socket: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let name = ServerName::try_from(self.name.clone())
            .map_err(|_bad| io::Error::other("a certificate can't be for this name"))?;
        let way = Arc::clone(self);
        let reading = tokio::task::spawn_blocking(move || way.authority.now());
        let connector = TlsConnector::from(reading.await?);
        let stream = connector.connect(name, socket).await?;
        match stream.get_ref().1.alpn_protocol() {
            Some(ALPN) => Ok(stream),
            _ => Err(io::Error::other("it does not speak HTTP/2 by TLS")),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::{process::Command, sync::mpsc, time::Duration};

    use super::*;

    /// A new authority's certificate and key, both in PEM.
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

    /// An authority that is made in this folder.
    pub(in crate::upstream) fn believed(folder: &Path) -> Arc<Authority> {
        issue(folder);
        Arc::new(Authority::read(&folder.join("ca.pem")).unwrap())
    }

    #[test]
    fn whoever_comes_while_the_file_hangs_takes_what_is_known_and_the_one_read_counts() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (issue(folder.path()).0, issue(folder.path()).0);
        let path = folder.path().join("authority.pem");
        std::fs::write(&path, &first).unwrap();
        let authority = Arc::new(Authority::read(&path).unwrap());
        // A pipe is a file that hangs until somebody writes to it.
        std::fs::remove_file(&path).unwrap();
        let made = Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        let asking = || {
            let (authority, (send, answer)) = (Arc::clone(&authority), mpsc::channel());
            std::thread::spawn(move || send.send(authority.now()));
            answer
        };
        let patience = Duration::from_secs(20);

        let reader = asking();
        // It opens once the reader has.
        let mut pipe = std::fs::File::options().write(true).open(&path).unwrap();
        let old = asking().recv_timeout(patience).expect("nobody waits");
        assert!(Arc::ptr_eq(&old, &authority.known.lock().config));
        assert!(matches!(reader.try_recv(), Err(mpsc::TryRecvError::Empty)));

        io::Write::write_all(&mut pipe, second.as_bytes()).unwrap();
        drop(pipe);
        let new = reader.recv_timeout(patience).unwrap();
        assert!(!Arc::ptr_eq(&old, &new));
        assert_eq!(authority.known.lock().pem, second.as_bytes());
    }

    #[test]
    fn no_error_holds_what_is_in_the_file() {
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
            (not_base64, "is not base64"),
        ] {
            let error = config(pem.as_bytes()).unwrap_err();
            let said = format!("{} {error:?}", Chain(&error));
            assert!(said.contains(why), "{why} in {said}");
            assert!(!said.contains(secret) && !said.contains(decimals), "{said}");
        }
    }
}
