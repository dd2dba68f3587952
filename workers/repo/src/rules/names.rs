//! Names that are blocked everywhere, unless an operator's glob opens them. ASCII case is ignored.

use super::Kind;

/// Git's own folder, which nothing opens.
pub(super) const GIT: &str = ".git";

/// Names that hide a folder and everything in it, or a file of that name.
const FOLDERS: [&str; 6] = [GIT, "node_modules", ".ssh", ".aws", ".kube", ".gnupg"];
const FOLDER_STARTS: [&str; 1] = ["secrets*"];
/// Names of files that usually contain secrets. A folder of such a name is open.
const FILES: [&str; 17] = [
    ".env",
    ".envrc",
    ".npmrc",
    ".pypirc",
    ".netrc",
    ".git-credentials",
    ".htpasswd",
    "secret.yml",
    "secret.yaml",
    "secret.json",
    "credentials",
    "credentials.json",
    "credentials.yml",
    "credentials.yaml",
    "credentials.ini",
    "credentials.toml",
    "credentials.csv",
];
const FILE_STARTS: [&str; 5] = [".env.*", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*"];
const FILE_ENDS: [&str; 10] = [
    "*.env",
    "*.key",
    "*.pem",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.tfstate",
    "*.tfvars",
];
/// Looks like a file of secrets, and is a template of one: that exact name.
const TEMPLATE: &[u8] = b".env.example";

/// The pattern that blocks a name in the folder `parent`, if any does.
pub(super) fn blocking(parent: &[u8], name: &[u8], kind: Kind) -> Option<&'static str> {
    let lower = name.to_ascii_lowercase();
    let folder = whole(&FOLDERS, &lower).or_else(|| start(&FOLDER_STARTS, &lower));
    match kind {
        Kind::File if folder.is_none() && name != TEMPLATE => secret_file(parent, &lower),
        Kind::File | Kind::Directory => folder,
    }
}

fn secret_file(parent: &[u8], lower: &[u8]) -> Option<&'static str> {
    let ends = |it: &&str| {
        it.strip_prefix('*')
            .is_some_and(|it| lower.ends_with(it.as_bytes()))
    };
    whole(&FILES, lower)
        .or_else(|| start(&FILE_STARTS, lower))
        .or_else(|| FILE_ENDS.into_iter().find(ends))
        .or_else(|| {
            let is_state = lower.windows(9).any(|window| window == b".tfstate.");
            let is_account = lower.starts_with(b"service-account") && lower.ends_with(b".json");
            let is_docker = lower == b"config.json" && parent.eq_ignore_ascii_case(b".docker");
            match (is_state, is_account, is_docker) {
                (true, ..) => Some("*.tfstate.*"),
                (_, true, _) => Some("service-account*.json"),
                (.., true) => Some(".docker/config.json"),
                _ => None,
            }
        })
}

fn whole(names: &[&'static str], lower: &[u8]) -> Option<&'static str> {
    let mut names = names.iter().copied();
    names.find(|it| it.as_bytes() == lower)
}

fn start(names: &[&'static str], lower: &[u8]) -> Option<&'static str> {
    let starts = |it: &&str| {
        it.strip_suffix('*')
            .is_some_and(|it| lower.starts_with(it.as_bytes()))
    };
    names.iter().copied().find(starts)
}
