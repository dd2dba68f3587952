//! TLS for the services that tests run: under a certificate for `localhost` that nobody else believes.

use std::{
    io,
    path::{Path, PathBuf},
    pin::Pin,
    sync::Arc,
};

use tempfile::TempDir;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    process::Command,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    },
};

/// Either.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send {}
impl<T: AsyncRead + AsyncWrite + Send> Stream for T {}

/// A connection as it came, or with TLS. Who doesn't believe the certificate hangs up.
pub(crate) async fn secured(
    socket: TcpStream,
    tls: Option<TlsAcceptor>,
) -> io::Result<Pin<Box<dyn Stream>>> {
    Ok(match tls {
        Some(tls) => Box::pin(tls.accept(socket).await?),
        None => Box::pin(socket),
    })
}

/// The certificate in such a folder.
pub(crate) fn certificate(folder: &Path) -> PathBuf {
    folder.join("certificate.pem")
}

/// A folder with a certificate for `localhost` and its key, as openssl makes them.
pub(crate) async fn identity() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-x509", "-nodes", "-days", "2"]);
    openssl.args(["-subj", "/CN=localhost"]);
    openssl.args(["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]);
    openssl.args(["-addext", "subjectAltName=DNS:localhost"]);
    openssl.args(["-addext", "basicConstraints=critical,CA:FALSE"]);
    openssl.arg("-keyout").arg(folder.path().join("key.pem"));
    openssl.arg("-out").arg(certificate(folder.path()));
    let made = openssl.output().await.expect("openssl is installed");
    assert!(made.status.success(), "{made:?}");
    folder
}

/// Speaks TLS under such a folder's certificate.
pub(crate) fn acceptor(folder: &Path) -> TlsAcceptor {
    let key = PrivateKeyDer::from_pem_file(folder.join("key.pem")).unwrap();
    let chain = vec![CertificateDer::from_pem_file(certificate(folder)).unwrap()];
    let config = ServerConfig::builder().with_no_client_auth();
    TlsAcceptor::from(Arc::new(config.with_single_cert(chain, key).unwrap()))
}
