//! Pages that stay up to date: what a stream tells, how many there may be, and what a browser keeps meanwhile.

use std::time::Duration;

use e2e::{Stack, http::Request};
use serde_json::json;
use sqlx::{Executor, Row};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use super::{
    browser::{Browser, DESKTOP},
    pages::{self, harness},
};

/// Streams of a gateway at a time.
const MOST_STREAMS: usize = 24;

/// An open stream, and what it told so far.
struct Stream {
    socket: TcpStream,
    told: String,
}

impl Stream {
    async fn open(stack: &Stack, path: &str) -> Stream {
        let mut socket = TcpStream::connect(stack.admin()).await.unwrap();
        let request = Request::new("GET", path).bytes(stack.admin());
        socket.write_all(&request).await.unwrap();
        Stream {
            socket,
            told: String::new(),
        }
    }

    /// Reads until the stream has told this. `false` if it ended before.
    async fn tells(&mut self, text: &str) -> bool {
        let read = async {
            while !self.told.contains(text) {
                let mut bytes = vec![0; 64 * 1024];
                match self.socket.read(&mut bytes).await {
                    Ok(0) | Err(_) => return false,
                    Ok(read) => {
                        bytes.truncate(read);
                        self.told += &String::from_utf8_lossy(&bytes);
                    }
                }
            }
            true
        };
        timeout(Duration::from_secs(90), read)
            .await
            .expect("in time")
    }
}

#[tokio::test]
async fn a_stream_tells_a_new_call_and_others_have_room_beside_it() {
    let stack = harness().start().await;
    let client = stack.client("acme");
    let mut calls = Stream::open(&stack, "/console/live/calls?tool=hello").await;
    assert!(calls.tells("data: ").await, "{}", calls.told);
    assert!(
        calls.told.contains("content-type: text/event-stream"),
        "{}",
        calls.told
    );
    client.call("hello", json!({})).await.structured();
    client.call("list_projects", json!({})).await.structured();
    assert!(calls.tells(">hello<").await, "{}", calls.told);
    assert!(!calls.told.contains(">list_projects<"), "{}", calls.told);
    let mut streams = vec![calls];
    while streams.len() < MOST_STREAMS {
        let mut stream = Stream::open(&stack, "/console/live").await;
        assert!(stream.tells("calls in 24 hours").await, "{}", stream.told);
        streams.push(stream);
    }
    let more = Request::new("GET", "/console/live")
        .send(stack.admin())
        .await;
    assert_eq!(more.status, 503);
    for path in ["/readyz", "/console"] {
        let answer = Request::new("GET", path).send(stack.admin()).await;
        assert_eq!(answer.status, 200, "{path}");
    }
    drop(streams);
    let again = async || {
        let mut stream = Stream::open(&stack, "/console/live").await;
        stream.tells("\r\n\r\n").await;
        stream.told.starts_with("HTTP/1.1 200").then_some(())
    };
    stack.eventually(again).await;
    let none = Request::new("GET", "/console/live/tenants")
        .send(stack.admin())
        .await;
    assert_eq!(none.status, 404);
}

#[tokio::test]
async fn one_round_of_queries_feeds_all_who_look_at_a_page() {
    let stack = harness().replicas(1).start().await;
    let owner = pages::owner(&stack).await;
    let track = "do $$ begin execute format('alter database %I set track_functions = ''all''', current_database()); end $$";
    owner.execute(track).await.unwrap();
    // New connections count.
    let cut = "select pg_terminate_backend(pid) from pg_stat_activity \
               where datname = current_database() and pid <> pg_backend_pid()";
    owner.execute(cut).await.unwrap();
    let count = async || {
        let asked = "select coalesce(sum(calls), 0)::int8 from pg_stat_user_functions where funcname = 'console_calls'";
        let row = owner.fetch_one(asked).await.unwrap();
        row.get::<i64, _>(0)
    };
    let mut streams = Vec::new();
    for _ in 0..12 {
        streams.push(Stream::open(&stack, "/console/live/calls").await);
    }
    let began = tokio::time::Instant::now();
    for stream in &mut streams {
        assert!(stream.tells("data: ").await, "{}", stream.told);
    }
    let client = stack.client("acme");
    client.call("hello", json!({})).await.structured();
    for stream in &mut streams {
        assert!(stream.tells(">hello<").await, "{}", stream.told);
    }
    let counted = async || Some(count().await).filter(|count| *count > 0);
    let count = stack.eventually(counted).await;
    let rounds = began.elapsed().as_secs() / 5 + 2;
    assert!(count <= rounds as i64, "{count} queries in {rounds} rounds");
}

#[tokio::test]
async fn a_gateway_that_ends_closes_its_streams() {
    let mut stack = harness().start().await;
    let mut stream = Stream::open(&stack, "/console/live").await;
    assert!(stream.tells("data: ").await, "{}", stream.told);
    let began = tokio::time::Instant::now();
    stack.stop(0).await;
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
    assert!(!stream.tells("never told").await);
}

#[tokio::test]
async fn a_live_page_keeps_focus_half_typed_text_and_what_is_open() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let stack = harness().start().await;
    let client = stack.client("acme");
    for _ in 0..40 {
        client.call("hello", json!({})).await.structured();
    }
    pages::once(&stack, "/console/calls", &["hello"]).await;
    browser.open(&stack, "/console/calls", DESKTOP).await;
    browser
        .until("document.querySelectorAll('tbody tr').length >= 40")
        .await;
    browser
        .until("document.getElementById('live-state').textContent === 'live'")
        .await;
    browser.run("window.mark = 1").await;
    browser
        .run("document.querySelector('tbody tr:nth-child(3) summary').click(), window.row = document.querySelector('tbody tr:nth-child(3)'), 0")
        .await;
    browser
        .run("document.querySelector('input[name=tool]').focus()")
        .await;
    browser.enter("he").await;
    browser.run("scrollTo(0, 150)").await;
    client.call("list_projects", json!({})).await.structured();
    browser
        .until("document.body.innerText.includes('list_projects')")
        .await;
    let kept = "[window.mark, document.activeElement.name, document.activeElement.value, scrollY > 100, \
                 row.isConnected && row.querySelector('details').open]";
    assert_eq!(
        browser.run(kept).await,
        json!([1, "tool", "he", true, true])
    );
    // The overview keeps the focus on a link in the part that changes.
    browser.open(&stack, "/console", DESKTOP).await;
    browser.run("window.mark = 1").await;
    browser
        .until(
            "[...document.querySelectorAll('main td a')].some((it) => it.textContent === 'hello')",
        )
        .await;
    let focus = "(window.own = [...document.querySelectorAll('main td a')].find((it) => it.textContent === 'hello')).focus()";
    browser.run(focus).await;
    browser
        .run("window.tile = document.querySelector('.tile .more').textContent")
        .await;
    browser
        .until("document.querySelector('.tile .more').textContent !== tile")
        .await;
    let kept = "[window.mark, document.activeElement === own, own.isConnected]";
    assert_eq!(browser.run(kept).await, json!([1, true, true]));
}

#[tokio::test]
async fn without_scripts_the_overview_is_loaded_again() {
    let stack = harness().start().await;
    let page = pages::at(&stack, "/console").await;
    assert!(
        page.contains("<noscript><meta http-equiv=\"refresh\" content=\"5\"></noscript>"),
        "{page}"
    );
    for path in [
        "/console?still",
        "/console/calls?before=1",
        "/console/tenants",
    ] {
        let page = pages::at(&stack, path).await;
        assert!(
            !page.contains("<script") && !page.contains("http-equiv"),
            "{path}"
        );
    }
    let script = Request::new("GET", "/console/live.js")
        .send(stack.admin())
        .await;
    assert!(
        script
            .header("content-type")
            .unwrap()
            .starts_with("text/javascript")
    );
    let policy = script.header("content-security-policy").unwrap();
    assert!(
        policy.contains("script-src 'self'") && !policy.contains("unsafe"),
        "{policy}"
    );
}
