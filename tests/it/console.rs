//! The operator's page: its content, who may read it, and how a real browser renders it.

mod browser;
mod fits;
mod labels;
mod live;
mod many;
mod pages;
mod pictures;
mod rows;
mod sign_in;

use archway_gateway::terms::Level;
use archway_proto::misleading::misleads;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use e2e::{
    Client, Harness, Repo, Stack, Tenant,
    http::{Request, Response},
};
use serde_json::json;

/// A script that a browser would run if the page did not escape it.
const SCRIPT: &str = "<script>document.title='run'</script>";

fn harness() -> Harness {
    let repo = Repo::new().file("src/lib.rs", "fn sesame() {}\n").commit();
    let acme = Tenant::new("acme").limit(Level::Tenant, "git_log", 7);
    Harness::new().tenant(acme.project("site", repo).limited())
}

async fn with_page() -> (Stack, Client) {
    let stack = harness().configure(|config| config.console.console = true);
    let stack = stack.start().await;
    let client = stack.client("acme");
    (stack, client)
}

async fn page(stack: &Stack) -> Response {
    Request::new("GET", "/console").send(stack.admin()).await
}

/// The texts between tags.
fn text_within(html: &str) -> Vec<String> {
    let parts = html.split('<').skip(1);
    let texts = parts.filter_map(|part| part.split_once('>').map(|(_tag, text)| text.trim()));
    let texts = texts.filter(|text| !text.is_empty());
    texts.map(str::to_owned).collect()
}

/// Whether the page has a row with these cells in this order, possibly among others.
fn has_row(page: &str, cells: &[&str]) -> bool {
    let rows = page.split("<tr").skip(1);
    let rows = rows.map(|row| row.split("</tr>").next().unwrap_or(row));
    let mut rows = rows.map(text_within);
    rows.any(|row| {
        let mut told = row.iter();
        cells.iter().all(|cell| told.any(|it| it == cell))
    })
}

#[tokio::test]
async fn the_console_is_served_only_if_enabled_and_never_to_clients() {
    let without = harness().start().await;
    assert_eq!(page(&without).await.status, 404);
    let (stack, client) = with_page().await;
    assert_eq!(page(&stack).await.status, 200);
    for request in [
        Request::new("GET", "/console"),
        Request::new("GET", "/console")
            .header("Authorization", &format!("Bearer {}", client.key())),
    ] {
        assert_eq!(request.send(client.address()).await.status, 404);
    }
}

#[tokio::test]
async fn the_console_lists_recent_calls_with_tenant_outcome_and_time() {
    let (stack, client) = with_page().await;
    client.call("hello", json!({})).await.structured();
    let other = json!({ "project": SCRIPT });
    assert!(client.call("get_repo_overview", other).await.is_error());
    let answer = page(&stack).await;
    let text = answer.text();
    assert!(has_row(&text, &["acme", "hello", "ok"]), "{text}");
    assert!(has_row(&text, &["acme", "get_repo_overview"]), "{text}");
    // Each bar shows the time of the worker and of the answer.
    for part in ["worker", "answer"] {
        let name = format!("{part} ");
        let told = text.split(&name).skip(1);
        let times = told.filter_map(|rest| rest.split_once(" ms")?.0.parse::<f64>().ok());
        assert!(times.fold(0.0, f64::max) > 0.0, "{part}: {text}");
    }
    // A caller's text stays text, and the page runs its own script alone.
    assert!(text.contains("&lt;script&gt;"), "{text}");
    let scripts: Vec<&str> = text.split("<script").skip(1).collect();
    assert_eq!(scripts.len(), 1, "{text}");
    assert!(
        scripts[0].starts_with(" src=\"/console/live.js\" defer></script>"),
        "{text}"
    );
    // The content security policy allows exactly the page's one style.
    let style = text.split_once("<style>").unwrap().1;
    let style = style.split_once("</style>").unwrap().0;
    let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, style.as_bytes());
    let own = format!("style-src 'sha256-{}'", STANDARD.encode(hash));
    let policy = answer.header("content-security-policy").unwrap();
    assert!(
        policy.starts_with("default-src 'none'; ") && policy.contains(&own),
        "{policy}"
    );
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert!(!text.contains(client.key()), "no credential is shown");
}

#[tokio::test]
async fn console_and_status_escape_misleading_text_of_callers() {
    let (stack, client) = with_page().await;
    let name = "p\u{202e}q\u{200b}r\u{e0041}s\u{1b}[2J";
    for tool in ["get_repo_overview", "read_file"] {
        let asked = json!({ "project": name, "path": name });
        assert!(client.call(tool, asked).await.is_error());
    }
    let uri = json!({ "uri": format!("architecture://{name}/adr/one") });
    client.rpc("resources/read", uri).await;
    client.rpc("prompts/get", json!({ "name": name })).await;
    let answer = page(&stack).await.text();
    assert!(!misleads(&answer), "{answer}");
    let shown = r"p\u{202e}q\u{200b}r\u{e0041}s\u{1b}[2J";
    assert!(answer.contains(shown), "{answer}");
    let status = Request::new("GET", "/status").send(stack.admin()).await;
    assert!(!misleads(&status.text()), "{}", status.text());
}

#[tokio::test]
async fn the_console_shows_tools_limits_workers_and_indexes() {
    let (stack, client) = with_page().await;
    client.call("hello", json!({})).await.structured();
    let text = page(&stack).await.text();
    assert!(
        has_row(&text, &["acme", "all", "tenant", "git_log", "7"]),
        "{text}"
    );
    assert!(has_row(&text, &["hello", "1", "0", "0"]), "{text}");
    assert!(has_row(&text, &["shared", "ready", "0"]), "{text}");
    assert!(
        has_row(&text, &["acme", "site", "waiting", "0 of 0"]),
        "{text}"
    );
}

#[tokio::test]
async fn console_and_status_count_refusals_by_reason() {
    let (stack, client) = with_page().await;
    let hello = client.request("tools/call", json!({ "name": "hello", "arguments": {} }));
    for header in ["Bearer awy_000000000000_wrong", "Basic Og=="] {
        let wrong = Request::new("POST", "/mcp").header("Authorization", header);
        assert_eq!(wrong.send(client.address()).await.status, 401);
    }
    let strange = hello.clone().header("Origin", "https://evil.example");
    assert_eq!(strange.send(client.address()).await.status, 403);
    let unknown = json!({ "name": "no_such_tool", "arguments": {} });
    let unknown = client.request("tools/call", unknown);
    unknown.send(client.address()).await;
    let status = Request::new("GET", "/status").send(stack.admin()).await;
    let refusals = status.json()["refusals"].clone();
    let count = |reason: &str| {
        let rows = refusals.as_array().unwrap().iter();
        let rows = rows.filter(|row| row["reason"] == reason);
        rows.map(|row| row["count"].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!(count("origin"), 1, "{refusals}");
    assert_eq!(count("unknown_tool"), 1, "{refusals}");
    assert_eq!(
        count("bad_credential") + count("no_credential"),
        2,
        "{refusals}"
    );
    let text = page(&stack).await.text();
    assert!(has_row(&text, &["origin", "1"]), "{text}");
    assert!(has_row(&text, &["unknown_tool", "1"]), "{text}");
}

#[tokio::test]
async fn the_console_names_the_owner_of_a_spent_limit() {
    let repo = Repo::new().file("a.txt", "a").commit();
    let acme = Tenant::new("acme").project("site", repo).limited();
    let acme = acme.limit(Level::Key, "hello", 1);
    let stack = Harness::new().tenant(acme).start().await;
    let client = stack.client("acme");
    let over = async || {
        client
            .call("hello", json!({}))
            .await
            .is_error()
            .then_some(())
    };
    stack.eventually(over).await;
    let status = Request::new("GET", "/status").send(stack.admin()).await;
    let refusals = status.json()["refusals"].clone();
    let row = json!({ "reason": "rate_limited", "detail": "key hello", "count": 1 });
    assert_eq!(refusals, json!([row]));
}

#[tokio::test]
async fn without_postgres_the_console_says_so_and_shows_the_rest() {
    let (stack, client) = with_page().await;
    client.call("hello", json!({})).await.structured();
    stack.database().close().await;
    let text = page(&stack).await.text();
    assert!(text.contains("No answer from Postgres"), "{text}");
    assert!(
        text.contains("<div class=\"value bad\">away</div>"),
        "{text}"
    );
    assert!(has_row(&text, &["acme", "hello", "ok"]), "{text}");
}

#[tokio::test]
async fn the_console_refuses_requests_for_a_rebound_host_name() {
    let (stack, _client) = with_page().await;
    let port = stack.admin().port();
    for (host, status) in [
        (format!("evil.example:{port}"), 403),
        (format!("127.0.0.1.evil.example:{port}"), 403),
        (format!("localhost:{port}"), 200),
        (format!("127.0.0.1:{port}"), 200),
        (format!("10.1.2.3:{port}"), 200),
        (format!("[::1]:{port}"), 200),
    ] {
        let asked = Request::new("GET", "/console").header("Host", &host);
        let answer = asked.send(stack.admin()).await;
        assert_eq!(answer.status, status, "{host}");
        let told = answer.text().contains("git_log");
        assert_eq!(told, status == 200, "{host}");
    }
}
