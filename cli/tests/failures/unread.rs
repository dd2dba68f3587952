//! Answers that nobody reads: one tenant asks for hundreds of large ones and leaves them where they
//! are. The gateway's memory stays below what these would need, and another tenant's calls go on.

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

use crate::http::{Connection, message, tool_call};
use crate::role::{Role, wait_until};
use crate::scene::{Scene, counted};

/// What the gateway may need in all, in KiB. All answers that are asked for at once are more.
const MOST_MEMORY: u64 = 200 * 1024;
/// How long the other tenant's slowest `hello` may take.
const SLOWEST: Duration = Duration::from_secs(4);
/// How long the attack may last.
const LONGEST: Duration = Duration::from_secs(120);
/// Connections, and streams of each.
const CONNECTIONS: usize = 8;
const STREAMS: usize = 30;
/// Connections of HTTP/1.
const PLAIN: usize = 60;
/// How large a stream's window is: `hello` fits.
const WINDOW: u32 = 2 * 1024;
/// How long the attacker waits before it asks again for an answer that it did not read.
const AGAIN: Duration = Duration::from_secs(12);
/// Answers that were ended, by which it is seen that those who wait get room.
const ENOUGH: u64 = 10;

const READ: &str = r#"{"name":"read_file","arguments":{"path":"quotes.txt","max_bytes":262144}}"#;
const HELLO: &str = r#"{"name":"hello","arguments":{}}"#;

fn call(params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#)
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

/// Calls a tool; the answer, of which nothing was read, if one came.
async fn ask(
    mut client: http2::SendRequest<Full<Bytes>>,
    key: String,
    params: &'static str,
) -> Option<hyper::Response<Incoming>> {
    let request = hyper::Request::post("http://localhost/mcp")
        .header("authorization", format!("Bearer {key}"))
        .header("content-type", "application/json")
        .body(Full::from(call(params)))
        .unwrap();
    client.send_request(request).await.ok()
}

/// Asks over HTTP/1, on a socket that takes little, and reads nothing.
async fn ask_and_leave(address: &str, asked: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(8 * 1024).unwrap();
    let mut socket = socket.connect(address.parse().unwrap()).await.unwrap();
    socket.write_all(asked.as_bytes()).await.unwrap();
    socket
}

/// The most memory that a process ever needed, in KiB.
fn peak(role: &Role) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", role.id())).unwrap();
    let line = status.lines().find_map(|it| it.strip_prefix("VmHWM:"));
    let number = line.unwrap().trim().trim_end_matches(" kB");
    number.parse().unwrap()
}

/// The key of another tenant.
fn stranger(scene: &Scene) -> String {
    let tenants = Tenants::new(scene.stage.owner.clone());
    let line = std::fs::read_to_string(scene.stage.path("secret")).unwrap();
    let secret = RootSecret::parse(line.trim()).unwrap();
    scene.stage.runtime.block_on(async {
        let zeta = tenants.create_tenant("zeta").await.unwrap();
        let key = tenants.issue_key(zeta, &secret, KeyRequest::default());
        key.await.unwrap().api_key.expose_secret().to_owned()
    })
}

/// Asks over and over on a connection of HTTP/2 and reads nothing but `hello`.
async fn stall(address: String, key: String) {
    let client = connect(&address).await;
    let mut unread = JoinSet::new();
    loop {
        while unread.len() < STREAMS {
            let asked = ask(client.clone(), key.clone(), READ);
            unread.spawn(async move {
                let _unread = asked.await;
                tokio::time::sleep(AGAIN).await;
            });
        }
        while unread.try_join_next().is_some() {}
        let hello = ask(client.clone(), key.clone(), HELLO).await;
        let Some(hello) = hello else { return };
        hello.into_body().collect().await.ok();
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

#[test]
fn answers_that_one_tenant_does_not_read_cost_another_neither_memory_nor_time() {
    let scene = Scene::set();
    let text = "\"\\\t".repeat((256 << 10) / 3);
    std::fs::write(scene.stage.path("repos/acme/site/quotes.txt"), text).unwrap();
    let zeta = stranger(&scene);
    let worker = scene.worker("127.0.0.1:0");
    let gateway = scene.gateway(&[&worker]);
    let mut calm = Connection::open(&gateway.address).unwrap();
    let hello = message(&zeta, &tool_call(1, "hello", "{}"));
    assert_eq!(calm.exchange(&hello).unwrap().status, 200);

    let mut plain = Vec::new();
    for _ in 0..PLAIN {
        let asked = message(&scene.stage.key, &call(READ));
        let leaving = ask_and_leave(&gateway.address, &asked);
        plain.push(scene.stage.runtime.block_on(leaving));
    }
    for _ in 0..CONNECTIONS {
        let stalling = stall(gateway.address.clone(), scene.stage.key.clone());
        scene.stage.runtime.spawn(stalling);
    }
    let mut slowest = Duration::ZERO;
    let held = || counted(&gateway, "archway_gateway_unread_answer_bytes");
    wait_until("much is unread", || held() > 16 << 20);
    let until = Instant::now() + LONGEST;
    while counted(&gateway, "archway_gateway_unread_answers_ended_total") < ENOUGH {
        assert!(Instant::now() < until, "too few answers were ended");
        let asked = Instant::now();
        let answer = calm.exchange(&hello).unwrap();
        let told: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
        assert_ne!(told["result"]["isError"], json!(true), "{answer:?}");
        slowest = slowest.max(asked.elapsed());
        std::thread::sleep(Duration::from_millis(500));
    }
    assert!(peak(&gateway) < MOST_MEMORY, "{} KiB", peak(&gateway));
    assert!(slowest < SLOWEST, "{slowest:?}");
    assert!(held() <= 32 << 20, "{} bytes", held());
}
