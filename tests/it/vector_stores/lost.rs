//! Chunks that a vector store lost are added again, with the next commit or without one.

use std::{fs, time::Duration};

use e2e::{Client, Harness, Qdrant, Repo, Stack, Tenant, git};
use serde_json::json;
use sqlx::PgPool;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

const QUERY: &str = "who opens the gate in the morning";

fn acme() -> Tenant {
    let gate = "/// Opens the gate in the morning.\npub fn open_gate() {}\n";
    let bell = "/// Rings the bell at noon.\npub fn ring_bell() {}\n";
    let repo = Repo::new()
        .file("src/gate.rs", gate)
        .file("src/bell.rs", bell);
    Tenant::new("acme").project("site", repo.commit())
}

/// Whether the gate is found now.
async fn is_found(client: &Client) -> bool {
    let reply = client
        .call("context_search", json!({ "query": QUERY }))
        .await;
    !reply.is_error() && reply.structured()["results"][0]["path"] == "src/gate.rs"
}

async fn is_indexed(stack: &Stack, client: &Client) {
    stack
        .eventually(async || is_found(client).await.then_some(()))
        .await;
}

/// Searches until the gate is found again. Until then every answer must say that there is no index.
/// Returns how often it did.
async fn is_told_until_it_is_found(client: &Client) -> usize {
    let deadline = Instant::now() + Duration::from_secs(90);
    let mut told = 0;
    loop {
        let reply = client
            .call("context_search", json!({ "query": QUERY }))
            .await;
        if !reply.is_error() {
            assert_eq!(reply.structured()["results"][0]["path"], "src/gate.rs");
            return told;
        }
        assert_eq!(reply.code(), "index_not_ready", "{}", reply.text());
        assert!(reply.text().contains("grep_codebase"), "{}", reply.text());
        told += 1;
        assert!(Instant::now() < deadline, "it is found again");
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn no_search_of_a_lost_collection_finds_nothing_until_it_is_filled_again() {
    let qdrant = Qdrant::start().await;
    let stack = Harness::new().tenant(acme()).qdrant(&qdrant).start().await;
    let client = stack.client("acme");
    is_indexed(&stack, &client).await;
    let chunks = qdrant.chunks().await;
    qdrant.lose_everything();
    assert!(is_told_until_it_is_found(&client).await > 0, "it was lost");
    assert_eq!(qdrant.chunks().await, chunks);
}

#[tokio::test]
async fn half_of_the_chunks_are_not_served_as_all_of_them() {
    let qdrant = Qdrant::start().await;
    let stack = Harness::new().tenant(acme()).qdrant(&qdrant).start().await;
    let client = stack.client("acme");
    is_indexed(&stack, &client).await;
    let chunks = qdrant.chunks().await;
    qdrant.lose_half();
    assert!(is_told_until_it_is_found(&client).await > 0, "it was lost");
    assert_eq!(qdrant.chunks().await, chunks);
}

#[tokio::test]
async fn of_four_hundred_projects_all_are_known_to_be_lost_at_the_next_look() {
    let qdrant = Qdrant::start().await;
    let stack = Harness::new().tenant(acme()).qdrant(&qdrant).start().await;
    is_indexed(&stack, &stack.client("acme")).await;
    let owner = PgPool::connect_with(stack.database().owner())
        .await
        .unwrap();
    for number in 0..400 {
        let folder = stack.folder("acme", &format!("other-{number}"));
        fs::create_dir(folder).unwrap();
    }
    let others = "insert into projects (tenant_id, slug) \
                  select t.id, 'other-' || n from tenants t, generate_series(0, 399) n";
    sqlx::query(others).execute(&owner).await.unwrap();
    let noted = "insert into indexes \
                     (tenant_id, project_id, made_by, indexed_at, edition, home_id, chunks) \
                 select p.tenant_id, p.id, i.made_by, now(), 1, i.home_id, 1 \
                 from projects p, indexes i where p.slug <> 'site'";
    sqlx::query(noted).execute(&owner).await.unwrap();
    let first =
        sqlx::query_scalar::<_, Uuid>("select home_id from indexes where edition > 0 limit 1");
    let first = first.fetch_one(&owner).await.unwrap();
    let whole_in = async |store_id: Uuid| {
        let whole = "select count(*) from indexes where edition > 0 and home_id = $1";
        let whole = sqlx::query_scalar::<_, i64>(whole).bind(store_id);
        whole.fetch_one(&owner).await.unwrap()
    };
    assert_eq!(whole_in(first).await, 401);
    qdrant.lose_everything();
    // One scan handles all projects; eight projects per scan would take 100 s.
    let are_marked = async || (whole_in(first).await == 0).then_some(());
    stack.eventually(are_marked).await;
}

#[tokio::test]
async fn a_commit_brings_all_home_that_was_lost_and_not_just_what_is_new() {
    let qdrant = Qdrant::start().await;
    let stack = Harness::new().tenant(acme()).qdrant(&qdrant).start().await;
    let client = stack.client("acme");
    is_indexed(&stack, &client).await;
    qdrant.lose_everything();
    let folder = stack.folder("acme", "site");
    fs::write(folder.join("src/lamp.rs"), "pub fn light_lamp() {}\n").unwrap();
    git(&folder, &["add", "-A"]);
    git(&folder, &["commit", "-qm", "lamp"]);
    is_indexed(&stack, &client).await;
}

#[tokio::test]
async fn rows_that_went_come_back_with_the_next_commit_and_memory_follows() {
    let stack = Harness::new().tenant(acme()).indexing().start().await;
    let client = stack.client("acme");
    is_indexed(&stack, &client).await;
    let owner = PgPool::connect_with(stack.database().owner())
        .await
        .unwrap();
    let rows = async || {
        let rows = sqlx::query_scalar::<_, i64>("select count(*) from index_pieces");
        rows.fetch_one(&owner).await.unwrap()
    };
    let before = rows().await;
    let one = "delete from index_pieces where blob = \
               (select blob from index_pieces order by blob limit 1)";
    sqlx::query(one).execute(&owner).await.unwrap();
    assert_eq!(rows().await, before - 1);
    let folder = stack.folder("acme", "site");
    fs::write(folder.join("src/lamp.rs"), "pub fn light_lamp() {}\n").unwrap();
    git(&folder, &["add", "-A"]);
    git(&folder, &["commit", "-qm", "lamp"]);
    let are_back = async || (rows().await == before + 1).then_some(());
    stack.eventually(are_back).await;
    is_indexed(&stack, &client).await;
    // Notes are kept: the project is no longer lost.
    let lost = sqlx::query_scalar::<_, i64>("select count(*) from indexes where edition < 0");
    assert_eq!(lost.fetch_one(&owner).await.unwrap(), 0);
}

#[tokio::test]
async fn what_a_loss_left_of_texts_that_no_file_has_goes_with_the_next_run() {
    let stack = Harness::new().tenant(acme()).indexing().start().await;
    is_indexed(&stack, &stack.client("acme")).await;
    let owner = PgPool::connect_with(stack.database().owner())
        .await
        .unwrap();
    let one = "delete from index_pieces where blob = \
               (select blob from index_pieces order by blob limit 1)";
    sqlx::query(one).execute(&owner).await.unwrap();
    let folder = stack.folder("acme", "site");
    fs::write(folder.join("lamp.rs"), "pub fn light_lamp() {}\n").unwrap();
    git(&folder, &["rm", "-rq", "src"]);
    git(&folder, &["add", "-A"]);
    git(&folder, &["commit", "-qm", "lamp alone"]);
    let is_alone = async || {
        let rows = "select (select count(*) from index_pieces) = 1 \
                           and (select count(*) from index_documents) = 1";
        let rows = sqlx::query_scalar::<_, bool>(rows).fetch_one(&owner).await;
        rows.unwrap().then_some(())
    };
    stack.eventually(is_alone).await;
}
