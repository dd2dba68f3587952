//! `archway status` for the whole installation: indexes, limits, recent refusals; and its output without
//! Postgres.

use serde_json::json;

use crate::installation::Installation;
use crate::status::telling_port;

/// Creates two tenants with limits, and an index in each state. Returns a key's id.
fn furnished(installation: &Installation) -> String {
    for tenant in ["acme", "zeta"] {
        installation.run(&format!("tenant create {tenant}")).ok();
        installation.run(&format!("project add {tenant} site")).ok();
        installation.run(&format!("project add {tenant} docs")).ok();
    }
    installation.run("limits set acme git_log=7 total=100").ok();
    let key = installation.json("key issue acme")["id"]
        .as_str()
        .unwrap()
        .to_owned();
    installation
        .run(&format!("limits set acme --key {key} hello=0"))
        .ok();
    let index = |slug: &str, columns: &str, values: &str| {
        format!(
            "insert into indexes (tenant_id, project_id, made_by, {columns}) \
             select p.tenant_id, p.id, gen_random_uuid()::text, {values} from projects p \
             join tenants t on t.id = p.tenant_id where t.slug || '/' || p.slug = '{slug}';"
        )
    };
    installation.sql(&index("acme/site", "indexed_at, edition", "now(), 1"));
    let run = "done, total, held_until";
    installation.sql(&index(
        "acme/docs",
        run,
        "3, 9, now() + interval '20 seconds'",
    ));
    // One was whole, but with a model that was replaced; the other lost its texts.
    installation.sql(&index("zeta/site", "indexed_at, edition", "now(), 1"));
    installation.sql(&index("zeta/site", "failure", "'the disk is full'"));
    installation.sql(&index("zeta/docs", "indexed_at, edition", "now(), -1"));
    key
}

#[test]
fn limits_in_force_indexes_and_recent_refusals_are_shown() {
    let installation = Installation::new();
    let key = furnished(&installation);
    let told = |count: u64| {
        json!({ "refusals": [
            { "reason": "origin", "count": 1 },
            { "reason": "rate_limited", "detail": "key hello", "count": count },
        ] })
        .to_string()
    };
    let urls = || format!("{},{}", telling_port(told(3)), telling_port(told(4)));
    let shown = installation
        .run(&format!("status --admin-url {}", urls()))
        .ok();
    for line in [
        "indexes   1 whole, 1 running, 1 failed, 1 waiting",
        "limits    1200 units a minute a key of one agent, 12000 a tenant, 3 set otherwise",
    ] {
        assert!(shown.lines().any(|it| it == line), "{line}: {shown}");
    }
    let rows: Vec<Vec<&str>> = { shown.lines() }
        .map(|line| line.split_whitespace().collect())
        .collect();
    for row in [
        vec!["acme", "docs", "running", "3/9"],
        vec![
            "zeta", "site", "failed:", "the", "disk", "is", "full", "0/0",
        ],
        vec!["zeta", "docs", "waiting", "0/0"],
        vec!["acme", "all", "tenant", "git_log", "7"],
        vec!["acme", &key, "key", "hello", "none"],
        vec!["rate_limited", "key", "hello", "7"],
        vec!["origin", "-", "2"],
    ] {
        assert!(rows.contains(&row), "{row:?}: {shown}");
    }
    assert!(
        !rows.iter().any(|row| row.starts_with(&["acme", "site"])),
        "{shown}"
    );

    let status = installation.json(&format!("status --admin-url {}", urls()));
    assert_eq!(status["indexes"]["failed"], 1);
    assert_eq!(status["limits"]["total"], 3);
    assert_eq!(status["refusals"][0]["count"], 7);
}

#[test]
fn without_postgres_gateways_are_still_queried() {
    let installation = Installation::new();
    let told = json!({ "refusals": [{ "reason": "credential_unchecked", "count": 5 }] });
    let mut command = installation.archway();
    command.env(
        "ARCHWAY_MIGRATE_DATABASE_URL",
        "postgres://nobody@127.0.0.1:1/a",
    );
    let url = telling_port(told.to_string());
    let done = command
        .args(["status", "--admin-url", &url])
        .output()
        .unwrap();
    let shown = String::from_utf8(done.stdout).unwrap();
    assert!(!done.status.success());
    assert!(
        shown.starts_with("the database could not be read"),
        "{shown}"
    );
    assert!(shown.contains("credential_unchecked"), "{shown}");
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(said.contains("connecting"), "{said}");
}

#[test]
fn a_gateway_with_a_partial_status_is_shown_as_far_as_it_goes() {
    let installation = Installation::new();
    let open = json!({ "pool": "gold", "family": "search", "state": "open" });
    let told = json!({ "workers": [{ "pool": "gold" }], "circuits": [open] });
    let url = telling_port(told.to_string());
    let shown = installation.run(&format!("status --admin-url {url}")).ok();
    let circuit = shown.lines().find(|line| line.contains("search"));
    assert!(circuit.is_some_and(|line| line.contains("open")), "{shown}");
}
