//! The pages of calls, tenants, keys and projects, of all gateways.

use archway_gateway::terms::Level;
use e2e::{Harness, Repo, Stack, Tenant, http::Request};
use serde_json::json;
use sqlx::PgPool;

use super::has_row;

pub(super) async fn owner(stack: &Stack) -> PgPool {
    PgPool::connect_with(stack.database().owner())
        .await
        .unwrap()
}

/// The text of a page, which has to be there.
pub(super) async fn at(stack: &Stack, path: &str) -> String {
    let answer = Request::new("GET", path).send(stack.admin()).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    answer.text()
}

/// The page once it has all of these.
pub(super) async fn once(stack: &Stack, path: &str, texts: &[&str]) -> String {
    let ask = async || {
        let page = at(stack, path).await;
        texts.iter().all(|text| page.contains(text)).then_some(page)
    };
    stack.eventually(ask).await
}

/// Where the link with this text leads.
pub(super) fn link<'a>(page: &'a str, text: &str) -> Option<&'a str> {
    let before = page.split_once(&format!(">{text}</a>"))?.0;
    before.rsplit_once("href=\"")?.1.split('"').next()
}

pub(super) fn harness() -> Harness {
    let repo = Repo::new()
        .file("src/lib.rs", "fn sesame() {}\n")
        .file(".env", "SECRET=1\n")
        .commit();
    let acme = Tenant::new("acme")
        .project("site", repo)
        .limit(Level::Tenant, "month", 1_000);
    let zeta = Tenant::new("zeta").project("shop", Repo::new().file("a", "a").commit());
    let harness = Harness::new().tenant(acme).tenant(zeta).replicas(2);
    harness.configure(|config| config.console.console = true)
}

#[tokio::test]
async fn the_overview_shows_all_gateways_and_no_denial_as_a_failure() {
    let stack = harness().start().await;
    let other = stack.at(1, "acme", "");
    other.call("hello", json!({})).await.structured();
    for _ in 0..3 {
        let read = json!({ "path": ".env" });
        assert!(other.call("read_file", read).await.is_error());
    }
    // The gateway that is asked served none of these calls.
    let page = once(
        &stack,
        "/console?still",
        &["1 served, 3 denied, 0 failed", "0.00 %"],
    )
    .await;
    assert!(has_row(&page, &["access_denied", "denied", "3"]), "{page}");
    assert!(has_row(&page, &["hello", "1", "0", "0"]), "{page}");
    // What a gateway says about itself is written within a second.
    let ask = async || {
        let page = at(&stack, "/console?still").await;
        let ready = page.matches("<span class=\"good\">ready</span>").count();
        (ready == 2).then_some(page)
    };
    let page = stack.eventually(ask).await;
    assert!(page.contains("1 of 1 workers ready"), "{page}");
    let status = Request::new("GET", "/status").send(stack.admins()[1]).await;
    let tool = status.json()["tools"]["read_file"].clone();
    assert_eq!((&tool["denied"], &tool["failures"]), (&json!(3), &json!(0)));
}

#[tokio::test]
async fn a_page_of_a_tenant_has_its_month_keys_projects_and_no_other() {
    let stack = harness().start().await;
    let client = stack.client("acme");
    client.call("hello", json!({})).await.structured();
    let month = "update usage_months set units = 850 where tenant_id = $1";
    stack
        .eventually(async || {
            let pool = owner(&stack).await;
            let updated = sqlx::query(month)
                .bind(stack.tenant_id("acme"))
                .execute(&pool)
                .await;
            (updated.unwrap().rows_affected() == 1).then_some(())
        })
        .await;
    let mount = "insert into worker_mounts (worker, instance, pool, tenant_id, project_id) \
                 select 'w', 'box-7000', 'shared', tenant_id, id from projects";
    let mounted = sqlx::query(mount).execute(&owner(&stack).await).await;
    mounted.unwrap();
    let page = at(&stack, "/console/tenants/acme").await;
    for text in [
        "85 % of 1,000, nearly spent",
        "within the hour",
        "1,000 units a month",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(
        has_row(&page, &["site", "by 1 worker", "not by Archway"]),
        "{page}"
    );
    assert!(!page.contains("zeta") && !page.contains("shop"), "{page}");
    assert!(!page.contains(client.key()), "no credential is shown");
    let key = client.key().split('_').nth(1).unwrap();
    let page = once(
        &stack,
        &format!("/console/tenants/acme/keys/{key}"),
        &["hello"],
    )
    .await;
    assert!(page.contains("live"), "{page}");
    assert!(!page.contains(client.key()), "no credential is shown");
    at(&stack, "/console/tenants/acme/projects/site").await;
    // The near quota is on the overview as well.
    once(&stack, "/console?still", &["85 % of 1,000, nearly spent"]).await;
    for none in [
        "/console/tenants/none",
        "/console/tenants/zeta/projects/site",
        "/console/elsewhere",
        &format!("/console/tenants/zeta/keys/{key}"),
    ] {
        let answer = Request::new("GET", none).send(stack.admin()).await;
        assert_eq!(answer.status, 404, "{none}");
    }
    let post = Request::new("POST", "/console/tenants")
        .send(stack.admin())
        .await;
    assert_eq!(post.status, 405);
}

#[tokio::test]
async fn a_call_has_its_stops_and_what_refused_it() {
    let repo = Repo::new().file(".env", "SECRET=1\n").commit();
    let acme = Tenant::new("acme").project("site", repo).limited();
    let acme = acme.limit(Level::Key, "hello", 1);
    let harness = Harness::new().tenant(acme);
    let stack = harness
        .configure(|config| config.console.console = true)
        .start()
        .await;
    let client = stack.client("acme");
    client.call("read_file", json!({ "path": ".env" })).await;
    let over = async || {
        client
            .call("hello", json!({}))
            .await
            .is_error()
            .then_some(())
    };
    stack.eventually(over).await;
    let page = once(
        &stack,
        "/console/calls",
        &["limit of key hello: 1", "path rule: built-in name .env"],
    )
    .await;
    assert!(
        has_row(&page, &["acme", "read_file", "access_denied", "worker"]),
        "{page}"
    );
    let denied = at(&stack, "/console/calls?tenant=acme&outcome=denied&hours=1").await;
    assert!(
        has_row(&denied, &["acme", "hello", "rate_limited"]),
        "{denied}"
    );
    assert!(!has_row(&denied, &["acme", "hello", "ok"]), "{denied}");
    let served = at(&stack, "/console/calls?outcome=ok&tool=hello").await;
    assert!(has_row(&served, &["acme", "hello", "ok"]), "{served}");
    assert!(!served.contains("rate_limited"), "{served}");
    for nothing in [
        "tenant=zeta",
        "key=000000000000",
        "tool=absent",
        "project=none",
    ] {
        let page = at(&stack, &format!("/console/calls?{nothing}")).await;
        assert!(page.contains("None.</p>"), "{nothing}: {page}");
    }
}

#[tokio::test]
async fn without_postgres_each_page_says_so() {
    let stack = harness().start().await;
    stack.database().close().await;
    for path in [
        "/console/tenants",
        "/console/tenants/acme",
        "/console/calls",
        "/console?still",
    ] {
        let page = at(&stack, path).await;
        assert!(
            page.contains("No answer from Postgres in time"),
            "{path}: {page}"
        );
    }
}

#[tokio::test]
async fn with_a_token_file_each_page_needs_the_token() {
    const TOKEN: &str = "0123456789abcdefghijklmnopqrstuvwxyz";
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), format!("{TOKEN}\n")).unwrap();
    let path = file.path().to_owned();
    let stack = harness().configure(|config| config.console.console_token_file = Some(path));
    let stack = stack.start().await;
    for page in [
        "/console",
        "/console/tenants",
        "/console/calls",
        "/console/elsewhere",
    ] {
        let bare = Request::new("GET", page);
        let wrong = bare.clone().header(
            "Authorization",
            "Bearer 0123456789abcdefghijklmnopqrstuvwxyzz",
        );
        for refused in [bare.clone(), wrong] {
            let answer = refused.send(stack.admin()).await;
            assert_eq!(answer.status, 401, "{page}");
            let challenge = answer.header("www-authenticate").unwrap();
            assert!(challenge.starts_with("Basic realm="), "{challenge}");
            assert!(!answer.text().contains("acme") && !answer.text().contains(TOKEN));
        }
        let right = bare.header("Authorization", &format!("Bearer {TOKEN}"));
        assert_ne!(right.send(stack.admin()).await.status, 401, "{page}");
    }
    // Probes and metrics are for machines, and name no key or call.
    let probe = Request::new("GET", "/readyz").send(stack.admin()).await;
    assert_eq!(probe.status, 200);
}
