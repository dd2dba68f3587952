//! A remote that only a proxy reaches: git and the question before it go through that.

use std::sync::Arc;

use archway_sync::{
    credentials::HttpsCredential,
    git::{Git, RunBounds, Transport},
    helper::Helper,
    mirror::{MirrorSource, Mirrors, Synced},
    remote::{AllowedProtocols, RemoteUrl},
};
use e2e::{GitHost, Repo, git};
use parking_lot::Mutex;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::limits;

/// Nothing listens there: only the proxy knows where the host is.
const HOST: &str = "localhost:1";

/// A proxy for https, which connects everybody to one host.
struct Proxy {
    url: String,
    /// The heads of its requests.
    heads: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// `target` is the host's address, such as `localhost:4433`.
    async fn start(target: String) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let heads = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&heads);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(relay(client, target.clone(), Arc::clone(&seen)));
            }
        });
        Proxy { url, heads }
    }

    /// The heads of requests by git, or of those by others.
    fn heads(&self, are_gits: bool) -> Vec<String> {
        let heads = self.heads.lock().clone().into_iter();
        let is_gits = |head: &String| head.to_lowercase().contains("user-agent: git/");
        heads.filter(|head| is_gits(head) == are_gits).collect()
    }
}

async fn relay(mut client: TcpStream, target: String, seen: Arc<Mutex<Vec<String>>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.read_u8().await.unwrap());
    }
    seen.lock().push(String::from_utf8(head).unwrap());
    let mut host = TcpStream::connect(target).await.unwrap();
    let answer = b"HTTP/1.1 200 Connection established\r\n\r\n";
    client.write_all(answer).await.unwrap();
    // Either side may hang up.
    copy_bidirectional(&mut client, &mut host).await.ok();
}

/// A mirror of a host's repository behind the proxy.
struct ProxiedMirror {
    host: GitHost,
    proxy: Proxy,
    mirrors: Mirrors,
    project_id: Uuid,
    _repos: TempDir,
}

impl ProxiedMirror {
    async fn start(host: GitHost) -> ProxiedMirror {
        let repos = tempfile::tempdir().unwrap();
        let git = Git::new(&AllowedProtocols::default(), repos.path());
        let helper = Helper::at(env!("CARGO_BIN_EXE_git-helper").into());
        let target = host.base().replace("https://", "");
        ProxiedMirror {
            host,
            proxy: Proxy::start(target).await,
            mirrors: Mirrors::new(repos.path().to_owned(), git.with_helper(helper)),
            project_id: Uuid::new_v4(),
            _repos: repos,
        }
    }

    async fn sync(&self) -> Synced {
        let url = format!("https://{HOST}/acme/site/.git");
        let credential = HttpsCredential {
            user: "ada".to_owned(),
            password: "sesame".to_owned().into(),
        };
        let certificate = self.host.certificate();
        let source = MirrorSource {
            tenant: "acme",
            project: "site",
            project_id: self.project_id,
            reference: None,
            transport: Transport {
                remote: &RemoteUrl::parse(&url, &AllowedProtocols::default()).unwrap(),
                https: Some(&credential),
                ssh: None,
                ca_file: Some(&certificate),
                https_proxy: Some(&self.proxy.url),
            },
        };
        let bounds = RunBounds {
            limits: limits(),
            cancel: &CancellationToken::new(),
            progress: &|_| {},
        };
        self.mirrors.sync(&source, &bounds).await.unwrap()
    }

    /// Whether git asked the host, since so many requests.
    fn has_fetched(&self, since: usize) -> bool {
        let requests = self.host.requests().into_iter().skip(since);
        requests.filter(|it| it.contains("/info/refs?")).count() > 0
    }
}

#[tokio::test]
async fn git_and_the_question_go_through_the_proxy_without_the_credential() {
    let host = GitHost::start("ada:sesame").await;
    let work = host.add("acme/site", Repo::new().file("a.txt", "one\n").commit());
    let mirror = ProxiedMirror::start(host).await;
    assert!(mirror.sync().await.changed);
    assert_ne!(mirror.proxy.heads(true), Vec::<String>::new(), "git's own");

    // The question alone: nothing is new.
    let before = mirror.host.requests().len();
    assert!(!mirror.sync().await.changed);
    assert!(mirror.host.requests().len() > before && !mirror.has_fetched(before));
    assert_ne!(mirror.proxy.heads(false), Vec::<String>::new(), "not git's");

    git(&work, &["commit", "-q", "--allow-empty", "-m", "two"]);
    let head = git(&work, &["rev-parse", "HEAD"]);
    let (before, synced) = (mirror.host.requests().len(), mirror.sync().await);
    assert_eq!(synced.head, Some(head));
    assert!(mirror.has_fetched(before));
    for head in [mirror.proxy.heads(true), mirror.proxy.heads(false)].concat() {
        assert!(head.starts_with(&format!("CONNECT {HOST} ")), "{head}");
        // Neither as it is nor in base64.
        for hidden in ["sesame", "YWRhOnNlc2FtZQ"] {
            assert!(!head.contains(hidden), "{head}");
        }
    }
}
