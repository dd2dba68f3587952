//! What bad keys and sessions leave in a gateway: its resident memory, step by step.
//!
//! Each bad key is different and comes from a different address of the loopback network, so every table
//! that remembers either is filled. The worker of `dev` is in the same process and idle; PostgreSQL is a
//! separate process. Run: `cargo build --release && cargo bench -p archway-benches --bench memory`, followed
//! by `-- --keys N --sessions N --spending N` for other numbers.
//!
//! Then an attacker without limits on its totals opens sessions and makes one call in each, so that every
//! session has a bucket, while another tenant calls `hello`. Targets for a million (`--spending 1000000`,
//! which takes minutes): under 100 MB, and the other tenant's p99 at most 20 % longer than while the same
//! clients call in one session each.

use std::net::{Ipv4Addr, SocketAddr};

use archway_benches::{Client, Dev, HELLO, Layout, Project, Stack, median, number, quantile};
use rand::{Rng, SeedableRng, rngs::StdRng};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpSocket,
};

const KEYS: usize = 20_000;
const SESSIONS: usize = 100_000;
const SPENDING: usize = 50_000;
/// At most as many as a gateway's concurrent queries to Postgres.
const STRANGERS: usize = 4;
const CLIENTS: usize = 8;
const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
    r#""capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#,
);

#[tokio::main]
async fn main() {
    let (keys, sessions) = (number("--keys", KEYS), number("--sessions", SESSIONS));
    let folder = tempfile::tempdir().expect("a folder");
    let repo = folder.path().join("repo");
    archway_benches::generate(&repo, 10);
    let dev = Dev::start(&repo, &folder.path().join("data"));
    dev.lift().await;

    report(&dev, "started");
    post_all(&dev, HELLO, 2_000).await;
    let warm = report(&dev, "after 2000 calls");
    let refused = knock_all(&dev, keys).await;
    let knocked = report(&dev, &format!("after {keys} bad keys"));
    println!("  {refused} of them were answered 401, the others 429 or 503");
    post_all(&dev, INITIALIZE, sessions).await;
    let opened = report(&dev, &format!("after {sessions} opened sessions"));
    println!(
        "bad keys: {:+.1} MiB, sessions: {:+.1} MiB",
        knocked - warm,
        opened - knocked
    );
    dev.stop();
    spend_all(number("--spending", SPENDING)).await;
}

/// One tenant calls once in this many sessions. Prints the memory that they take, and the other's latency.
async fn spend_all(count: usize) {
    let (attacker, other) = ("attacker", "other");
    let stack = Stack::start(Layout {
        tenants: vec![attacker.to_owned(), other.to_owned()],
        project: Project::Generated(10),
        ..Layout::default()
    })
    .await;
    for tenant in [attacker, other] {
        stack.set_limits(tenant, 1_000_000).await;
    }
    // A warm-up, and the baseline of the same load without new sessions.
    let url = stack.gateways[0].url();
    let key = stack.key(attacker).to_owned();
    let calm = beside(&stack, other, attack(&url, &key, count / 10, false)).await;
    let before = stack.gateways[0].usage().resident_mib;
    let attacked = beside(&stack, other, attack(&url, &key, count, true)).await;
    let grown = stack.gateways[0].usage().resident_mib - before;
    println!("{count} sessions that spent once: {grown:+.1} MiB (target < 100 for a million)");
    for (what, mut taken) in [("one session a client", calm), ("new sessions", attacked)] {
        println!(
            "  hello of another tenant beside {what:21} p50 {:6.2} ms   p99 {:6.2} ms",
            median(&mut taken),
            quantile(&mut taken, 0.99)
        );
    }
}

/// Latencies of another tenant's calls during `attack`, in milliseconds.
async fn beside(stack: &Stack, tenant: &str, attack: impl Future<Output = ()>) -> Vec<f64> {
    let url = stack.gateways[0].url();
    let mut client = Client::connect(&url, stack.key(tenant), HELLO).await;
    let mut taken = Vec::new();
    let mut attack = std::pin::pin!(attack);
    loop {
        let call = async {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            client.time(1).await
        };
        tokio::select! {
            () = &mut attack => return taken,
            call = call => taken.extend(call),
        }
    }
}

/// Makes this many pairs of `initialize` and a call, either in the new session or always in the client's
/// first one.
async fn attack(url: &str, key: &str, count: usize, anew: bool) {
    let mut attacking = tokio::task::JoinSet::new();
    for _ in 0..CLIENTS {
        let (url, key) = (url.to_owned(), key.to_owned());
        attacking.spawn(async move {
            let mut opening = Client::connect(&url, &key, INITIALIZE).await;
            let mut spending = Client::connect(&url, &key, HELLO).await;
            let first = opening.opened().await;
            for _ in 0..count / CLIENTS {
                let opened = opening.opened().await;
                let handle = if anew { &opened } else { &first };
                spending.set_header("Mcp-Session-Id", handle);
                spending.post().await;
            }
        });
    }
    while let Some(client) = attacking.join_next().await {
        client.expect("a client");
    }
}

/// Prints and returns the resident memory, in MiB.
fn report(dev: &Dev, step: &str) -> f64 {
    let resident = dev.usage().resident_mib;
    println!("{step:30} {resident:7.1} MiB");
    resident
}

/// Posts `body` this many times, over a few connections.
async fn post_all(dev: &Dev, body: &str, times: usize) {
    let mut posting = Vec::new();
    for _ in 0..CLIENTS {
        let mut client = Client::connect(&dev.url, &dev.key, body).await;
        posting.push(tokio::spawn(async move {
            for _ in 0..times / CLIENTS {
                client.post().await;
            }
        }));
    }
    for client in posting {
        client.await.expect("a client");
    }
}

/// Tries `count` keys that were never issued. Returns how many were answered 401.
async fn knock_all(dev: &Dev, count: usize) -> usize {
    let address = dev.url.trim_start_matches("http://");
    let to: SocketAddr = address
        .split('/')
        .next()
        .expect("a host")
        .parse()
        .expect("an address");
    let mut knocking = Vec::new();
    for first in 0..STRANGERS {
        knocking.push(tokio::spawn(async move {
            let mut random = StdRng::seed_from_u64(first as u64);
            let mut refused = 0;
            for number in (first..count).step_by(STRANGERS) {
                let status = knock(to, number, &unknown_key(&mut random)).await;
                assert!([401, 429, 503].contains(&status), "{status}");
                refused += usize::from(status == 401);
            }
            refused
        }));
    }
    let mut refused = 0;
    for stranger in knocking {
        refused += stranger.await.expect("a stranger");
    }
    refused
}

/// Sends one request with a bad key, from its own address. Returns the status.
async fn knock(to: SocketAddr, number: usize, key: &str) -> u16 {
    let number = u32::try_from(number).expect("a small number");
    let source = Ipv4Addr::from_bits(Ipv4Addr::new(127, 1, 0, 0).to_bits() + number);
    let socket = TcpSocket::new_v4().expect("a socket");
    socket
        .bind(SocketAddr::new(source.into(), 0))
        .expect("all of 127.0.0.0/8 is this machine");
    let mut stream = socket.connect(to).await.expect("the gateway listens");
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {to}\r\nAuthorization: Bearer {key}\r\n\
         Connection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.expect("TCP");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    let status = answer.split(' ').nth(1).expect("a status line");
    status.parse().expect("a status")
}

/// A well-formed key, checksum included, so that it is looked up.
fn unknown_key(random: &mut StdRng) -> String {
    let mut part = |length: usize| -> String {
        let digits = (0..length).map(|_| DIGITS[random.random_range(0..62_usize)]);
        digits.map(char::from).collect()
    };
    let body = format!("awy_{}_{}", part(12), part(32));
    let mut rest = crc32(body.as_bytes());
    let mut checksum = [b'0'; 6];
    for digit in checksum.iter_mut().rev() {
        *digit = DIGITS[(rest % 62) as usize];
        rest /= 62;
    }
    format!(
        "{body}_{}",
        checksum.map(char::from).iter().collect::<String>()
    )
}

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// CRC-32 of IEEE 802.3.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| (crc >> 1) ^ (0xEDB8_8320 * (crc & 1));
    let byte = |crc, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), |crc, _bit| step(crc));
    !bytes.iter().fold(u32::MAX, byte)
}
