//! TLS for the services that tests run, under a self-signed certificate for `localhost`.

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
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    },
};

use crate::self_signed::SelfSigned;

/// A connection with or without TLS.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send {}
impl<T: AsyncRead + AsyncWrite + Send> Stream for T {}

/// The connection itself, or TLS over it. A client that does not trust the certificate hangs up.
pub(crate) async fn secured(
    socket: TcpStream,
    tls: Option<TlsAcceptor>,
) -> io::Result<Pin<Box<dyn Stream>>> {
    Ok(match tls {
        Some(tls) => Box::pin(tls.accept(socket).await?),
        None => Box::pin(socket),
    })
}

/// The certificate in a folder that [`identity`] made.
pub(crate) fn certificate(folder: &Path) -> PathBuf {
    SelfSigned::in_folder(folder).certificate
}

/// A folder with a self-signed certificate for `localhost` and its key.
pub(crate) fn identity() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    SelfSigned::make(folder.path());
    folder
}

/// Accepts TLS under the certificate of a folder that [`identity`] made.
pub(crate) fn acceptor(folder: &Path) -> TlsAcceptor {
    let files = SelfSigned::in_folder(folder);
    let key = PrivateKeyDer::from_pem_file(files.key).unwrap();
    let chain = vec![CertificateDer::from_pem_file(files.certificate).unwrap()];
    archway::tls::choose_cryptography();
    let config = ServerConfig::builder().with_no_client_auth();
    TlsAcceptor::from(Arc::new(config.with_single_cert(chain, key).unwrap()))
}
