//! What a tenant's page says of its projects, keys and limits, and the overview of processes that are away and of
//! circuits that are open. Each state is a word.

use archway_gateway::terms::Level;
use e2e::{Harness, Repo, Tenant};
use serde_json::json;
use sqlx::Executor;
use tokio::sync::mpsc;

use super::{
    has_row,
    pages::{at, harness, once, owner},
};

const HEAD: &str = "1111111111111111111111111111111111111111";
const INDEXED: &str = "2222222222222222222222222222222222222222";

#[tokio::test]
async fn a_project_is_shown_as_synced_and_its_index_as_behind() {
    let stack = harness().start().await;
    let pool = owner(&stack).await;
    let mirrored = "insert into sources (project_id, tenant_id, url, host) \
         select id, tenant_id, 'https://git.example/' || slug, 'git.example' from projects; \
         insert into mirrors (project_id, tenant_id, place, state, head, fetched_at) \
         select project_id, tenant_id, '', 'ok', '1111111111111111111111111111111111111111', now() - interval '5 minutes' from sources; \
         insert into indexes (tenant_id, project_id, made_by, commit_id, indexed_at, edition, done, total) \
         select tenant_id, id, 'test', '2222222222222222222222222222222222222222', now() - interval '3 hours', 1, 4, 4 from projects";
    pool.execute(mirrored).await.unwrap();
    let page = at(&stack, "/console/tenants/acme").await;
    let behind = ["site", "ok, 5 min ago", "whole, 3 h 0 min ago"];
    assert!(has_row(&page, &behind), "{page}");
    assert!(page.contains("behind, at 2222222222"), "{page}");
    let page = at(&stack, "/console/tenants/acme/projects/site").await;
    for fact in ["https://git.example/site", HEAD, INDEXED] {
        assert!(page.contains(fact), "{fact}: {page}");
    }
    let caught_up = "update indexes set commit_id = '1111111111111111111111111111111111111111'; \
         update mirrors set state = 'auth_failed', message = 'the host refused the credential'";
    pool.execute(caught_up).await.unwrap();
    let page = at(&stack, "/console/tenants/acme").await;
    assert!(!page.contains("behind, at"), "{page}");
    let failed = ": the host refused the credential";
    assert!(
        page.contains("auth_failed") && page.contains(failed),
        "{page}"
    );
}

#[tokio::test]
async fn a_key_has_its_agents_and_each_limit_says_who_set_it() {
    let acme = Tenant::new("acme")
        .project("site", Repo::new().file("a", "a").commit())
        .limited()
        .limit(Level::Tenant, "month", 1_000);
    let harness = Harness::new().tenant(acme);
    let harness = harness.configure(|config| config.console.console = true);
    let stack = harness.start().await;
    let client = stack.client("acme").modern();
    client.call("hello", json!({})).await.structured();
    let key = client.key().split('_').nth(1).unwrap();
    let page = once(&stack, "/console/tenants/acme", &["within the hour"]).await;
    let agents = ["no label", key, "live", "within the hour", "1", "e2e/1"];
    assert!(has_row(&page, &agents), "{page}");
    let default = "default, for a key of one agent";
    for limit in [
        ["all", "key", "total", "1200 units", default],
        ["all", "tenant", "month", "1,000 units a month", "set"],
    ] {
        assert!(has_row(&page, &limit), "{limit:?}: {page}");
    }
}

#[tokio::test]
async fn the_overview_says_in_words_that_workers_are_away() {
    let mut stack = harness().start().await;
    once(&stack, "/console?still", &["1 of 1 workers ready"]).await;
    stack.stop_workers();
    let page = once(&stack, "/console?still", &["0 of 1 workers ready"]).await;
    assert!(!page.contains("1 of 1 workers ready"), "{page}");
}

#[tokio::test]
async fn the_overview_says_in_words_that_a_circuit_is_open() {
    let (hung, _events) = mpsc::channel(1);
    let stack = harness().hanging(hung).start().await;
    let client = stack.client("acme");
    // Probes fail as well, so the circuit opens again until the page was seen.
    let open = async || {
        client.call("break", json!({})).await;
        let page = at(&stack, "/console?still").await;
        let reported = page.contains("circuit shared/basics open");
        let own = page.contains("open, ") && has_row(&page, &["shared", "basics", "all"]);
        (reported && own).then_some(())
    };
    stack.eventually(open).await;
}

#[tokio::test]
async fn the_overview_says_in_words_that_a_gateway_was_lost() {
    let mut stack = harness().start().await;
    let pool = owner(&stack).await;
    stack.stop(1).await;
    let calm = once(&stack, "/console?still", &["none was lost within the hour"]).await;
    assert!(!calm.contains("not seen for"), "{calm}");
    // A gateway that is killed leaves its row.
    let killed = "insert into gateways (id, name, host, admin, seen_at) \
         values (gen_random_uuid(), 'lost', 'box', '10.0.0.7:9090', now() - interval '3 minutes')";
    pool.execute(killed).await.unwrap();
    let page = once(&stack, "/console?still", &["not seen for 3 min"]).await;
    assert!(
        has_row(&page, &["gateway", "lost", "box", "not seen for 3 min"]),
        "{page}"
    );
    assert!(
        page.contains("ended or lost within the hour: 1 more"),
        "{page}"
    );
}
