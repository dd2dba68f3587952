//! A search of every project whose time is up before all are searched: the next page goes on.

use std::iter;

use e2e::{Harness, Key, Repo, Stack, Tenant};
use serde_json::{Value, json};

use super::{both, column};

/// Half of all letters begin an attempt that goes on for 600 more: a search follows up to 300 at each letter.
const SLOW_PATTERN: &str = "[a-m][a-z]{600}[0-9_#%+=]";
/// One file takes a thread some 3 ms with this pattern: all of them take it four times as long as a call may.
const SLOW_FILES: u32 = 4_000;
/// Letters of each of these files.
const LETTERS: usize = 1_000;
/// How long a call may take, in seconds.
const CALL_DEADLINE: u64 = 3;

/// Random letters.
fn letters(seed: u32) -> String {
    let next = |state: &u32| Some(state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
    let states = iter::successors(Some(seed), next).skip(1).take(LETTERS);
    let letter = |state: u32| char::from_digit(10 + (state >> 16) % 26, 36).unwrap();
    states.map(letter).collect()
}

/// The projects `a`, `b-slow` and `c`, without an index; `of-slow` is a key whose default is `b-slow`.
async fn slow_stack() -> Stack {
    let small = || Repo::new().file("a.txt", format!("{}7\n", "a".repeat(601)));
    let slow = (0..SLOW_FILES).fold(Repo::new(), |repo, number| {
        repo.file(&format!("f{number:04}.txt"), letters(number))
    });
    let acme = Tenant::new("acme")
        .key(Key::new("of-slow").default_project("b-slow"))
        .project("a", small())
        .project("b-slow", slow)
        .project("c", small());
    let harness = Harness::new().tenant(acme).search_cache(0);
    let harness = harness.search_threads(1);
    let harness = harness.configure(|config| config.upstream.call_deadline = CALL_DEADLINE);
    harness.start().await
}

#[tokio::test]
async fn a_star_goes_on_after_a_project_that_takes_all_the_time() {
    let stack = slow_stack().await;
    let (client, of_slow) = (stack.client("acme"), stack.keyed("acme", "of-slow"));
    let mut arguments = json!({ "pattern": SLOW_PATTERN, "project": "*", "case_sensitive": true });

    let failed = of_slow.call("grep_codebase", arguments.clone()).await;
    assert_eq!(failed.code(), "search_timeout", "nothing was searched");
    let message = failed.error()["message"].as_str().unwrap();
    assert!(message.contains("b-slow"), "{message}");

    let slow = json!({ "project": "b-slow", "code": "search_timeout" });
    let pages: [(&[&str], Value, bool); 3] = [
        (
            &["a"],
            json!({ "searched": 1, "remaining": 2, "skipped": [] }),
            true,
        ),
        (
            &[],
            json!({ "searched": 0, "remaining": 1, "skipped": [slow] }),
            true,
        ),
        (
            &["c"],
            json!({ "searched": 1, "remaining": 0, "skipped": [] }),
            false,
        ),
    ];
    for (found, counts, is_late) in pages {
        let reply = client.call("grep_codebase", arguments.clone()).await;
        let data = both(&reply);
        assert_eq!(column(&data["matches"], "project"), found, "{counts}");
        assert_eq!(*reply.meta("projects"), counts);
        assert_eq!(data["truncated"], is_late, "{counts}");
        assert_eq!(data["cursor"].is_string(), is_late, "{counts}");
        arguments["cursor"] = data["cursor"].clone();
    }
}
