//! Bounds on a tenant's workflows, and what a repository closes of them.

use e2e::{Harness, git};
use serde_json::{Value, json};

use super::{acme, current, get, grep};

/// The most workflows of a tenant, and the most bytes.
const ROWS: i64 = 1_000;
const BYTES: i64 = 64 << 20;

#[tokio::test]
async fn a_tenants_workflows_are_bounded_and_the_oldest_removed() {
    let stack = Harness::new().tenant(acme()).start().await;
    let owner = sqlx::PgPool::connect_with(stack.database().owner())
        .await
        .unwrap();
    let fill = "insert into workflows (tenant_id, principal, session, prompt, arguments, tools, \
                touched_at, results) select id, 'key:x', gen_random_uuid(), nth::text, '{}', '{}', \
                now() - interval '1 second' * nth, repeat('x', 256 * 1024) \
                from tenants, generate_series(1, 1000) nth";
    sqlx::query(fill).execute(&owner).await.unwrap();
    let stands = async || {
        let rows = sqlx::query_scalar::<_, i64>("select count(*) from workflows");
        let bytes = sqlx::query_scalar::<_, i64>(
            "select sum(octet_length(results) + octet_length(arguments)) from workflows",
        );
        let oldest = sqlx::query_scalar::<_, i64>(
            "select max(prompt::int8) from workflows where prompt ~ '^[0-9]+$'",
        );
        (
            rows.fetch_one(&owner).await.unwrap(),
            bytes.fetch_one(&owner).await.unwrap(),
            oldest.fetch_one(&owner).await.unwrap(),
        )
    };
    let client = stack.keyed("acme", "site");
    get(&client, "look", "").await;
    let (rows, bytes, oldest) = stands().await;
    assert_eq!((rows, oldest), (ROWS, 999));
    assert!(bytes <= BYTES && bytes > BYTES / 2, "{bytes}");
    let found = grep(&client).await;
    assert_eq!(current(&client).await["results"]["grep_codebase"], found);
    let second = stack.keyed("acme", "second");
    get(&second, "look", "").await;
    let (rows, bytes, oldest) = stands().await;
    assert_eq!((rows, oldest), (ROWS, 998));
    assert!(bytes <= BYTES, "{bytes}");
    assert_eq!(current(&client).await["results"]["grep_codebase"], found);
    owner.close().await;
}

#[tokio::test]
async fn a_workflow_omits_paths_that_the_repository_closed() {
    let stack = Harness::new().tenant(acme()).start().await;
    let client = stack.keyed("acme", "site");
    get(&client, "look", "").await;
    let found = grep(&client).await;
    let other = json!({ "path": "big.txt", "project": "other", "max_bytes": 1_000 });
    client.call("read_file", other).await.structured();
    let kept = current(&client).await["results"].clone();
    assert_eq!(kept["grep_codebase"], found);
    let folder = stack.folder("acme", "site");
    std::fs::write(folder.join(".archway.toml"), "deny = ['a.txt']\n").unwrap();
    git(&folder, &["add", "--all"]);
    git(&folder, &["commit", "--quiet", "--message", "close a.txt"]);
    // The worker sees a new HEAD at the next call.
    let closed = current(&client).await["results"].clone();
    assert_eq!(closed.get("grep_codebase"), None, "{closed}");
    assert_eq!(
        closed["read_file"], kept["read_file"],
        "another project's stays"
    );
    assert_ne!(closed["read_file"], Value::Null);
    let sum = get(&client, "sum", "").await;
    assert!(!sum.contains("needle"), "{sum}");
    grep(&client).await;
    let anew = current(&client).await["results"]["grep_codebase"].clone();
    assert_eq!(anew["totalMatches"], 0, "later results are returned");
}
