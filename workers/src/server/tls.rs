//! TLS towards gateways, where it was asked for: whoever connects in the clear is hung up on.
//!
//! What a reader would get wrong: certificate and key lie outside the mounts, so a confined worker
//! can't read them again. Like Postgres' passwords they are read at the start; a thread that runs
//! before the confinement, and does nothing else, rereads them, so that a renewed certificate
//! needs no restart. It takes nothing from a caller.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Weak},
    time::Duration,
};

use archway_proto::chain::Chain;
use parking_lot::RwLock;
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        self, ServerConfig,
        crypto::{CryptoProvider, aws_lc_rs},
        pki_types::{CertificateDer, PrivateKeyDer, pem, pem::PemObject},
        server::{ClientHello, ResolvesServerCert},
        sign::CertifiedKey,
        version::TLS13,
    },
};

pub(super) use io::Secured;

mod io;

/// How long a certificate that was renewed may lie unread.
const REREAD: Duration = Duration::from_secs(60);
/// HTTP/2, as TLS names it (RFC 9113, 3.2).
const ALPN: &[u8] = b"h2";

/// Whether gateways are spoken to by TLS.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct TlsConfig {
    /// Speak TLS to gateways, under the certificate in this file: PEM, with those that lead to its
    /// authority after it. Read again every minute. Without it gRPC goes in the clear.
    #[arg(
        long,
        env = "ARCHWAY_TLS_CERT_FILE",
        value_name = "FILE",
        requires = "tls_key"
    )]
    pub tls_cert: Option<PathBuf>,
    /// File with the private key of --tls-cert, PEM.
    #[arg(
        long,
        env = "ARCHWAY_TLS_KEY_FILE",
        value_name = "FILE",
        requires = "tls_cert"
    )]
    pub tls_key: Option<PathBuf>,
}

/// Why certificate and key are of no use. Never carries them.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file can't be read.
    #[error("{option} {} can't be read", path.display())]
    File {
        /// Which.
        option: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A file is no PEM of its kind.
    #[error("{option} {} is no PEM that can be used: {reason}", path.display())]
    Pem {
        /// Which.
        option: &'static str,
        /// The file.
        path: PathBuf,
        /// Why, in fixed words.
        reason: &'static str,
    },
    /// There is none in the file.
    #[error("--tls-cert (ARCHWAY_TLS_CERT_FILE) {} holds no certificate in PEM", .0.display())]
    Empty(PathBuf),
    /// The key is none, or another certificate's.
    #[error("--tls-key (ARCHWAY_TLS_KEY_FILE) is not the key of --tls-cert")]
    Pair(#[source] rustls::Error),
    /// This build's cryptography does not do.
    #[error("setting up TLS")]
    Setup(#[source] rustls::Error),
    /// No thread to reread the files.
    #[error("starting the thread that rereads the certificate")]
    Thread(#[source] std::io::Error),
}

/// A certificate and its key, ready to be served under.
#[derive(Clone)]
pub struct Tls {
    acceptor: TlsAcceptor,
    /// Held here and by the acceptor alone: the thread that rereads ends with them.
    _current: Arc<Current>,
}

impl TlsConfig {
    /// Reads the files, if there are any, and has them reread. Call it before the process is
    /// confined.
    ///
    /// # Errors
    /// If they can't be read, or don't belong together.
    pub fn read(&self) -> Result<Option<Tls>, TlsError> {
        let (Some(cert), Some(key)) = (&self.tls_cert, &self.tls_key) else {
            return Ok(None);
        };
        let current = Arc::new(Current::read(cert, key)?);
        let rereading = Arc::downgrade(&current);
        std::thread::Builder::new()
            .name("archway-tls".to_owned())
            .spawn(move || reread(&rereading))
            .map_err(TlsError::Thread)?;
        Tls::of(current).map(Some)
    }
}

impl Tls {
    fn of(current: Arc<Current>) -> Result<Tls, TlsError> {
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])
            .map_err(TlsError::Setup)?
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(&current) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = vec![ALPN.to_vec()];
        Ok(Tls {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            _current: current,
        })
    }
}

/// Two are linked in, so the one is named.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

/// The certificate that is served now.
#[derive(Debug)]
struct Current {
    cert: PathBuf,
    key: PathBuf,
    pair: RwLock<Arc<CertifiedKey>>,
}

impl Current {
    fn read(cert: &Path, key: &Path) -> Result<Current, TlsError> {
        Ok(Current {
            cert: cert.to_owned(),
            key: key.to_owned(),
            pair: RwLock::new(pair(cert, key)?),
        })
    }

    /// Takes what the files hold now. Whether that is another certificate.
    fn renew(&self) -> Result<bool, TlsError> {
        let pair = pair(&self.cert, &self.key)?;
        let is_new = pair.cert != self.pair.read().cert;
        *self.pair.write() = pair;
        Ok(is_new)
    }
}

impl ResolvesServerCert for Current {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.pair.read()))
    }
}

fn pair(cert: &Path, key: &Path) -> Result<Arc<CertifiedKey>, TlsError> {
    let failed = |option, path: &Path| {
        let path = path.to_owned();
        move |error| fault(option, path, error)
    };
    let chain: Vec<_> = CertificateDer::pem_file_iter(cert)
        .and_then(Iterator::collect)
        .map_err(failed("--tls-cert (ARCHWAY_TLS_CERT_FILE)", cert))?;
    if chain.is_empty() {
        return Err(TlsError::Empty(cert.to_owned()));
    }
    let key = PrivateKeyDer::from_pem_file(key)
        .map_err(failed("--tls-key (ARCHWAY_TLS_KEY_FILE)", key))?;
    let pair = CertifiedKey::from_der(chain, key, &provider()).map_err(TlsError::Pair)?;
    Ok(Arc::new(pair))
}

/// Why a file can't be used. The library's own words hold what it could not read: all of a key, if
/// the file lost its line ends.
fn fault(option: &'static str, path: PathBuf, error: pem::Error) -> TlsError {
    let reason = match error {
        pem::Error::Io(source) => {
            return TlsError::File {
                option,
                path,
                source,
            };
        }
        pem::Error::MissingSectionEnd { .. } => "a section has no END line",
        pem::Error::IllegalSectionStart { .. } => "a BEGIN line is broken",
        pem::Error::Base64Decode(_) => "what a section holds is not base64",
        // Asked for by the key alone.
        pem::Error::NoItemsFound => "it holds no private key",
        _ => "it can't be read as such",
    };
    TlsError::Pem {
        option,
        path,
        reason,
    }
}

/// Rereads the files as long as somebody serves under them. In between the old pair does.
fn reread(current: &Weak<Current>) {
    let mut told = false;
    loop {
        std::thread::sleep(REREAD);
        let Some(current) = current.upgrade() else {
            return;
        };
        match current.renew() {
            Ok(is_new) => {
                told = false;
                if is_new {
                    tracing::info!("certificate renewed");
                }
            }
            // A renewal that is half written is over by the next look.
            Err(error) if !told => {
                told = true;
                tracing::warn!(error = %Chain(&error), "certificate not reread: the old one is served");
            }
            Err(_told) => {}
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::process::Command;

    use super::*;

    fn issue(folder: &Path) -> (PathBuf, PathBuf) {
        let (cert, key) = (folder.join("tls.crt"), folder.join("tls.key"));
        let mut openssl = Command::new("openssl");
        openssl.args([
            "req",
            "-x509",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=worker",
        ]);
        openssl.args(["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]);
        openssl.arg("-keyout").arg(&key).arg("-out").arg(&cert);
        let made = openssl.output().unwrap();
        assert!(made.status.success(), "{made:?}");
        (cert, key)
    }

    /// TLS under a certificate that is made in this folder.
    pub(in crate::server) fn secure(folder: &Path) -> Tls {
        let (cert, key) = issue(folder);
        Tls::of(Arc::new(Current::read(&cert, &key).unwrap())).unwrap()
    }

    #[test]
    fn a_renewed_certificate_is_served_and_a_broken_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let (cert, key) = issue(folder.path());
        let current = Current::read(&cert, &key).unwrap();
        let served = || current.pair.read().cert.clone();
        let first = served();
        assert!(!current.renew().unwrap(), "nothing has changed");
        issue(folder.path());
        assert!(current.renew().unwrap());
        let second = served();
        assert_ne!(first, second);

        // Half of a renewal: the certificate of another key.
        let elsewhere = tempfile::tempdir().unwrap();
        std::fs::copy(issue(elsewhere.path()).0, &cert).unwrap();
        assert!(matches!(current.renew(), Err(TlsError::Pair(_))));
        assert_eq!(served(), second);
    }

    #[test]
    fn no_error_holds_what_is_in_the_key() {
        let folder = tempfile::tempdir().unwrap();
        let (cert, key) = issue(folder.path());
        let text = std::fs::read_to_string(&key).unwrap();
        let secret = text.lines().nth(1).unwrap();
        let decimals = format!("{:?}", secret.as_bytes());
        let decimals = decimals.trim_matches(['[', ']']);
        for (broken, why) in [
            (text.replace('\n', ""), "a section has no END line"),
            (
                text.replace("KEY-----\n", "KEY\n"),
                "a BEGIN line is broken",
            ),
            (text.replacen('\n', "\n!", 1), "is not base64"),
            (String::new(), "holds no private key"),
        ] {
            std::fs::write(&key, broken).unwrap();
            let error = pair(&cert, &key).unwrap_err();
            let said = format!("{} {error:?}", Chain(&error));
            assert!(said.contains(why), "{why} in {said}");
            assert!(!said.contains(secret) && !said.contains(decimals), "{said}");
        }
    }
}
