//! Changes while a call runs, or between two calls: heads move, commits are added, clients disconnect.

use e2e::{GeneratedHistory, Repo, Stack, git, http::Request};
use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt, net::TcpStream, time::Instant};

use super::commit;
use crate::serve;

const ADA: &str = "Ada <ada@example.com>";
const DATE: &str = "2026-01-02T03:04:05Z";

#[tokio::test]
async fn all_pages_of_a_log_use_the_commit_of_the_first() {
    let (stack, client) = serve(Repo::new().history(GeneratedHistory {
        seed: 3,
        commits: 120,
    }))
    .await;
    let folder = stack.folder("acme", "site");
    for path in [Value::Null, json!("src"), json!("src/m00")] {
        let expected = {
            let mut arguments = vec!["log", "--format=%H", "HEAD", "--"];
            arguments.extend(path.as_str());
            git(&folder, &arguments)
        };
        let mut arguments = json!({ "max_count": 7, "file_path": path });
        let mut shas = Vec::new();
        loop {
            let reply = client.call("git_log", arguments.clone()).await;
            let data = reply.structured();
            let page = data["commits"].as_array().unwrap().iter();
            shas.extend(page.map(|commit| commit["sha"].as_str().unwrap().to_owned()));
            assert_eq!(data["truncated"] == true, data.get("cursor").is_some());
            match data.get("cursor") {
                Some(cursor) => arguments["cursor"] = cursor.clone(),
                None => break,
            }
            std::fs::write(folder.join("src/new.txt"), shas.len().to_string()).unwrap();
            commit(&folder, ADA, DATE, "between two pages");
        }
        assert_eq!(shas, expected.lines().collect::<Vec<_>>(), "{path}");
    }
}

#[tokio::test]
async fn a_cursor_goes_with_the_filters_it_was_given_for() {
    let (_stack, client) = serve(Repo::new().history(GeneratedHistory {
        seed: 3,
        commits: 60,
    }))
    .await;
    let first = client.call("git_log", json!({ "max_count": 3 })).await;
    let cursor = &first.structured()["cursor"];
    for other in [
        json!({ "author": "ada" }),
        json!({ "ref": "HEAD~1" }),
        json!({ "file_path": "src" }),
    ] {
        let mut arguments = other.clone();
        arguments["cursor"] = cursor.clone();
        let reply = client.call("git_log", arguments).await;
        assert_eq!(
            reply.code(),
            "invalid_arguments",
            "{other}: {}",
            reply.value()
        );
    }
    let forged = client
        .call("git_log", json!({ "cursor": "bm90IGEgY3Vyc29y" }))
        .await;
    assert_eq!(forged.code(), "invalid_arguments", "{}", forged.value());
}

#[tokio::test]
async fn every_answer_is_of_one_commit_while_the_head_moves() {
    let (stack, client) = serve(Repo::new().history(GeneratedHistory {
        seed: 9,
        commits: 60,
    }))
    .await;
    let folder = stack.folder("acme", "site");
    let mover = std::thread::spawn(move || {
        for _ in 0..40 {
            commit(&folder, ADA, DATE, "on and on");
        }
    });
    let mut answers = 0;
    while !mover.is_finished() || answers == 0 {
        let reply = client.call("git_log", json!({ "max_count": 1 })).await;
        let newest = &reply.structured()["commits"][0]["sha"];
        assert_eq!(newest, &reply.meta("commit")["id"], "{}", reply.value());
        let diff = client.call("git_diff", json!({ "ref1": "HEAD" })).await;
        assert_eq!(
            diff.structured()["base"],
            diff.meta("commit")["id"],
            "{}",
            diff.value()
        );
        answers += 1;
    }
    mover.join().unwrap();
}

/// As many as the worker's threads for blocking calls: if these calls went on, the next would wait.
const LEFT: usize = 16;

#[tokio::test]
async fn a_call_behind_many_that_were_left_does_not_wait_for_their_end() {
    let (stack, client) = serve(Repo::new().history(GeneratedHistory {
        seed: 2,
        commits: 3_000,
    }))
    .await;
    let call = json!({ "name": "git_log", "arguments": { "author": "nobody at all" } });
    let call = client.request("tools/call", call).bytes(client.address());
    let begin = async || {
        let mut sockets = Vec::new();
        for _ in 0..LEFT {
            let mut socket = TcpStream::connect(client.address()).await.unwrap();
            socket.write_all(&call).await.unwrap();
            sockets.push(socket);
        }
        stack
            .eventually(async || (in_flight(&stack).await > LEFT / 2).then_some(()))
            .await;
        sockets
    };
    let next = async || {
        let started = Instant::now();
        let reply = client
            .call("git_diff", json!({ "ref1": "HEAD", "ref2": "HEAD" }))
            .await;
        assert!(!reply.is_error(), "{}", reply.value());
        started.elapsed()
    };
    drop(begin().await);
    let behind_those_that_left = next().await;
    stack
        .eventually(async || (in_flight(&stack).await == 0).then_some(()))
        .await;
    let waiting = begin().await;
    let behind_those_that_wait = next().await;
    drop(waiting);
    assert!(
        behind_those_that_left < behind_those_that_wait / 2,
        "{behind_those_that_left:?}, against {behind_those_that_wait:?} behind calls that go on"
    );
}

/// The number of calls that hold a permit of their tenant.
async fn in_flight(stack: &Stack) -> usize {
    let metrics = Request::new("GET", "/metrics").send(stack.admin()).await;
    let text = metrics.text();
    let gauge = text
        .lines()
        .find_map(|line| line.strip_prefix("archway_gateway_calls_in_flight "));
    gauge.map_or(0, |number| number.trim().parse().unwrap())
}
