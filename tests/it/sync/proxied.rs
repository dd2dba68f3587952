//! A remote that only a proxy reaches: git and the question before it go through that.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

use super::https_mirror::HttpsMirror;

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

#[tokio::test]
async fn git_and_the_question_go_through_the_proxy_without_the_credential() {
    let mut mirror = HttpsMirror::start().await;
    let proxy = Proxy::start(mirror.host.base().replace("https://", "")).await;
    mirror.url = format!("https://{HOST}/acme/site/.git");
    mirror.proxy = Some(proxy.url.clone());
    assert!(mirror.sync(None).await.0.changed);
    assert_ne!(proxy.heads(true), Vec::<String>::new(), "git's own");

    // The question alone: nothing is new.
    let before = mirror.host.requests().len();
    let (synced, is_fetched) = mirror.sync(None).await;
    assert!(!synced.changed && !is_fetched);
    assert!(mirror.host.requests().len() > before);
    assert_ne!(proxy.heads(false), Vec::<String>::new(), "not git's");

    let head = mirror.push(&["commit", "-q", "--allow-empty", "-m", "two"]);
    let (synced, is_fetched) = mirror.sync(None).await;
    assert_eq!(synced.head, Some(head));
    assert!(is_fetched);
    for head in [proxy.heads(true), proxy.heads(false)].concat() {
        assert!(head.starts_with(&format!("CONNECT {HOST} ")), "{head}");
        // Neither as it is nor in base64.
        for hidden in ["sesame", "YWRhOnNlc2FtZQ"] {
            assert!(!head.contains(hidden), "{head}");
        }
    }
}
