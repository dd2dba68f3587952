//! Hosts that answer with something else than a repository.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;
use crate::credentials::HttpsCredential;

/// The failure of a run against a host that answers each request so.
async fn failure_at(answer: fn(&str) -> String) -> SyncFailure {
    let mut sandbox = Sandbox::new();
    sandbox.allowed.loopback_http = true;
    let repos = sandbox.mirrors.repos.clone();
    let git = Git::new(&sandbox.allowed, &repos).with_helper(test_helper());
    sandbox.mirrors = Mirrors::new(repos, git);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/a", listener.local_addr().unwrap());
    let serving = async {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                request.push(socket.read_u8().await.unwrap());
            }
            let answer = answer(&String::from_utf8(request).unwrap());
            socket.write_all(answer.as_bytes()).await.unwrap();
        }
    };
    let remote = RemoteUrl::parse(&url, &sandbox.allowed).unwrap();
    let credential = HttpsCredential {
        user: "ada".to_owned(),
        password: "open sesame".to_owned().into(),
    };
    let transport = Transport {
        remote: &remote,
        https: Some(&credential),
        ssh: None,
        ca_file: None,
        https_proxy: None,
    };
    tokio::select! {
        synced = sandbox.sync_by(transport, None) => synced.unwrap_err(),
        () = serving => unreachable!("it serves for ever"),
    }
}

fn answer(status: &str, header: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\n{header}\r\nConnection: close\r\nContent-Type: text/plain\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[tokio::test]
async fn a_host_that_gives_the_credential_back_is_not_quoted() {
    let failure = failure_at(|request| {
        let sent = request
            .lines()
            .find_map(|line| line.strip_prefix("Authorization: "));
        match sent {
            None => answer(
                "401 Unauthorized",
                "WWW-Authenticate: Basic realm=\"a\"",
                "",
            ),
            Some(sent) => {
                let body = format!("you sent {sent}, which is ada:open sesame or open%20sesame\n");
                answer("400 Bad Request", "X: y", &body)
            }
        }
    });
    let message = failure.await.message;
    let expected = "remote: you sent Basic …, which is ada:… or …";
    assert!(message.contains(expected), "{message}");
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_says_what_to_do() {
    let failure = failure_at(|_| answer("301 Moved", "Location: http://elsewhere/b", ""));
    let failure = failure.await;
    assert_eq!(failure.state, SyncState::Failed);
    assert!(
        failure.message.contains("set the project's URL"),
        "{failure}"
    );
    assert!(!failure.message.contains("elsewhere"), "{failure}");
}
