//! What `--repo` names: folders of this machine, and repositories by URL.

use std::path::{Path, PathBuf};

use archway_sync::remote::{AllowedProtocols, Protocol, RemoteUrl, RemoteUrlError};

use super::projects::{ProjectsError, find};
use crate::data_dir::DataDir;

/// The protocols of `dev`: besides https and ssh, http on this machine.
const PROTOCOLS: AllowedProtocols = AllowedProtocols {
    more: Vec::new(),
    loopback_http: true,
};

/// A repository that `--repo` names.
#[derive(Clone, Debug)]
pub(super) enum NamedRepo {
    /// An absolute path without links.
    Folder(PathBuf),
    /// A repository to mirror.
    Remote(RemoteUrl),
}

impl NamedRepo {
    /// Checks what was typed. A folder must exist, and must not hold `data`.
    pub(super) fn read(typed: &Path, data: &DataDir) -> Result<NamedRepo, ProjectsError> {
        if let Some(url) = url(typed) {
            return Ok(NamedRepo::Remote(parse(url)?));
        }
        let folder = find(typed)?;
        match data.path().starts_with(&folder) {
            true => Err(ProjectsError::HoldsData(data.path().to_owned())),
            false => Ok(NamedRepo::Folder(folder)),
        }
    }

    /// The name of the folder or repository, from which a slug is made.
    pub(super) fn name(&self) -> String {
        match self {
            NamedRepo::Folder(path) => {
                let name = path.file_name().unwrap_or_default();
                name.to_string_lossy().into_owned()
            }
            NamedRepo::Remote(remote) => last_part(remote).to_owned(),
        }
    }
}

/// Parses a URL by the rules of `dev`.
pub(super) fn parse(url: &str) -> Result<RemoteUrl, ProjectsError> {
    RemoteUrl::parse(url, &PROTOCOLS).map_err(|error| match error {
        RemoteUrlError::Protocol => ProjectsError::Protocol,
        error => ProjectsError::Url(error),
    })
}

/// A stored URL as it may be shown: without ssh's login name.
pub(super) fn shown(url: &str) -> String {
    let all = AllowedProtocols {
        more: vec![Protocol::Http, Protocol::Git, Protocol::File],
        loopback_http: true,
    };
    RemoteUrl::parse(url, &all).map_or_else(|_invalid| "a URL".to_owned(), |url| url.to_string())
}

/// Whether both are the same repository of one host, with or without `.git`.
pub(super) fn is_same(one: &RemoteUrl, other: &RemoteUrl) -> bool {
    one.origin() == other.origin() && one.path() == other.path()
}

/// Whether it cannot be read without a key.
pub(super) fn needs_key(remote: &RemoteUrl) -> bool {
    remote.protocol() == Protocol::Ssh
}

/// A repository in a folder `site/.git` is called `site`.
fn last_part(remote: &RemoteUrl) -> &str {
    let mut parts = remote.path().rsplit('/');
    parts.find(|part| !part.is_empty()).unwrap_or_default()
}

/// What was typed, if it is a URL. `user@host:path` may be the name of a folder, which then wins.
fn url(typed: &Path) -> Option<&str> {
    let text = typed.to_str()?;
    let is_scp = || {
        let (before, _) = text.split_once(':').unwrap_or_default();
        before.contains('@') && !before.contains('/') && !typed.exists()
    };
    (text.contains("://") || is_scp()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(typed: &str) -> Result<NamedRepo, ProjectsError> {
        let home = tempfile::tempdir().unwrap();
        let data = DataDir::open(&home.path().join("data")).unwrap();
        NamedRepo::read(Path::new(typed), &data)
    }

    #[test]
    fn urls_are_told_from_folders_and_named_by_their_last_part() {
        for (typed, name) in [
            ("https://example.com/acme/Site.git", "Site"),
            ("ssh://git@example.com:22/~/wiki/", "wiki"),
            ("git@example.com:acme/site.git", "site"),
            ("http://127.0.0.1:8080/acme/site/.git", "site"),
        ] {
            let repo = read(typed).unwrap();
            assert!(matches!(repo, NamedRepo::Remote(_)), "{typed}");
            assert_eq!(repo.name(), name, "{typed}");
        }
        let folder = tempfile::tempdir().unwrap();
        let like_scp = folder.path().join("a@b:c");
        std::fs::create_dir(&like_scp).unwrap();
        for typed in [folder.path(), &like_scp] {
            let repo = read(typed.to_str().unwrap()).unwrap();
            assert!(matches!(repo, NamedRepo::Folder(_)), "{typed:?}");
        }
    }

    #[test]
    fn a_url_that_can_not_be_mirrored_is_refused_with_what_can_be() {
        for typed in [
            "http://example.com/site",
            "file:///srv/site",
            "ext::sh://x/y",
        ] {
            let refusal = read(typed).unwrap_err().to_string();
            assert!(refusal.contains("https://"), "{typed}: {refusal}");
        }
        let refusal = read("https://ada:sesame@example.com/site").unwrap_err();
        assert!(refusal.to_string().contains("password"), "{refusal}");
        assert!(!refusal.to_string().contains("sesame"), "{refusal}");
    }

    #[test]
    fn a_folder_that_can_not_be_served_is_named_in_the_refusal() {
        let refusal = read("/nowhere/at all").unwrap_err();
        assert!(refusal.to_string().contains("/nowhere/at all"), "{refusal}");
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(read(file.to_str().unwrap()).is_err());
        let data = DataDir::open(&home.path().join("data")).unwrap();
        for around in [home.path(), data.path()] {
            let refusal = NamedRepo::read(around, &data).unwrap_err();
            assert!(matches!(refusal, ProjectsError::HoldsData(_)));
        }
    }

    #[test]
    fn one_repository_is_recognised_with_and_without_git_at_its_end() {
        let parse = |url| parse(url).unwrap();
        let one = parse("https://example.com/acme/site.git");
        assert!(is_same(&one, &parse("https://EXAMPLE.com/acme/site")));
        assert!(!is_same(&one, &parse("https://example.com/acme/wiki")));
        assert!(!is_same(&one, &parse("ssh://git@example.com/acme/site")));
    }
}
