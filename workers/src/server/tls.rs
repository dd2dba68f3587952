//! TLS towards gateways, if configured. A connection in plain text is then closed.
//!
//! What a reader would get wrong: certificate and key are outside the mounts, so a confined worker
//! can't read them again. Like Postgres' passwords they are read at the start. A thread that starts
//! before confinement rereads them, so that a renewed certificate needs no restart. That thread
//! does nothing else and takes no input from callers.

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

pub(super) use io::TlsListener;

mod io;

/// How often the certificate is reread.
const REREAD: Duration = Duration::from_secs(60);
/// HTTP/2 in TLS's protocol negotiation (RFC 9113, 3.2).
const ALPN: &[u8] = b"h2";

/// The TLS options towards gateways.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct TlsConfig {
    /// Speak TLS to gateways with the certificate in this PEM file, followed by its intermediates.
    /// Reread every minute. Without it gRPC is in plain text.
    #[arg(
        long,
        env = "ARCHWAY_TLS_CERT_FILE",
        value_name = "FILE",
        requires = "tls_key"
    )]
    pub tls_cert: Option<PathBuf>,
    /// PEM file with the private key of --tls-cert.
    #[arg(
        long,
        env = "ARCHWAY_TLS_KEY_FILE",
        value_name = "FILE",
        requires = "tls_cert"
    )]
    pub tls_key: Option<PathBuf>,
}

/// Why certificate and key can't be used. Never contains them.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file can't be read.
    #[error("{option} {} can't be read", path.display())]
    File {
        /// The option that names the file.
        option: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: std::io::Error,
    },
    /// A file is not valid PEM.
    #[error("{option} {} is not usable PEM: {reason}", path.display())]
    Pem {
        /// The option that names the file.
        option: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason, one of a fixed set of texts.
        reason: &'static str,
    },
    /// The file contains no certificate.
    #[error("--tls-cert (ARCHWAY_TLS_CERT_FILE) {} holds no certificate in PEM", .0.display())]
    Empty(PathBuf),
    /// The key is invalid, or belongs to another certificate.
    #[error("--tls-key (ARCHWAY_TLS_KEY_FILE) is not the key of --tls-cert")]
    Pair(#[source] rustls::Error),
    /// The TLS library rejects the protocol configuration.
    #[error("setting up TLS")]
    Setup(#[source] rustls::Error),
    /// The thread that rereads the files could not be started.
    #[error("starting the thread that rereads the certificate")]
    Thread(#[source] std::io::Error),
}

/// A certificate and its key, ready to serve.
#[derive(Clone)]
pub struct Tls {
    acceptor: TlsAcceptor,
    /// Held only here and by the acceptor, so that the rereading thread ends with them.
    _current: Arc<ServedCertificate>,
}

impl TlsConfig {
    /// Reads the files, if configured, and starts the thread that rereads them. Call it before the
    /// process is confined.
    ///
    /// # Errors
    /// If they can't be read, or don't match.
    pub fn read(&self) -> Result<Option<Tls>, TlsError> {
        let (Some(cert), Some(key)) = (&self.tls_cert, &self.tls_key) else {
            return Ok(None);
        };
        let current = Arc::new(ServedCertificate::read(cert, key)?);
        let rereading = Arc::downgrade(&current);
        std::thread::Builder::new()
            .name("archway-tls".to_owned())
            .spawn(move || reread(&rereading))
            .map_err(TlsError::Thread)?;
        Tls::of(current).map(Some)
    }
}

impl Tls {
    fn of(current: Arc<ServedCertificate>) -> Result<Tls, TlsError> {
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

/// Two crypto providers are linked in, so this names one.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

/// The certificate that is served now.
#[derive(Debug)]
struct ServedCertificate {
    cert: PathBuf,
    key: PathBuf,
    pair: RwLock<Arc<CertifiedKey>>,
}

impl ServedCertificate {
    fn read(cert: &Path, key: &Path) -> Result<ServedCertificate, TlsError> {
        Ok(ServedCertificate {
            cert: cert.to_owned(),
            key: key.to_owned(),
            pair: RwLock::new(pair(cert, key)?),
        })
    }

    /// Rereads the files. Returns whether the certificate changed.
    fn renew(&self) -> Result<bool, TlsError> {
        let pair = pair(&self.cert, &self.key)?;
        let is_new = pair.cert != self.pair.read().cert;
        *self.pair.write() = pair;
        Ok(is_new)
    }
}

impl ResolvesServerCert for ServedCertificate {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.pair.read()))
    }
}

fn pair(cert: &Path, key: &Path) -> Result<Arc<CertifiedKey>, TlsError> {
    let failed = |option, path: &Path| {
        let path = path.to_owned();
        move |error| pem_error(option, path, error)
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

/// Why a file can't be used. The library's own message is dropped because it quotes what it could
/// not parse: the whole key, if the file lost its line ends.
fn pem_error(option: &'static str, path: PathBuf, error: pem::Error) -> TlsError {
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
        pem::Error::Base64Decode(_) => "the content of a section is not base64",
        // Only reading the key returns this error.
        pem::Error::NoItemsFound => "it holds no private key",
        _ => "it can't be parsed",
    };
    TlsError::Pem {
        option,
        path,
        reason,
    }
}

/// Rereads the files for as long as the certificate is served. On failure the old pair stays in
/// use.
fn reread(current: &Weak<ServedCertificate>) {
    let mut logged = false;
    loop {
        std::thread::sleep(REREAD);
        let Some(current) = current.upgrade() else {
            return;
        };
        match current.renew() {
            Ok(is_new) => {
                logged = false;
                if is_new {
                    tracing::info!("certificate renewed");
                }
            }
            // A half-written renewal is complete by the next attempt.
            Err(error) if !logged => {
                logged = true;
                tracing::warn!(error = %Chain(&error), "certificate not reread: the old one stays in use");
            }
            Err(_logged) => {}
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
        let created = openssl.output().unwrap();
        assert!(created.status.success(), "{created:?}");
        (cert, key)
    }

    /// TLS with a certificate that is created in `folder`.
    pub(in crate::server) fn secure(folder: &Path) -> Tls {
        let (cert, key) = issue(folder);
        Tls::of(Arc::new(ServedCertificate::read(&cert, &key).unwrap())).unwrap()
    }

    #[test]
    fn a_renewed_certificate_is_served_and_a_broken_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let (cert, key) = issue(folder.path());
        let current = ServedCertificate::read(&cert, &key).unwrap();
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
    fn no_error_contains_a_part_of_the_key() {
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
            let text = format!("{} {error:?}", Chain(&error));
            assert!(text.contains(why), "{why} in {text}");
            assert!(!text.contains(secret) && !text.contains(decimals), "{text}");
        }
    }
}
