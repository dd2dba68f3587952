//! Asks an https remote for its refs, only to learn whether a fetch would bring anything.
//!
//! git's program does the transport. But a fetch that brings nothing starts five processes, and most runs are that. This
//! sends the request by which git itself begins a fetch: `ls-refs` of its protocol version 2 (gitprotocol-v2). Whatever is
//! unexpected counts as not known: then git fetches, and says what is wrong.

use std::path::{Path, PathBuf};
use std::time::Duration;

use aws_lc_rs::digest::{self, SHA256};
use moka::sync::Cache;
use reqwest::{Client, Proxy, Response, StatusCode, header};
use secrecy::ExposeSecret;
use tokio::time::timeout;

use crate::git::Transport;
use crate::hosts::{self, ClientError};
use crate::remote::Protocol;

/// Clients by their authorities and proxies, at most. A connection has one for all its repositories.
const MOST_CLIENTS: u64 = 64;
/// A client reads its authorities anew after so long.
const CLIENT_LIFETIME: Duration = Duration::from_secs(600);
/// For one question.
const DEADLINE: Duration = Duration::from_secs(20);
/// The longest answer, in bytes: some 400,000 refs.
const LONGEST_ANSWER: usize = 32 << 20;
/// `ls-refs` of what a fetch asks for, in packets: each begins with its length, in hexadecimal.
const QUESTION: &str = "0014command=ls-refs\n00010009peel\n000csymrefs\n\
    0014ref-prefix HEAD\n001bref-prefix refs/heads/\n001aref-prefix refs/tags/\n0000";
const ANSWER_TYPE: &str = "application/x-git-upload-pack-result";

/// Asks remotes for their refs.
#[derive(Clone, Debug)]
pub(crate) struct RemoteRefs {
    clients: Cache<(Option<PathBuf>, Option<String>), Client>,
}

impl RemoteRefs {
    pub(crate) fn new() -> RemoteRefs {
        let clients = Cache::builder()
            .max_capacity(MOST_CLIENTS)
            .time_to_live(CLIENT_LIFETIME)
            .build();
        RemoteRefs { clients }
    }

    /// A digest of the remote's HEAD, branches and tags, in hexadecimal. `None` if they are not known.
    pub(crate) async fn digest(&self, transport: &Transport<'_>) -> Option<String> {
        if !matches!(
            transport.remote.protocol(),
            Protocol::Https | Protocol::Http
        ) {
            return None;
        }
        let client = self.client(transport)?;
        let answer = timeout(DEADLINE, ask(&client, transport)).await.ok()??;
        let digest = digest::digest(&SHA256, &answer);
        let hex = digest.as_ref().iter().map(|byte| format!("{byte:02x}"));
        Some(hex.collect())
    }

    fn client(&self, transport: &Transport<'_>) -> Option<Client> {
        let proxy = transport.https_proxy.map(str::to_owned);
        let key = (transport.ca_file.map(Path::to_owned), proxy);
        let made = || client(transport.ca_file, transport.https_proxy);
        self.clients.try_get_with(key, made).ok()
    }
}

fn client(ca_file: Option<&Path>, proxy: Option<&str>) -> Result<Client, ClientError> {
    let mut builder = hosts::client_builder();
    if ca_file.is_some() {
        // As git does: instead of the system's.
        builder = builder.tls_certs_only(hosts::authorities(ca_file)?);
    }
    if let Some(proxy) = proxy {
        builder = builder.proxy(Proxy::https(proxy).map_err(ClientError::Tls)?);
    }
    builder.build().map_err(ClientError::Tls)
}

/// The whole answer.
async fn ask(client: &Client, transport: &Transport<'_>) -> Option<Vec<u8>> {
    let url = transport.remote.as_str().trim_end_matches('/');
    let mut request = client
        .post(format!("{url}/git-upload-pack"))
        .header("Git-Protocol", "version=2")
        .header(
            header::CONTENT_TYPE,
            "application/x-git-upload-pack-request",
        )
        .header(header::ACCEPT, ANSWER_TYPE)
        .body(QUESTION);
    if let Some(credential) = transport.https {
        let password = credential.password.expose_secret();
        request = request.basic_auth(&credential.user, Some(password));
    }
    let answer = request.send().await.ok()?;
    let kind = answer.headers().get(header::CONTENT_TYPE);
    if answer.status() != StatusCode::OK || kind.is_none_or(|kind| kind != ANSWER_TYPE) {
        return None;
    }
    body(answer).await.filter(|answer| lists_refs(answer))
}

async fn body(mut answer: Response) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.ok()? {
        if body.len() + chunk.len() > LONGEST_ANSWER {
            return None;
        }
        body.extend_from_slice(&chunk);
    }
    Some(body)
}

/// Whether an answer is lines of refs and nothing else, up to the packet that ends it.
fn lists_refs(mut answer: &[u8]) -> bool {
    let mut any = false;
    while let Some((length, rest)) = answer.split_at_checked(4) {
        let length = std::str::from_utf8(length).unwrap_or_default();
        match usize::from_str_radix(length, 16) {
            Ok(0) => return any && rest.is_empty(),
            Ok(length @ 5..) => match rest.split_at_checked(length - 4) {
                Some((line, rest)) if is_ref(line) => (any, answer) = (true, rest),
                _ => return false,
            },
            _ => return false,
        }
    }
    false
}

/// Whether a line is `<object id> <name>…`.
fn is_ref(line: &[u8]) -> bool {
    let id = line.split(|byte| *byte == b' ').next().unwrap_or_default();
    [40, 64].contains(&id.len())
        && line.len() > id.len() + 1
        && id.iter().all(u8::is_ascii_hexdigit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(line: &str) -> String {
        format!("{:04x}{line}", line.len() + 4)
    }

    #[test]
    fn each_packet_of_the_question_says_its_length() {
        let lines = ["peel\n", "symrefs\n"].map(packet).concat();
        let prefixes =
            ["HEAD", "refs/heads/", "refs/tags/"].map(|it| packet(&format!("ref-prefix {it}\n")));
        let command = packet("command=ls-refs\n");
        assert_eq!(
            QUESTION,
            format!("{command}0001{lines}{}0000", prefixes.concat())
        );
    }

    #[test]
    fn only_a_whole_list_of_refs_is_taken_for_one() {
        let id = "0123456789abcdef0123456789abcdef01234567";
        let head = packet(&format!("{id} HEAD symref-target:refs/heads/main\n"));
        let main = packet(&format!("{id} refs/heads/main\n"));
        assert!(lists_refs(format!("{head}{main}0000").as_bytes()));
        for other in [
            String::new(),
            "0000".to_owned(),
            format!("{head}{main}"),
            format!("{head}0000{main}"),
            format!("{}0000", packet("ERR access denied\n")),
            format!("{head}{}0000", packet("ERR gone")),
            format!("{}0000", packet(id)),
            format!("{}0000", packet(&format!("{id} "))),
            format!("ffff{id} HEAD\n0000"),
            format!("{head}0001{main}0000"),
            "<html>".to_owned(),
        ] {
            assert!(!lists_refs(other.as_bytes()), "{other}");
        }
    }
}
