//! How a real browser renders the pages, and the pictures of the book.

use std::{path::PathBuf, process::Stdio};

use archway_gateway::terms::Level;
use e2e::{Harness, Key, Repo, Stack, Tenant};
use serde_json::json;
use sqlx::Executor;
use tempfile::TempDir;
use tokio::process::Command;

use super::{SCRIPT, has_row, pages, with_page};

/// Runs a headless Chromium on this page and returns its standard output. `ARCHWAY_TEST_CHROMIUM` is its
/// path.
async fn browse(options: &[&str], url: &str) -> String {
    let browser = std::env::var_os("ARCHWAY_TEST_CHROMIUM")
        .expect("run the tests with tests/run, which installs the browser");
    let profile = TempDir::new().unwrap();
    let mut command = Command::new(browser);
    command
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
        ])
        .args([
            "--no-first-run",
            "--disable-background-networking",
            "--hide-scrollbars",
        ])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(options)
        .arg(url)
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = tokio::time::timeout(std::time::Duration::from_secs(60), command.output());
    let output = output.await.expect("within a minute").unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn a_browser_shows_the_page_and_runs_nothing_that_callers_wrote() {
    let (stack, client) = with_page().await;
    for _ in 0..12 {
        client.call("hello", json!({})).await.structured();
        let search = json!({ "pattern": "sesame" });
        client.call("grep_codebase", search).await.structured();
    }
    client
        .call("get_repo_overview", json!({ "project": SCRIPT }))
        .await;
    let url = format!("http://{}/console?still", stack.admin());
    let shown = browse(&["--dump-dom"], &url).await;
    assert!(shown.contains("<title>Archway "), "{shown}");
    assert!(has_row(&shown, &["acme", "grep_codebase", "ok"]), "{shown}");
    assert!(!shown.contains("<script"), "{shown}");
    let port = stack.admin().port();
    let lead = "--host-resolver-rules=MAP evil.example 127.0.0.1";
    let stranger = browse(
        &[lead, "--dump-dom"],
        &format!("http://evil.example:{port}/console"),
    )
    .await;
    assert!(
        stranger.contains("not served here") && !stranger.contains("git_log"),
        "{stranger}"
    );
}

/// Two tenants that call for a day, one of which has nearly spent its month.
pub(super) async fn a_day_of_calls() -> Stack {
    let repo = Repo::new()
        .file("src/lib.rs", "fn sesame() {}\n")
        .file(".env", "A=1\n")
        .commit();
    let acme = Tenant::new("acme")
        .project("site", repo)
        .limit(Level::Tenant, "month", 5_000);
    let acme = acme.key(Key::new("ci")).key(Key::new("laptops"));
    let zeta = Tenant::new("zeta").project("shop", Repo::new().file("a", "a").commit());
    let stack = Harness::new().tenant(acme).tenant(zeta).replicas(2);
    let stack = stack
        .configure(|config| config.console.console = true)
        .start()
        .await;
    let pool = pages::owner(&stack).await;
    for statement in [
        "select make_audit_month((extract(epoch from now()) * 1000000)::bigint), \
                make_audit_month((extract(epoch from now() - interval '1 day') * 1000000)::bigint)",
        "insert into audit_records (tenant_id, chain, number, at, record, mac) \
         select k.tenant_id, md5(k.id)::uuid, i, now() - i * interval '61 seconds', \
                json_build_object('kind', 'call', 'principal', 'key:1', 'credential', k.id, 'agent', 'claude-code/2.1.4', \
                    'client', '10.4.0.' || 1 + i % 9, 'method', 'tools/call', 'project', p.slug, \
                    'tool', (array['grep_codebase', 'read_file', 'context_search', 'git_log'])[1 + (i * 7) % 4], \
                    'outcome', case when i % 97 = 0 then 'deadline_exceeded' when i % 11 = 0 then 'access_denied' else 'ok' end, \
                    'duration_ms', d.ms, 'checked_ms', 0.04, 'admitted_ms', 0.06 + d.ms * 0.1, \
                    'answered_ms', d.ms * 0.97, 'units', 1 + i % 5, 'bytes', 900 + i, 'trace', md5(k.id || i))::text, \
                sha256('x') \
         from api_keys k join projects p on p.tenant_id = k.tenant_id, generate_series(1, 1300) i, \
              lateral (select round((0.8 * power(1.9, (i * 13) % 9))::numeric, 3)::float8 as ms) d \
         where i % (1 + length(k.label)) = 0 and (i % 24) * (i / 300) % 7 < 4",
        "update gateways set name = 'gateway-' || (select count(*) from gateways o where o.id <= gateways.id), \
                             host = 'box-' || (select count(*) from gateways o where o.id <= gateways.id)",
        "insert into worker_reports (worker, instance, seen_at) values ('worker-1', 'box-1-7000', now() + interval '1 hour'), \
         ('worker-2', 'box-2-7000', now() + interval '1 hour'), ('worker-3', 'box-3-7000', now() - interval '9 minutes')",
        "insert into worker_mounts (worker, instance, pool, tenant_id, project_id) \
         select 'worker-' || i, 'box-' || i || '-7000', 'shared', tenant_id, id from projects, generate_series(1, 2) i",
        "update usage_months set units = 4300 where tenant_id = (select id from tenants where slug = 'acme')",
    ] {
        pool.execute(statement).await.unwrap();
    }
    let client = stack.client("acme");
    client.call("read_file", json!({ "path": ".env" })).await;
    client
        .call("grep_codebase", json!({ "pattern": "sesame" }))
        .await
        .structured();
    stack
}

/// Pictures of the book: page, name, width and height, further options. `ARCHWAY_TEST_SCREENSHOT` is a folder that gets
/// them.
#[tokio::test]
async fn a_browser_takes_pictures_of_each_page() {
    let stack = a_day_of_calls().await;
    let dark = "--blink-settings=preferredColorScheme=0";
    let folder = TempDir::new().unwrap();
    let asked = std::env::var_os("ARCHWAY_TEST_SCREENSHOT").map(PathBuf::from);
    let folder = asked.unwrap_or_else(|| folder.path().to_owned());
    for (path, name, size, further) in [
        ("/console?still", "page-overview", "1280,1500", ""),
        ("/console?still", "page-overview-dark", "1280,1500", dark),
        ("/console?still", "page-overview-phone", "500,1800", ""),
        ("/console/tenants", "page-tenants", "1280,500", ""),
        ("/console/tenants/acme", "page-tenant", "1280,1500", ""),
        (
            "/console/tenants/acme",
            "page-tenant-phone",
            "500,1800",
            dark,
        ),
        (
            "/console/calls?outcome=denied",
            "page-calls",
            "1280,900",
            "",
        ),
        ("/console/calls", "page-calls-phone", "500,1800", ""),
    ] {
        let url = format!("http://{}{path}", stack.admin());
        let picture = folder.join(format!("{name}.png"));
        let (take, size) = (
            format!("--screenshot={}", picture.display()),
            format!("--window-size={size}"),
        );
        let options = [take.as_str(), &size, further];
        let options: Vec<&str> = options.into_iter().filter(|it| !it.is_empty()).collect();
        browse(&options, &url).await;
        let picture = std::fs::read(&picture).unwrap();
        assert!(
            picture.starts_with(b"\x89PNG") && picture.len() > 20_000,
            "{name}"
        );
    }
}
