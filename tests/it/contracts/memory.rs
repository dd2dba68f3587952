//! The tools that write: the learning contract's `write_memory_entry`, and `record_discovery`.

use archway_proto::catalog::Scope;
use e2e::{Harness, Key, Reply, Repo, Tenant};
use serde_json::{Value, json};

use super::both;
use crate::serve;

/// The commit in `_meta`. `None` if the member is absent, which differs from null.
fn commit_in(reply: &Reply) -> Option<&Value> {
    reply.value()["_meta"].get("io.archway/commit")
}

fn of(file: &str, entry: Value) -> Value {
    json!({ "file": file, "entry": entry })
}

#[tokio::test]
async fn an_entry_is_appended_and_its_file_counted() {
    let (_stack, client) = serve(Repo::new().file("a.txt", "a").commit()).await;
    // The contract's example, to the letter.
    let example = json!({
        "file": "progress_log.jsonl",
        "entry": {
            "timestamp": "2026-01-07T14:00:00Z",
            "event": "task_completed",
            "task": "EDA notebook",
            "duration_hours": 2
        }
    });
    for count in 1..=3 {
        let reply = client.call("write_memory_entry", example.clone()).await;
        let told = json!({ "success": true, "file": "progress_log.jsonl", "entry_count": count });
        assert_eq!(both(&reply), &told);
        assert_eq!(commit_in(&reply), None);
        assert_eq!(reply.meta("project"), "site");
        assert!(reply.meta("untrusted").is_null());
    }
    let decision = json!({ "timestamp": "2026-01-07T14:00:00", "decision": "use Postgres" });
    let reply = client
        .call(
            "write_memory_entry",
            of("decisions.jsonl", decision.clone()),
        )
        .await;
    assert_eq!(both(&reply)["entry_count"], 1, "each file counts by itself");
    let found = client
        .call("search_memory", json!({ "file": "decisions.jsonl" }))
        .await;
    let entry = &both(&found)["entries"][0];
    assert_eq!(
        (&entry["file"], &entry["number"]),
        (&json!("decisions.jsonl"), &json!(1))
    );
    assert_eq!(
        (commit_in(&found), found.meta("project")),
        (None, &json!("site"))
    );
    assert_eq!(entry["entry"], decision, "stored as it was written");
    assert!(entry["written_at"].as_str().unwrap().ends_with('Z'));
    assert_eq!(found.structured()["total"], 1);
}

#[tokio::test]
async fn files_that_are_no_logs_are_not_written() {
    let (_stack, client) = serve(Repo::new().file("a.txt", "a")).await;
    for file in [
        "learner_profile.json",
        "best_practices.md",
        ".claude/memory/progress_log.jsonl",
        "../progress_log.jsonl",
        "PROGRESS_LOG.jsonl",
        "",
    ] {
        // Whatever the entry contains.
        let reply = client.call("write_memory_entry", of(file, json!({}))).await;
        assert_eq!(reply.code(), "write_not_allowed", "{file}");
        let allowed = json!(["progress_log.jsonl", "decisions.jsonl"]);
        assert_eq!(reply.error()["details"]["allowed"], allowed);
    }
}

#[tokio::test]
async fn the_size_of_an_entry_is_checked_first() {
    let (_stack, client) = serve(Repo::new().file("a.txt", "a")).await;
    let entry =
        |fill: usize| json!({ "timestamp": "2026-01-07T14:00:00Z", "event": "e".repeat(fill) });
    let frame = entry(0).to_string().len();
    let fits = of("progress_log.jsonl", entry(10_240 - frame));
    client.call("write_memory_entry", fits).await.structured();
    for too_large in [entry(10_241 - frame), json!({ "blob": "é".repeat(5_200) })] {
        let reply = client
            .call("write_memory_entry", of("progress_log.jsonl", too_large))
            .await;
        assert_eq!(reply.code(), "entry_too_large");
        assert_eq!(reply.error()["details"]["limit"], 10_240);
    }
}

#[tokio::test]
async fn an_entry_needs_an_event_or_decision_and_no_wrong_time() {
    let (_stack, client) = serve(Repo::new().file("a.txt", "a")).await;
    let deep = (0..32).fold(json!(1), |inner, _| json!({ "in": inner }));
    let time = "2026-01-07T14:00:00Z";
    for (wrong, path) in [
        (
            json!({ "timestamp": "2026-01-07", "event": "x" }),
            "entry.timestamp",
        ),
        (
            json!({ "timestamp": "1969-12-31T23:00:00Z", "event": "x" }),
            "entry.timestamp",
        ),
        (
            json!({ "timestamp": "2999-01-01T00:00:00Z", "event": "x" }),
            "entry.timestamp",
        ),
        (json!({ "timestamp": time }), "entry"),
        (json!({ "timestamp": time, "event": "" }), "entry.event"),
        (
            json!({ "timestamp": time, "decision": 7 }),
            "entry.decision",
        ),
        (
            json!({ "timestamp": time, "event": "x", "deep": deep }),
            "entry",
        ),
        (json!({ "timestamp": time, "event": "a\u{0}b" }), "entry"),
        (
            json!({ "timestamp": time, "event": "x", "a\u{0}b": 1 }),
            "entry",
        ),
    ] {
        let reply = client
            .call("write_memory_entry", of("decisions.jsonl", wrong.clone()))
            .await;
        assert_eq!(reply.code(), "invalid_arguments", "{wrong}");
        assert_eq!(
            reply.error()["details"]["violations"][0]["path"],
            path,
            "{wrong}"
        );
    }
    let needed = "entry: needs one of `event` and `decision`, a text that is not empty";
    for wrong in [
        json!({}),
        json!({ "event": "" }),
        json!({ "decision": 7 }),
        json!({ "event": null, "decision": [] }),
        json!({ "event": {}, "decision": "" }),
    ] {
        let mut entry = wrong.clone();
        entry["timestamp"] = json!(time);
        let reply = client
            .call("write_memory_entry", of("decisions.jsonl", entry))
            .await;
        let said = reply.error()["message"].as_str().unwrap();
        assert!(said.contains(needed), "{wrong}: {said}");
    }
    let one_is_good = json!({ "timestamp": time, "event": "x", "decision": 7 });
    let reply = client
        .call("write_memory_entry", of("decisions.jsonl", one_is_good))
        .await;
    let said = reply.error()["message"].as_str().unwrap();
    assert!(
        said.starts_with("entry.decision: ") && !said.contains(needed),
        "{said}"
    );
    for arguments in [
        json!({ "file": "decisions.jsonl" }),
        json!({ "entry": { "timestamp": time, "event": "x" } }),
        json!({ "file": "decisions.jsonl", "entry": "x" }),
        json!({ "file": "decisions.jsonl", "entry": [] }),
    ] {
        let reply = client.call("write_memory_entry", arguments.clone()).await;
        assert_eq!(reply.code(), "invalid_arguments", "{arguments}");
    }
    let found = client.call("search_memory", json!({})).await;
    assert_eq!(both(&found)["total"], 0, "nothing of it was written");
}

#[tokio::test]
async fn a_key_that_may_only_read_reads_memory_and_writes_none() {
    let acme = Tenant::new("acme")
        .project("site", Repo::new().file("a.txt", "a"))
        .key(Key::new("reader").scopes(&[Scope::ToolsRead]));
    let stack = Harness::new().tenant(acme).start().await;
    let reader = stack.keyed("acme", "reader");
    assert_eq!(
        both(&reader.call("search_memory", json!({})).await)["total"],
        0
    );
    let listed = reader.rpc("tools/list", json!({})).await.text().to_owned();
    for writer in ["write_memory_entry", "record_discovery"] {
        assert!(
            !listed.contains(&format!("\"name\":\"{writer}\"")),
            "{writer} is listed"
        );
        let refused = reader
            .rpc("tools/call", json!({ "name": writer, "arguments": {} }))
            .await;
        assert_eq!(refused.status, 403);
        let challenge = refused.header("www-authenticate").unwrap();
        assert!(challenge.contains("error=\"insufficient_scope\""));
        assert!(challenge.contains("scope=\"tools:read memory:write\""));
    }
}

#[tokio::test]
async fn a_discovery_is_recorded_and_may_be_superseded_within_its_project() {
    let repo = || Repo::new().file("src/a.rs", "").commit();
    let acme = Tenant::new("acme")
        .project("site", repo())
        .project("shop", repo());
    let stack = Harness::new().tenant(acme).start().await;
    let client = stack.client("acme");
    let record = async |project: &str, more: Value| {
        let mut arguments = json!({ "project": project, "type": "rule", "content": "use ids" });
        arguments
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        client.call("record_discovery", arguments).await
    };
    let all = json!({ "module": "auth", "paths": ["src/a.rs", "src/missing"] });
    let first = record("site", all).await;
    assert_eq!(
        (commit_in(&first), first.meta("project")),
        (None, &json!("site"))
    );
    let id = both(&first)["id"].as_str().unwrap();
    assert!(
        first.structured()["created_at"]
            .as_str()
            .unwrap()
            .ends_with('Z')
    );
    record("site", json!({ "supersedes": id }))
        .await
        .structured();
    // The latest successor wins if there are several.
    record("site", json!({ "supersedes": id }))
        .await
        .structured();

    let foreign = record("shop", json!({ "supersedes": id })).await;
    let unknown = record(
        "shop",
        json!({ "supersedes": "8f14e45f-ceea-467f-a9d2-2b1c3d4e5f60" }),
    );
    let no_id = record("shop", json!({ "supersedes": "first" }));
    for refused in [&unknown.await, &no_id.await] {
        assert_eq!(refused.code(), "invalid_arguments");
        assert_eq!(refused.error(), foreign.error(), "alike");
    }
    for (more, code) in [
        (json!({ "content": " \n" }), "invalid_arguments"),
        (json!({ "content": "a\u{0}b" }), "invalid_arguments"),
        (json!({ "content": "x".repeat(5001) }), "invalid_arguments"),
        (json!({ "type": "note" }), "invalid_arguments"),
        (json!({ "paths": ["../a.rs"] }), "access_denied"),
        (json!({ "paths": ["/etc/passwd"] }), "access_denied"),
        (json!({ "paths": [".env"] }), "access_denied"),
        (json!({ "paths": ["src/.git/config"] }), "access_denied"),
        (json!({ "paths": [""] }), "invalid_arguments"),
    ] {
        assert_eq!(record("site", more.clone()).await.code(), code, "{more}");
    }
    record("site", json!({ "content": "é".repeat(5000) }))
        .await
        .structured();
}
