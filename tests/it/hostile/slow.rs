//! Clients that are slow, idle or never end: no other client waits for them.

use e2e::{
    Client, Repo, Stack,
    http::{Request, Response},
};
use serde_json::json;
use tokio::{
    io::AsyncWriteExt,
    net::TcpStream,
    task::JoinSet,
    time::{Duration, timeout},
};

use crate::serve;

const IDLE: usize = 300;
const PATIENCE: Duration = Duration::from_secs(30);
/// A write that takes longer is blocked.
const STUCK: Duration = Duration::from_millis(500);

async fn gateway() -> (Stack, Client) {
    serve(Repo::new().file("a.txt", "sesame\n").commit()).await
}

/// Makes twenty honest calls, each on a new connection.
async fn assert_answers(client: &Client) {
    for _ in 0..20 {
        let reply = timeout(PATIENCE, client.call("hello", json!({}))).await;
        let reply = reply.expect("an answer in time");
        assert_eq!(reply.structured()["message"], "Hello from Archway!");
    }
}

fn kept_open(client: &Client) -> Vec<u8> {
    let ping = client.request("ping", json!({}));
    ping.header("Connection", "keep-alive")
        .bytes(client.address())
}

#[tokio::test]
async fn three_hundred_idle_connections_stop_no_call_and_stay_usable() {
    let (stack, client) = gateway().await;
    let ping = kept_open(&client);
    let mut waiting = Vec::new();
    for number in 0..IDLE {
        let mut socket = TcpStream::connect(client.address()).await.unwrap();
        // Some send nothing, some stop in their headers, some in their body.
        let sent = [0, 40, ping.len() - 5][number % 3];
        socket.write_all(&ping[..sent]).await.unwrap();
        waiting.push((socket, sent));
    }
    stack
        .eventually(async || {
            let metrics = Request::new("GET", "/metrics").send(stack.admin()).await;
            let text = metrics.text();
            let open = text
                .lines()
                .find_map(|line| line.strip_prefix("archway_gateway_connections "));
            let open: usize = open.expect("the gauge").parse().unwrap();
            (open >= IDLE).then_some(())
        })
        .await;
    assert_answers(&client).await;
    for (mut socket, sent) in waiting {
        socket.write_all(&ping[sent..]).await.unwrap();
        let answer = timeout(PATIENCE, Response::read(&mut socket))
            .await
            .unwrap();
        assert_eq!(answer.status, 200, "{sent}: {}", answer.text());
    }
}

#[tokio::test]
async fn a_slowly_sent_request_is_answered_and_delays_no_other() {
    let (_stack, client) = gateway().await;
    let ping = kept_open(&client);
    let mut trickling = JoinSet::new();
    for _ in 0..20 {
        let (ping, to) = (ping.clone(), client.address());
        trickling.spawn(async move {
            let mut socket = TcpStream::connect(to).await.unwrap();
            socket.set_nodelay(true).unwrap();
            for byte in &ping {
                socket.write_all(&[*byte]).await.unwrap();
                tokio::task::yield_now().await;
            }
            timeout(PATIENCE, Response::read(&mut socket))
                .await
                .unwrap()
        });
    }
    assert_answers(&client).await;
    while let Some(answer) = trickling.join_next().await {
        assert_eq!(answer.unwrap().status, 200);
    }
}

#[tokio::test]
async fn a_client_that_reads_no_answer_delays_no_other() {
    let (_stack, client) = gateway().await;
    let list = client.request("tools/list", json!({}));
    let list = list.header("Connection", "keep-alive");
    let list = list.bytes(client.address());
    let mut deaf = Vec::new();
    for _ in 0..3 {
        let mut socket = TcpStream::connect(client.address()).await.unwrap();
        // Until the gateway stops reading, since its answers are not read.
        while timeout(STUCK, socket.write_all(&list)).await.is_ok() {}
        deaf.push(socket);
        assert_answers(&client).await;
    }
}

#[tokio::test]
async fn headers_that_never_end_cost_their_own_connection_only() {
    let (_stack, client) = gateway().await;
    let mut endless = TcpStream::connect(client.address()).await.unwrap();
    let head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Long: ";
    endless.write_all(head).await.unwrap();
    endless.write_all(&[b'x'; 20 << 10]).await.unwrap();
    assert_answers(&client).await;
    endless.write_all(&[b'x'; 20 << 10]).await.unwrap();
    let answer = timeout(PATIENCE, Response::read(&mut endless))
        .await
        .unwrap();
    assert_eq!(answer.status, 431);
    assert_answers(&client).await;
}
