//! Certificates of private authorities, made by openssl.

use std::path::PathBuf;
use std::process::Command;

use crate::stage::Stage;

/// An authority, and a server certificate that it issued.
pub(crate) struct Issued {
    pub(crate) authority: PathBuf,
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

fn openssl(command: &mut Command) {
    let made = command.output().unwrap();
    assert!(made.status.success(), "{made:?}");
}

impl Stage {
    /// Creates an authority in a folder of this name, and a certificate for the host `name`.
    pub(crate) fn issue(&self, folder: &str, name: &str) -> Issued {
        let subject = format!("/CN=authority {folder}");
        let folder = self.path(folder);
        std::fs::create_dir(&folder).unwrap();
        let at = |name: &str| folder.join(name);
        let (authority, signer) = (at("ca.pem"), at("ca.key"));
        let (certificate, key) = (at("tls.crt"), at("tls.key"));
        let make = || {
            let mut make = Command::new("openssl");
            make.args(["req", "-x509", "-nodes", "-days", "2", "-newkey", "ec"]);
            make.args(["-pkeyopt", "ec_paramgen_curve:P-256"]);
            make
        };
        let mut root = make();
        root.args(["-subj", &subject, "-addext", "keyUsage=keyCertSign"]);
        root.arg("-keyout").arg(&signer).arg("-out").arg(&authority);
        openssl(&mut root);
        let mut leaf = make();
        leaf.args([
            "-subj",
            "/CN=server",
            "-addext",
            &format!("subjectAltName=DNS:{name}"),
        ]);
        leaf.args(["-addext", "basicConstraints=critical,CA:FALSE"]);
        leaf.arg("-CA").arg(&authority).arg("-CAkey").arg(&signer);
        leaf.arg("-keyout").arg(&key).arg("-out").arg(&certificate);
        openssl(&mut leaf);
        Issued {
            authority,
            certificate,
            key,
        }
    }
}
