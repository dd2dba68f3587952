//! A session's workflow through the real path: opened by a prompt, filled by its tools' calls.

mod bounds;

use e2e::{Client, Harness, Key, Repo, Stack, Tenant};
use serde_json::{Value, json};

use crate::{refused, result};

/// A project with a prompt that makes calls, and one that sums up their answers.
fn site() -> Repo {
    let prompt = |name: &str, text: &str| {
        json!({
            "name": name, "description": name,
            "arguments": [{ "name": "what", "required": false }],
            "messages": [{ "role": "user", "content": { "type": "text", "text": text } }],
        })
        .to_string()
    };
    let look = "{{tool:grep_codebase}}{{tool:read-file}}{{tool:search_memory}}{{what}}";
    Repo::new()
        .file(".archway/prompts/look.json", prompt("look", look))
        .file(
            ".archway/prompts/sum.json",
            prompt("sum", "{{result:grep-codebase}}|{{result:read_file}}"),
        )
        .file("a.txt", "needle \u{202e}\n")
        .file("big.txt", "0123456789abcde\n".repeat(20_000))
        .commit()
}

fn acme() -> Tenant {
    Tenant::new("acme")
        .project("site", site())
        .project("other", site())
        .key(Key::new("site").default_project("site"))
        .key(Key::new("second").default_project("site"))
}

async fn get(client: &Client, name: &str, what: &str) -> String {
    let params = json!({ "name": name, "arguments": { "what": what } });
    let got = result(client, "prompts/get", params).await;
    got["messages"][0]["content"]["text"]
        .as_str()
        .unwrap()
        .to_owned()
}

async fn current(client: &Client) -> Value {
    let read = json!({ "uri": "workflow://current" });
    let read = result(client, "resources/read", read).await;
    let part = &read["contents"][0];
    assert_eq!(part["mimeType"], "application/json");
    serde_json::from_str(part["text"].as_str().unwrap()).unwrap()
}

async fn grep(client: &Client) -> Value {
    let found = client
        .call("grep_codebase", json!({ "pattern": "needle" }))
        .await;
    found.structured().clone()
}

#[tokio::test]
async fn a_prompt_opens_a_workflow_that_tool_calls_fill() {
    let stack = Harness::new().tenant(acme()).start().await;
    let client = stack.keyed("acme", "site");
    assert_eq!(current(&client).await, Value::Null);
    grep(&client).await;
    let sum = get(&client, "sum", "").await;
    assert_eq!(
        sum,
        "[there is no result of grep_codebase yet]|[there is no result of read_file yet]"
    );

    get(&client, "look", "the parser").await;
    let opened = current(&client).await;
    assert_eq!(opened["prompt"], "look");
    assert_eq!(opened["arguments"], json!({ "what": "the parser" }));
    assert_eq!(
        opened["results"],
        json!({}),
        "what was called before is not its"
    );
    let since: &str = opened["since"].as_str().unwrap();
    assert!(since.ends_with('Z') && since.starts_with("20"), "{since}");

    client
        .call("grep_codebase", json!({ "pattern": "none" }))
        .await;
    let found = grep(&client).await;
    client.call("list_files", json!({})).await;
    client.call("read_file", json!({ "path": "none" })).await;
    let now = current(&client).await;
    assert_eq!(
        now["results"],
        json!({ "grep_codebase": found }),
        "the last success of what it names"
    );
    assert_eq!(now["since"], opened["since"]);

    let sum = get(&client, "sum", "").await;
    let (first, rest) = sum.split_once('|').unwrap();
    assert_eq!(serde_json::from_str::<Value>(first).unwrap(), found);
    assert_eq!(rest, "[there is no result of read_file yet]");
    assert_eq!(current(&client).await["prompt"], "sum");
}

#[tokio::test]
async fn a_workflow_is_its_sessions_own() {
    let zeta = Tenant::new("zeta").project("site", site());
    let stack = Harness::new().tenant(acme()).tenant(zeta).start().await;
    let client = stack.keyed("acme", "site");
    get(&client, "look", "mine").await;
    grep(&client).await;
    for other in [stack.keyed("acme", "second"), stack.client("zeta")] {
        assert_eq!(current(&other).await, Value::Null);
    }
    let labelled = client.clone().modern();
    let labelled = labelled.request("resources/read", json!({ "uri": "workflow://current" }));
    let labelled = labelled
        .header("Archway-Session", "apart")
        .send(client.address())
        .await;
    assert_eq!(labelled.json()["result"]["contents"][0]["text"], "null");
    // Without a label or a handle it is the key's own session, in either era.
    assert_eq!(current(&client.modern()).await["arguments"]["what"], "mine");
}

#[tokio::test]
async fn a_workflow_is_returned_to_a_key_that_may_still_read_it() {
    let stack = Harness::new().tenant(acme()).start().await;
    let client = stack.keyed("acme", "site");
    get(&client, "look", "").await;
    grep(&client).await;
    let elsewhere = json!({ "path": "a.txt", "project": "other" });
    client.call("read_file", elsewhere).await.structured();
    let results = async || {
        let now = current(&client).await;
        let results = now["results"].as_object().unwrap().clone();
        results
            .into_iter()
            .map(|(tool, _)| tool)
            .collect::<Vec<_>>()
    };
    assert_eq!(results().await, ["grep_codebase", "read_file"]);
    narrow(&stack, &client, "projects = '{site}'").await;
    stack
        .eventually(async || (results().await == ["grep_codebase"]).then_some(()))
        .await;
    narrow(&stack, &client, "families = '{files}'").await;
    stack
        .eventually(async || results().await.is_empty().then_some(()))
        .await;
    let error = refused(&client, "prompts/get", json!({ "name": "sum" })).await;
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("no tool \"grep-codebase\""),
        "{error}"
    );
}

/// Changes a key's record and notifies the gateways.
async fn narrow(stack: &Stack, client: &Client, how: &str) {
    let id = client.key().split('_').nth(1).unwrap();
    let change = format!("update api_keys set {how} where id = '{id}'");
    let owner = sqlx::PgPool::connect_with(stack.database().owner())
        .await
        .unwrap();
    sqlx::query(sqlx::AssertSqlSafe(change))
        .execute(&owner)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_workflow_is_bounded_and_expires() {
    let stack = Harness::new().tenant(acme()).start().await;
    let client = stack.keyed("acme", "site");
    get(&client, "look", &"x".repeat(100_000)).await;
    let what = current(&client).await["arguments"]["what"].clone();
    assert_eq!(
        what.as_str().unwrap().chars().count(),
        1_001,
        "its beginning"
    );
    grep(&client).await;
    let whole = json!({ "path": "big.txt", "max_bytes": 400_000 });
    client.call("read_file", whole).await.structured();
    let results = current(&client).await["results"].clone();
    assert_eq!(
        results.as_object().unwrap().len(),
        1,
        "the large one is not stored: {results}"
    );

    let owner = sqlx::PgPool::connect_with(stack.database().owner())
        .await
        .unwrap();
    let later = "update workflows set touched_at = now() - interval '31 minutes'";
    sqlx::query(later).execute(&owner).await.unwrap();
    assert_eq!(current(&client).await, Value::Null);
    get(&client, "sum", "").await;
    assert_eq!(
        current(&client).await["results"],
        json!({}),
        "what ended does not come back"
    );
    sqlx::query(later).execute(&owner).await.unwrap();
    let erased = sqlx::query_scalar::<_, i64>("select erase_ended_workflows()");
    assert_eq!(erased.fetch_one(&owner).await.unwrap(), 1);
}

#[tokio::test]
async fn any_worker_knows_a_workflow_opened_by_another() {
    let stack = Harness::new().tenant(acme()).workers(2).start().await;
    let client = stack.keyed("acme", "site");
    get(&client, "look", "").await;
    // Calls go to either worker, by project and load.
    for project in ["site", "other"] {
        let kept = async || {
            let arguments = json!({ "pattern": "needle", "project": project });
            let found = client.call("grep_codebase", arguments).await;
            let matches = found.structured()["matches"].clone();
            let now = current(&client).await["results"]["grep_codebase"]["matches"].clone();
            (now == matches).then_some(())
        };
        stack.eventually(kept).await;
    }
}

#[tokio::test]
async fn a_workflow_is_forgotten_when_paths_are_closed_or_memory_is_erased() {
    let stack = Harness::new().tenant(acme()).start().await;
    let client = stack.keyed("acme", "site");
    let owner = sqlx::PgPool::connect_with(stack.database().owner())
        .await
        .unwrap();
    for change in [
        "update projects set close_globs = array['secret/**']",
        "update projects set removed_at = null",
        "insert into memory_erasures (tenant_id, project_id, what, reason) \
         select tenant_id, id, 'decisions.jsonl/1', 'a password' from projects limit 1",
    ] {
        get(&client, "look", "").await;
        assert_ne!(current(&client).await, Value::Null);
        sqlx::query(change).execute(&owner).await.unwrap();
        assert_eq!(current(&client).await, Value::Null, "{change}");
    }
    owner.close().await;
}

#[tokio::test]
async fn without_its_table_calls_and_prompts_go_on() {
    let stack = Harness::new().tenant(acme()).start().await;
    let client = stack.keyed("acme", "site");
    get(&client, "look", "").await;
    let owner = sqlx::PgPool::connect_with(stack.database().owner())
        .await
        .unwrap();
    sqlx::query("alter table workflows rename to away")
        .execute(&owner)
        .await
        .unwrap();
    assert_eq!(grep(&client).await["totalMatches"], 1);
    get(&client, "look", "").await;
    let sum = get(&client, "sum", "").await;
    assert!(
        sum.starts_with("[what grep_codebase answered can't be read at the moment]"),
        "{sum}"
    );
    let read = json!({ "uri": "workflow://current" });
    let error = refused(&client, "resources/read", read).await;
    assert_eq!(
        (&error["code"], &error["data"]["code"]),
        (&json!(50300), &json!("unavailable"))
    );
}
