//! A self-signed certificate for `localhost`, made by openssl.
//!
//! The command line's tests include this file by its path.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// A certificate that no client trusts by default, and its key, both in PEM.
pub(crate) struct SelfSigned {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl SelfSigned {
    /// Where both files are in a folder.
    pub(crate) fn in_folder(folder: &Path) -> SelfSigned {
        SelfSigned {
            certificate: folder.join("localhost.pem"),
            key: folder.join("localhost.key"),
        }
    }

    /// Makes both files in a folder. Valid for 2 days, and not as an authority.
    pub(crate) fn make(folder: &Path) -> SelfSigned {
        let made = SelfSigned::in_folder(folder);
        let mut openssl = Command::new("openssl");
        openssl.args(["req", "-x509", "-nodes", "-days", "2"]);
        openssl.args(["-subj", "/CN=localhost"]);
        openssl.args(["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]);
        openssl.args(["-addext", "subjectAltName=DNS:localhost"]);
        openssl.args(["-addext", "basicConstraints=critical,CA:FALSE"]);
        openssl.arg("-keyout").arg(&made.key);
        openssl.arg("-out").arg(&made.certificate);
        let output = openssl.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        made
    }
}
