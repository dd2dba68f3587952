//! The URL of a remote repository, and of which hosts and protocols it may be.
//!
//! A URL is checked once, here, so that nothing in it reaches git as an option, a command or another
//! transport. It has no secret: a credential is named beside it.

use std::fmt;

use url::{Host, Url};

use crate::percent;

/// The longest URL, in bytes.
pub const MAX_URL: usize = 2048;

/// A protocol that git speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, clap::ValueEnum)]
pub enum Protocol {
    /// HTTP over TLS.
    Https,
    /// SSH.
    Ssh,
    /// HTTP without TLS.
    Http,
    /// git's own protocol, without encryption or credentials.
    Git,
    /// A folder of this machine.
    File,
}

impl Protocol {
    /// As git and URLs name it.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Https => "https",
            Protocol::Ssh => "ssh",
            Protocol::Http => "http",
            Protocol::Git => "git",
            Protocol::File => "file",
        }
    }
}

/// The protocols that an installation allows besides https and ssh.
#[derive(Clone, Debug, Default)]
pub struct AllowedProtocols {
    /// Others, on any host.
    pub more: Vec<Protocol>,
    /// Whether http may be used on a loopback address.
    pub loopback_http: bool,
}

/// The checked URL of a repository, without userinfo of its own but ssh's login name.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RemoteUrl {
    protocol: Protocol,
    url: Url,
}

/// Why a URL was refused. It does not show the URL, which may hold a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RemoteUrlError {
    /// It is too long, or has characters that a URL cannot have.
    #[error(
        "the URL is not valid: write https://host/path, ssh://user@host/path or user@host:path, at most \
         {MAX_URL} bytes, without control characters, encoded ones (`%0a`) included"
    )]
    Invalid,
    /// It has a password, or a user name for a protocol other than ssh.
    #[error(
        "the URL has a user or a password: put them in a file of --credentials and name it by `credential`"
    )]
    Userinfo,
    /// It has a query or a fragment.
    #[error("the URL has a query or a fragment (`?` or `#`): leave it out")]
    Query,
    /// Its path has `..`, or no repository.
    #[error("the path of the URL is empty or has `..`: name the repository's own path")]
    Path,
    /// Host or path begin with `-`.
    #[error(
        "the host or the path of the URL begins with `-` (`%2d`), which git could take for an option"
    )]
    Option,
    /// The name of a ref has characters that git does not allow, or begins with `-`.
    #[error(
        "the ref is not valid: write a branch, a tag or a commit, such as `main`, without `refs/`"
    )]
    Reference,
    /// Its protocol is not allowed.
    #[error(
        "the URL's protocol is not allowed: use https:// or ssh://, or have the operator allow it by \
         --allow-protocol"
    )]
    Protocol,
}

/// Checks the name of a branch, a tag or a commit, by the rules of `git check-ref-format`.
///
/// # Errors
/// [`RemoteUrlError::Reference`].
pub fn check_reference(name: &str) -> Result<(), RemoteUrlError> {
    let is_bad = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
    let is_bad_part =
        |part: &str| part.is_empty() || part.starts_with('.') || part.ends_with(".lock");
    let is_refused = name.is_empty()
        || name.len() > 250
        || name.contains(is_bad)
        || name.contains("..")
        || name.contains("@{")
        || name.starts_with('-')
        || name.starts_with("refs/")
        || name.ends_with('.')
        || name.split('/').any(is_bad_part);
    match is_refused {
        true => Err(RemoteUrlError::Reference),
        false => Ok(()),
    }
}

impl RemoteUrl {
    /// Parses and checks a URL. `user@host:path` becomes `ssh://user@host/path`.
    ///
    /// # Errors
    /// [`RemoteUrlError`].
    pub fn parse(text: &str, allowed: &AllowedProtocols) -> Result<RemoteUrl, RemoteUrlError> {
        if text.len() > MAX_URL
            || text
                .chars()
                .any(|c| c.is_control() || c.is_whitespace() || c == '\\')
        {
            return Err(RemoteUrlError::Invalid);
        }
        let written_out = scp_form(text);
        let text = written_out.as_deref().unwrap_or(text);
        let protocol = protocol_of(text).ok_or(RemoteUrlError::Protocol)?;
        check_path(protocol, text)?;
        let url = Url::parse(text).map_err(|_may_hold_a_password| RemoteUrlError::Invalid)?;
        check_parts(protocol, &url)?;
        let remote = RemoteUrl { protocol, url };
        match remote.is_allowed(allowed) {
            true => Ok(remote),
            false => Err(RemoteUrlError::Protocol),
        }
    }

    /// Its protocol.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// The host with its port if it names one, in lower case; empty for a folder.
    pub fn host(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        let host = host.to_lowercase();
        match self.url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host,
        }
    }

    /// The path without its leading slash and without `.git` at its end.
    pub fn path(&self) -> &str {
        let path = self.url.path().trim_matches('/');
        path.strip_suffix(".git").unwrap_or(path)
    }

    /// What names the repository by any protocol: host and path in lower case, of which most hosts take no notice. A
    /// port of https tells two servers apart; that of ssh is one more way to the same.
    pub fn identity(&self) -> String {
        let host = match self.protocol {
            Protocol::Ssh => self.url.host_str().unwrap_or_default().to_owned(),
            _ => self.host(),
        };
        format!("{host}/{}", self.path()).to_lowercase()
    }

    /// As git takes it.
    pub fn as_str(&self) -> &str {
        self.url.as_str()
    }

    /// Scheme, host and port: what a credential is good for.
    pub fn origin(&self) -> String {
        format!("{}://{}", self.protocol.name(), self.host())
    }

    fn is_allowed(&self, allowed: &AllowedProtocols) -> bool {
        match self.protocol {
            Protocol::Https | Protocol::Ssh => true,
            Protocol::Http if allowed.loopback_http && self.is_loopback() => true,
            other => allowed.more.contains(&other),
        }
    }

    fn is_loopback(&self) -> bool {
        match self.url.host() {
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            Some(Host::Domain(name)) => name == "localhost",
            None => false,
        }
    }
}

/// Without ssh's login name: what is written out shows no userinfo.
impl fmt::Display for RemoteUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}{}", self.origin(), self.url.path())
    }
}

impl fmt::Debug for RemoteUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "RemoteUrl({self})")
    }
}

/// `ssh://user@host/path` of `user@host:path`, as git reads it: a colon before the first slash, and no `::`.
fn scp_form(text: &str) -> Option<String> {
    if text.contains("://") {
        return None;
    }
    let (user, rest) = match text.split_once('@') {
        Some((user, rest)) => (format!("{user}@"), rest),
        None => (String::new(), text),
    };
    let (host, path) = match rest.starts_with('[') {
        true => rest.split_at(rest.find("]:")? + 1),
        false => rest.split_at(rest.find(':')?),
    };
    let path = path.strip_prefix(':')?;
    let is_host = !host.is_empty() && !host.contains('/') && !path.starts_with(':');
    is_host.then(|| match path.starts_with('/') {
        true => format!("ssh://{user}{host}{path}"),
        // Relative to the login's home.
        false => format!("ssh://{user}{host}/{path}"),
    })
}

fn protocol_of(text: &str) -> Option<Protocol> {
    let (scheme, _) = text.split_once("://")?;
    let all = <Protocol as clap::ValueEnum>::value_variants();
    let named = |protocol: &&Protocol| protocol.name().eq_ignore_ascii_case(scheme);
    all.iter().find(named).copied()
}

/// Before the URL is parsed, which resolves `..`. What is percent-encoded counts as what git reads.
fn check_path(protocol: Protocol, text: &str) -> Result<(), RemoteUrlError> {
    let (_, rest) = text.split_once("://").ok_or(RemoteUrlError::Invalid)?;
    let (authority, path) = rest.split_once('/').ok_or(RemoteUrlError::Path)?;
    if path.contains('?') || path.contains('#') || authority.contains('?') {
        return Err(RemoteUrlError::Query);
    }
    let (authority, path) = (
        percent::decoded_text(authority),
        percent::decoded_text(path),
    );
    let is_bad = |c: char| c.is_control() || c == '\\';
    if authority.is_empty() != (protocol == Protocol::File)
        || authority.contains("..")
        || authority.contains('/')
        || authority.contains(is_bad)
        || path.contains(is_bad)
    {
        return Err(RemoteUrlError::Invalid);
    }
    let parts = || path.split('/');
    if parts().any(|part| part.contains("..") || part == ".") || parts().all(str::is_empty) {
        return Err(RemoteUrlError::Path);
    }
    let host = authority.rsplit('@').next().unwrap_or(&authority);
    if host.starts_with('-')
        || authority.starts_with('-')
        || parts().any(|part| part.starts_with('-'))
    {
        return Err(RemoteUrlError::Option);
    }
    Ok(())
}

fn check_parts(protocol: Protocol, url: &Url) -> Result<(), RemoteUrlError> {
    if url.query().is_some() || url.fragment().is_some() {
        return Err(RemoteUrlError::Query);
    }
    let has_user = !url.username().is_empty() && protocol != Protocol::Ssh;
    if has_user || url.password().is_some() || url.username().starts_with('-') {
        return Err(RemoteUrlError::Userinfo);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Result<RemoteUrl, RemoteUrlError> {
        RemoteUrl::parse(text, &AllowedProtocols::default())
    }

    #[test]
    fn urls_that_git_reads_are_accepted() {
        for (text, shown, git) in [
            (
                "https://git.example.com/acme/site.git",
                "https://git.example.com/acme/site.git",
                None,
            ),
            (
                "HTTPS://Git.Example.com/acme/site",
                "https://git.example.com/acme/site",
                Some("https://git.example.com/acme/site"),
            ),
            (
                "https://git.example.com:8443/a/b",
                "https://git.example.com:8443/a/b",
                None,
            ),
            ("https://[::1]:8443/a/b", "https://[::1]:8443/a/b", None),
            (
                "ssh://git@host:2222/a/b.git",
                "ssh://host:2222/a/b.git",
                None,
            ),
            (
                "git@host:acme/site.git",
                "ssh://host/acme/site.git",
                Some("ssh://git@host/acme/site.git"),
            ),
            (
                "git@host:/srv/site.git",
                "ssh://host/srv/site.git",
                Some("ssh://git@host/srv/site.git"),
            ),
            ("ssh://git@host/~team/site", "ssh://host/~team/site", None),
            (
                "https://host/a%20b/c%2dd%",
                "https://host/a%20b/c%2dd%",
                None,
            ),
            (
                "git@[::1]:a/b",
                "ssh://[::1]/a/b",
                Some("ssh://git@[::1]/a/b"),
            ),
        ] {
            let remote = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(remote.to_string(), shown);
            assert_eq!(remote.as_str(), git.unwrap_or(text));
        }
    }

    #[test]
    fn dangerous_urls_are_refused_without_being_shown() {
        use RemoteUrlError as Refused;
        for (text, refused) in [
            ("https://user:secret@host/a", Refused::Userinfo),
            ("https://token@host/a", Refused::Userinfo),
            ("ssh://git:secret@host/a", Refused::Userinfo),
            ("https://host/a?token=secret", Refused::Query),
            ("https://host/a#b", Refused::Query),
            ("https://host/a/../b", Refused::Path),
            ("https://host/a/%2e%2E/b", Refused::Path),
            ("https://host/a..b", Refused::Path),
            ("..@host:a", Refused::Invalid),
            ("https://host", Refused::Path),
            ("https://host/", Refused::Path),
            ("ssh://-oProxyCommand=x/a", Refused::Option),
            ("ssh://git@-oProxyCommand=x/a", Refused::Option),
            ("-oProxyCommand=x:a", Refused::Option),
            ("https://host/--upload-pack=x", Refused::Option),
            ("ext::sh -c id", Refused::Invalid),
            ("ext::sh", Refused::Protocol),
            ("fd::17", Refused::Protocol),
            ("http://host/a", Refused::Protocol),
            ("git://host/a", Refused::Protocol),
            ("file:///srv/a", Refused::Protocol),
            ("/srv/a", Refused::Protocol),
            ("a", Refused::Protocol),
            ("", Refused::Protocol),
            ("https://host/a\nb", Refused::Invalid),
            ("https:///a", Refused::Invalid),
            ("..:a", Refused::Invalid),
            ("https://host\\a/b", Refused::Invalid),
            ("ftp://host/a", Refused::Protocol),
        ] {
            let error = parse(text).expect_err(text);
            assert_eq!(error, refused, "{text}");
            assert!(!error.to_string().contains("secret"));
        }
        assert_eq!(
            parse(&format!("https://host/{}", "a".repeat(MAX_URL))),
            Err(Refused::Invalid)
        );
    }

    #[test]
    fn what_is_encoded_is_refused_as_git_reads_it() {
        use RemoteUrlError as Refused;
        for (text, refused) in [
            ("https://host/a/%2D-upload-pack=x", Refused::Option),
            ("git@host:a%2f%2db", Refused::Option),
            ("ssh://%2doProxyCommand=x/a", Refused::Option),
            ("ssh://git@%2DoProxyCommand=x/a", Refused::Option),
            ("https://host/a%0ab", Refused::Invalid),
            ("https://host/a%00", Refused::Invalid),
            ("git@host:a%C2%9Bb", Refused::Invalid),
            ("ssh://ho%0dst/a", Refused::Invalid),
            ("ssh://host%2fb/a", Refused::Invalid),
            ("https://host/a%5cb", Refused::Invalid),
            ("https://host/a%2f..", Refused::Path),
        ] {
            assert_eq!(parse(text), Err(refused), "{text}");
        }
    }

    #[test]
    fn names_that_git_refuses_for_refs_are_refused() {
        for good in ["main", "feature/a-b", "v1.0", "5f2a"] {
            assert_eq!(check_reference(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "-x",
            "--upload-pack=x",
            "a..b",
            "a b",
            "a~1",
            "a^{}",
            "a:b",
            "a@{1}",
            "/a",
            "a/",
            "a//b",
            ".a",
            "a/.b",
            "a.lock",
            "a.",
            "refs/heads/a",
            "a\n",
            "a\\b",
            "a*",
        ] {
            assert_eq!(
                check_reference(bad),
                Err(RemoteUrlError::Reference),
                "{bad}"
            );
        }
    }

    #[test]
    fn other_protocols_need_to_be_allowed() {
        let loopback = AllowedProtocols {
            loopback_http: true,
            ..AllowedProtocols::default()
        };
        for good in [
            "http://127.0.0.1:80/a",
            "http://[::1]/a",
            "http://localhost/a",
        ] {
            assert!(RemoteUrl::parse(good, &loopback).is_ok(), "{good}");
        }
        assert!(RemoteUrl::parse("http://host/a", &loopback).is_err());
        let more = vec![Protocol::Http, Protocol::Git, Protocol::File];
        let all = AllowedProtocols {
            more,
            loopback_http: false,
        };
        for good in ["http://host/a", "git://host/a", "file:///srv/a"] {
            assert!(RemoteUrl::parse(good, &all).is_ok(), "{good}");
        }
    }

    proptest! {
        #[test]
        fn an_accepted_url_is_parsed_to_itself_and_names_no_option(text in "[a-z@:/.~%\\-\\[\\]0-9]{0,40}") {
            if let Ok(remote) = parse(&text) {
                prop_assert_eq!(parse(remote.as_str()), Ok(remote.clone()));
                prop_assert!(!remote.host().starts_with('-') && !remote.as_str().contains(".."));
            }
        }
    }
}
