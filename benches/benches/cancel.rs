//! How long a worker continues after a client left: from the end of the client's socket until the worker
//! notices that its call's stream was dropped, in both protocol eras, through gateway and gRPC.
//!
//! Target: under 100 ms in each of 50 rounds. Run: `cargo bench -p archway-benches --bench cancel`. It
//! starts a PostgreSQL, or uses that of `ARCHWAY_TEST_DATABASE_URL`.

use archway_benches::{median, quantile};
use e2e::{Client, HangEvent, Harness, Tenant};
use serde_json::json;
use tokio::{
    io::AsyncWriteExt,
    net::TcpStream,
    sync::mpsc::{self, Receiver},
    time::Instant,
};

const ROUNDS: usize = 50;

#[tokio::main]
async fn main() {
    let (hung, mut heard) = mpsc::channel(2);
    let stack = Harness::new().tenant(Tenant::new("acme")).hanging(hung);
    let stack = stack.start().await;
    let older = stack.client("acme");
    let eras = [
        ("2025-11-25", older.clone()),
        ("2026-07-28", older.modern()),
    ];
    for (era, client) in eras {
        let mut taken = Vec::new();
        for _ in 0..ROUNDS {
            taken.push(leave(&client, &mut heard).await);
        }
        let longest = quantile(&mut taken, 1.0);
        println!(
            "{era}: client gone → call gone  p50 {:6.2} ms   p100 {longest:6.2} ms   of {ROUNDS} (target < 100)",
            median(&mut taken)
        );
    }
}

/// For how many milliseconds the worker continues.
async fn leave(client: &Client, heard: &mut Receiver<HangEvent>) -> f64 {
    let call = client.request("tools/call", json!({ "name": "hang", "arguments": {} }));
    let socket = TcpStream::connect(client.address()).await;
    let mut socket = socket.expect("the gateway listens");
    let sent = socket.write_all(&call.bytes(client.address())).await;
    sent.expect("the connection holds");
    assert_eq!(heard.recv().await, Some(HangEvent::Began));
    let left = Instant::now();
    drop(socket);
    match heard.recv().await {
        Some(HangEvent::Gone(at)) => (at - left).as_secs_f64() * 1e3,
        other => panic!("{other:?} instead of the call's end"),
    }
}
