//! The files that a database URL names: the authority of the server's certificate (`sslrootcert`), and a
//! certificate of the client's with its key (`sslcert`, `sslkey`).
//!
//! What a reader would get wrong: sqlx reads them for each connection. A confined worker could not once a
//! renewed file takes the old one's place, so it keeps what they held when it began. And sqlx takes a file
//! without a certificate for no authority more, and asks none at all unless the mode is `verify-…`: both are
//! refused while somebody looks.

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

/// What to do about a server whose certificate is not trusted.
pub const UNTRUSTED_CERTIFICATE: &str = "postgres' certificate is not trusted: in the database URL, \
                              sslrootcert=FILE names its authority, and the host has to be one that \
                              the certificate is for";

/// Why a file that a database URL names is of no use. Carries nothing of what it holds.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseFileError {
    /// It can't be read.
    #[error("{name} of the database URL: {} can't be read", path.display())]
    Read {
        /// The URL's parameter.
        name: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's word.
        #[source]
        source: io::Error,
    },
    /// It is another file.
    #[error("{name} of the database URL: {} holds no certificate in PEM", path.display())]
    NoCertificate {
        /// The URL's parameter.
        name: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// An authority is named, and nobody would ask it.
    #[error(
        "the database URL names an authority with sslrootcert, which is asked only with \
         sslmode=verify-full (or verify-ca): add that"
    )]
    UnusedAuthority,
}

/// The same options, with what the files hold in place of their names.
///
/// # Errors
/// If one can't be read, holds no certificate where one is needed, or would not be used.
pub fn read_files(mut options: PgConnectOptions) -> Result<PgConnectOptions, DatabaseFileError> {
    let checks = matches!(
        options.get_ssl_mode(),
        PgSslMode::VerifyCa | PgSslMode::VerifyFull
    );
    for (name, value) in options.to_url_lossy().query_pairs() {
        // As sqlx writes them; what is not a file stands in the URL itself.
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
        // The library's own words hold what it could not read.
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

    /// PEM whose frame is right; nobody looks further before a connection is made.
    const PEM: &str = "-----BEGIN CERTIFICATE-----\nc2VzYW1l\n-----END CERTIFICATE-----\n";

    fn reading(query: &str) -> Result<PgConnectOptions, DatabaseFileError> {
        read_files(format!("postgres://a@db/c?{query}").parse().unwrap())
    }

    #[test]
    fn files_are_read_once_and_may_be_gone_later() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let (ca, key) = (at("a ca.pem"), at("key.pem"));
        std::fs::write(&ca, PEM).unwrap();
        std::fs::write(&key, "hush").unwrap();
        let (ca, key) = (ca.display(), key.display());
        let query = format!("sslmode=verify-full&sslrootcert={ca}&sslcert={ca}&sslkey={key}");
        let url = reading(&query).unwrap().to_url_lossy();
        let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
        for (name, held) in [(AUTHORITY, PEM), (CERTIFICATE, PEM), (KEY, "hush")] {
            assert!(
                pairs.contains(&(name.to_owned(), held.to_owned())),
                "{name}"
            );
        }
        // Where none is named, none is needed.
        reading("sslmode=verify-full").unwrap();
    }

    #[test]
    fn a_file_that_is_missing_another_or_not_asked_is_refused_and_not_told() {
        let folder = tempfile::tempdir().unwrap();
        let (ca, key) = (folder.path().join("ca.pem"), folder.path().join("key"));
        std::fs::write(&ca, PEM).unwrap();
        std::fs::write(&key, "-----BEGIN CERTIFICATE-----\nhush").unwrap();
        let not_written = |mode: &str, file: &std::path::Path| {
            let query = format!("sslmode={mode}&sslrootcert={}", file.display());
            reading(&query).unwrap_err().to_string()
        };
        for (row, told) in [
            (
                not_written("verify-full", &folder.path().join("none")),
                "none can't be read",
            ),
            (not_written("verify-ca", &key), "holds no certificate"),
            (not_written("require", &ca), "sslmode=verify-full"),
            (not_written("prefer", &ca), "sslmode=verify-full"),
        ] {
            assert!(row.contains(told) && !row.contains("hush"), "{row}");
        }
    }
}
