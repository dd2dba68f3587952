//! The files that a database URL names: the server's certificate authority (`sslrootcert`), and a
//! client certificate with its key (`sslcert`, `sslkey`).
//!
//! sqlx reads these files for each connection. A confined worker could not read a renewed file that
//! replaces the old one, so the content is read once at start. Also, sqlx accepts a file without a
//! certificate as an empty authority, and ignores the authority unless the mode is `verify-…`. Both
//! are rejected at start, while an operator is watching.

use std::{io, path::PathBuf};

use sqlx::{
    ConnectOptions,
    postgres::{PgConnectOptions, PgSslMode},
};
use tokio_rustls::rustls::{
    self,
    pki_types::{CertificateDer, pem::PemObject},
};

const AUTHORITY: &str = "sslrootcert";
const CERTIFICATE: &str = "sslcert";
const KEY: &str = "sslkey";

/// The advice for a server whose certificate is not trusted.
pub const UNTRUSTED_CERTIFICATE: &str = "postgres' certificate is not trusted: in the database URL, \
                              sslrootcert=FILE names its authority, and the host has to be one that \
                              the certificate is for";

/// Why a file that a database URL names cannot be used. Contains nothing of the file's content.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseFileError {
    /// It cannot be read.
    #[error("{name} of the database URL: {} can't be read", path.display())]
    Read {
        /// The URL's parameter.
        name: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// It contains no certificate.
    #[error("{name} of the database URL: {} holds no certificate in PEM", path.display())]
    NoCertificate {
        /// The URL's parameter.
        name: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// An authority is named but would not be used.
    #[error(
        "the database URL names a certificate authority with sslrootcert, which \
         is used only with sslmode=verify-full or verify-ca: add one of them"
    )]
    UnusedAuthority,
}

/// Replaces the files named in the options by their content.
///
/// # Errors
/// If a file cannot be read, contains no certificate where one is required, or would not be used.
pub fn read_files(mut options: PgConnectOptions) -> Result<PgConnectOptions, DatabaseFileError> {
    let checks = matches!(
        options.get_ssl_mode(),
        PgSslMode::VerifyCa | PgSslMode::VerifyFull
    );
    for (name, value) in options.to_url_lossy().query_pairs() {
        // sqlx writes file names with this prefix; other values are in the URL itself.
        let Some(path) = value.strip_prefix("file: ").map(PathBuf::from) else {
            continue;
        };
        options = match &*name {
            AUTHORITY if !checks => return Err(DatabaseFileError::UnusedAuthority),
            AUTHORITY => options.ssl_root_cert_from_pem(certificates(AUTHORITY, path)?),
            CERTIFICATE => options.ssl_client_cert_from_pem(certificates(CERTIFICATE, path)?),
            KEY => options.ssl_client_key_from_pem(read(KEY, &path)?),
            _ => options,
        };
    }
    Ok(options)
}

/// Whether a connection failed because the server's certificate is not trusted.
pub fn is_untrusted_certificate(error: &sqlx::Error) -> bool {
    let sqlx::Error::Io(error) = error else {
        return false;
    };
    let tls = error.get_ref().and_then(|it| it.downcast_ref());
    matches!(tls, Some(rustls::Error::InvalidCertificate(_)))
}

fn certificates(name: &'static str, path: PathBuf) -> Result<Vec<u8>, DatabaseFileError> {
    let pem = read(name, &path)?;
    let mut found = CertificateDer::pem_slice_iter(&pem);
    match found.next() {
        // The library's errors contain the text that it could not parse.
        Some(Ok(_)) if found.all(|certificate| certificate.is_ok()) => Ok(pem),
        _ => Err(DatabaseFileError::NoCertificate { name, path }),
    }
}

fn read(name: &'static str, path: &PathBuf) -> Result<Vec<u8>, DatabaseFileError> {
    std::fs::read(path).map_err(|source| DatabaseFileError::Read {
        name,
        path: path.clone(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PEM with a valid frame; its content is parsed only when a connection is made.
    const PEM: &str = "-----BEGIN CERTIFICATE-----\nc2VzYW1l\n-----END CERTIFICATE-----\n";

    fn reading(query: &str) -> Result<PgConnectOptions, DatabaseFileError> {
        read_files(format!("postgres://a@db/c?{query}").parse().unwrap())
    }

    #[test]
    fn files_are_read_once_and_may_be_removed_later() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let (ca, key) = (at("a ca.pem"), at("key.pem"));
        std::fs::write(&ca, PEM).unwrap();
        std::fs::write(&key, "hush").unwrap();
        let (ca, key) = (ca.display(), key.display());
        let query = format!("sslmode=verify-full&sslrootcert={ca}&sslcert={ca}&sslkey={key}");
        let url = reading(&query).unwrap().to_url_lossy();
        let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
        for (name, content) in [(AUTHORITY, PEM), (CERTIFICATE, PEM), (KEY, "hush")] {
            assert!(
                pairs.contains(&(name.to_owned(), content.to_owned())),
                "{name}"
            );
        }
        // The URL names no files.
        reading("sslmode=verify-full").unwrap();
    }

    #[test]
    fn missing_invalid_and_unused_files_are_rejected_without_their_content() {
        let folder = tempfile::tempdir().unwrap();
        let (ca, key) = (folder.path().join("ca.pem"), folder.path().join("key"));
        std::fs::write(&ca, PEM).unwrap();
        std::fs::write(&key, "-----BEGIN CERTIFICATE-----\nhush").unwrap();
        let error_for = |mode: &str, file: &std::path::Path| {
            let query = format!("sslmode={mode}&sslrootcert={}", file.display());
            reading(&query).unwrap_err().to_string()
        };
        for (error, expected) in [
            (
                error_for("verify-full", &folder.path().join("none")),
                "none can't be read",
            ),
            (error_for("verify-ca", &key), "holds no certificate"),
            (error_for("require", &ca), "sslmode=verify-full"),
            (error_for("prefer", &ca), "sslmode=verify-full"),
        ] {
            assert!(
                error.contains(expected) && !error.contains("hush"),
                "{error}"
            );
        }
    }
}
