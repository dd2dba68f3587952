//! Unread answers: four tenants request hundreds of large answers, over HTTP/1 and HTTP/2, and read none. The
//! gateway runs under a memory limit, at which it aborts, and another tenant's calls continue.
//!
//! The limit is `RLIMIT_DATA`, which needs no privilege. It counts all private writable memory, touched
//! or not, so it is stricter than a container's limit of as many bytes.

use std::process::Command;
use std::time::Duration;

use archway::tenants::{KeyRequest, Tenants};
use archway_gateway::secrets::RootSecret;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use secrecy::ExposeSecret;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::http::{Connection, message};
use crate::role::{Role, wait_until};
use crate::scene::{Scene, counted};

/// The gateway's memory limit in KiB. All answers that are requested at once need three times as much.
const MEMORY_LIMIT: u64 = 256 * 1024;
/// What the gateway holds of all unread answers, in bytes.
const MOST_UNREAD: u64 = 128 << 20;
/// The slowest `hello` of the other tenant.
const SLOWEST: Duration = Duration::from_secs(8);
/// Tenants that read nothing, besides `acme`.
const OTHERS: [&str; 3] = ["beta", "gamma", "delta"];
/// Connections of HTTP/2 of each tenant, and streams of each connection.
const CONNECTIONS: usize = 4;
const STREAMS: usize = 30;
/// Connections of HTTP/1 of each tenant.
const PLAIN: usize = 20;
/// A stream's window in bytes: `hello` fits.
const WINDOW: u32 = 2 * 1024;
/// How long an attacker leaves an answer before it requests another.
const AGAIN: Duration = Duration::from_secs(12);
/// Calls of the other tenant during the attack, one each half second.
const CALM_CALLS: usize = 60;
/// Answers for which there was no room, or whose client had its time. Both mean that room is short.
const ENOUGH: u64 = 50;
/// Bytes of the file that is read. It has only characters that JSON escapes.
const FILE: usize = 256 << 10;

/// A request whose answer is large, or `hello`.
#[derive(Clone, Copy)]
struct Kind {
    accept: &'static str,
    method: &'static str,
    params: &'static str,
}

const JSON: &str = "application/json, text/event-stream";
const EVENTS: &str = "text/event-stream";
const READ: &str = r#"{"name":"read_file","arguments":{"path":"quotes.txt","max_bytes":262144}}"#;
const LARGE: [Kind; 3] = [
    Kind {
        accept: JSON,
        method: "tools/call",
        params: READ,
    },
    Kind {
        accept: EVENTS,
        method: "tools/call",
        params: READ,
    },
    Kind {
        accept: JSON,
        method: "resources/read",
        params: r#"{"uri":"repo://site/quotes.txt"}"#,
    },
];
const HELLO: Kind = Kind {
    accept: JSON,
    method: "tools/call",
    params: r#"{"name":"hello","arguments":{}}"#,
};

impl Kind {
    fn body(self) -> String {
        let Kind { method, params, .. } = self;
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
    }

    /// The bytes of a request over HTTP/1.
    fn plain(self, key: &str) -> String {
        message(key, &self.body()).replace(JSON, self.accept)
    }
}

/// A connection of HTTP/2 whose streams take little.
async fn connect(address: &str) -> http2::SendRequest<Full<Bytes>> {
    let socket = TcpStream::connect(address).await.unwrap();
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder.initial_stream_window_size(WINDOW);
    let (client, connection) = builder.handshake(TokioIo::new(socket)).await.unwrap();
    tokio::spawn(connection);
    client
}

/// Sends a request. Returns its response, with the body unread, if one came.
async fn send(
    mut client: http2::SendRequest<Full<Bytes>>,
    key: String,
    kind: Kind,
) -> Option<hyper::Response<Incoming>> {
    let request = hyper::Request::post("http://localhost/mcp")
        .header("authorization", format!("Bearer {key}"))
        .header("content-type", "application/json")
        .header("accept", kind.accept)
        .body(Full::from(kind.body()))
        .unwrap();
    client.send_request(request).await.ok()
}

/// Sends over HTTP/1, on a socket that takes little, and reads nothing.
async fn send_and_leave(address: &str, request: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(8 * 1024).unwrap();
    let mut socket = socket.connect(address.parse().unwrap()).await.unwrap();
    socket.write_all(request.as_bytes()).await.unwrap();
    socket
}

/// A gateway that aborts when it needs more memory than [`MEMORY_LIMIT`].
fn limited_gateway(scene: &Scene, worker: &Role) -> Role {
    let plain = scene.stage.gateway(&worker.address);
    let mut limited = Command::new("sh");
    limited
        .args(["-c", r#"ulimit -d "$0" && exec "$@""#])
        .arg(MEMORY_LIMIT.to_string())
        .arg(plain.get_program())
        .args(plain.get_args());
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    let gateway = Role::start(limited);
    gateway.becomes(200, "ready");
    gateway
}

/// A tenant with its own project that has the file. Returns its key.
fn tenant(scene: &Scene, slug: &str) -> String {
    let site = scene.stage.path(&format!("repos/{slug}/site"));
    std::fs::create_dir_all(&site).unwrap();
    std::fs::write(site.join("quotes.txt"), "\"\\\t".repeat(FILE / 3)).unwrap();
    if slug == "acme" {
        return scene.stage.key.clone();
    }
    let tenants = Tenants::new(scene.stage.owner.clone());
    let line = std::fs::read_to_string(scene.stage.path("secret")).unwrap();
    let secret = RootSecret::parse(line.trim()).unwrap();
    scene.stage.runtime.block_on(async {
        let id = tenants.create_tenant(slug).await.unwrap();
        tenants.add_project(id, "site", None).await.unwrap();
        let key = tenants.issue_key(id, &secret, KeyRequest::default());
        key.await.unwrap().api_key.expose_secret().to_owned()
    })
}

/// Sends requests repeatedly on a connection of HTTP/2 and reads only answers of `hello`.
async fn stall(address: String, key: String) {
    let client = connect(&address).await;
    let mut unread = JoinSet::new();
    let mut kinds = LARGE.into_iter().cycle();
    loop {
        while unread.len() < STREAMS {
            let kind = kinds.next().unwrap();
            let answer = send(client.clone(), key.clone(), kind);
            unread.spawn(async move {
                let _unread = answer.await;
                tokio::time::sleep(AGAIN).await;
            });
        }
        while unread.try_join_next().is_some() {}
        let hello = send(client.clone(), key.clone(), HELLO).await;
        let Some(hello) = hello else { return };
        hello.into_body().collect().await.ok();
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// Starts the attack of one tenant. Returns its HTTP/1 connections.
fn attack(scene: &Scene, address: &str, key: &str) -> Vec<TcpStream> {
    let mut plain = Vec::new();
    for kind in LARGE.into_iter().cycle().take(PLAIN) {
        let request = kind.plain(key);
        let leaving = send_and_leave(address, &request);
        plain.push(scene.stage.runtime.block_on(leaving));
    }
    for _ in 0..CONNECTIONS {
        let stalling = stall(address.to_owned(), key.to_owned());
        scene.stage.runtime.spawn(stalling);
    }
    plain
}

#[test]
fn unread_answers_of_four_tenants_cost_a_fifth_neither_memory_nor_time() {
    let scene = Scene::set();
    let attackers = ["acme"].into_iter().chain(OTHERS);
    let attackers: Vec<String> = attackers.map(|slug| tenant(&scene, slug)).collect();
    let calm_key = tenant(&scene, "zeta");
    scene.lift_limits();
    let worker = scene.worker("127.0.0.1:0");
    let gateway = limited_gateway(&scene, &worker);
    let mut calm = Connection::open(&gateway.address).unwrap();
    for kind in LARGE {
        let mut reader = Connection::open(&gateway.address).unwrap();
        let request = kind
            .plain(&calm_key)
            .replace("\r\nHost", "\r\nConnection: close\r\nHost");
        let answer = reader.exchange(&request).unwrap();
        let is_events = answer.head.contains("content-type: text/event-stream");
        assert_eq!(is_events, kind.accept == EVENTS, "{}", answer.head);
        assert!(answer.body.len() > 2 * FILE, "{}", answer.body.len());
    }

    let attacks = attackers
        .iter()
        .map(|key| attack(&scene, &gateway.address, key));
    let _plain: Vec<Vec<TcpStream>> = attacks.collect();
    let table_locks = || counted(&gateway, "archway_gateway_unread_answer_bytes");
    wait_until("much is unread", || table_locks() > MOST_UNREAD / 2);
    let hello = HELLO.plain(&calm_key);
    let (mut slowest, mut most) = (Duration::ZERO, 0);
    for _ in 0..CALM_CALLS {
        let began = Instant::now();
        let answer = calm.exchange(&hello).unwrap();
        let message: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
        assert!(message["result"].is_object(), "{answer:?}");
        assert_ne!(message["result"]["isError"], json!(true), "{answer:?}");
        slowest = slowest.max(began.elapsed());
        most = most.max(table_locks());
        std::thread::sleep(Duration::from_millis(500));
    }
    let short = ["ended", "refused"].map(|what| {
        let name = format!("archway_gateway_unread_answers_{what}_total");
        counted(&gateway, &name)
    });
    assert!(short.iter().sum::<u64>() > ENOUGH, "{short:?}");
    assert!(slowest < SLOWEST, "{slowest:?}");
    assert!(most <= MOST_UNREAD, "{most} bytes");
}
