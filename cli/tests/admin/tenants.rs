//! `archway tenant`.

use serde_json::json;

use crate::installation::{CommandResult, Installation};

#[test]
fn a_tenant_is_made_listed_disabled_and_enabled() {
    let installation = Installation::new();
    assert_eq!(
        installation.run("tenant list").ok(),
        "there are no tenants\n"
    );
    let made = CommandResult::of(installation.archway().args([
        "tenant",
        "create",
        "acme",
        "--name",
        "Acme & Co.",
    ]));
    assert_eq!(made.ok(), "tenant acme: created\n");
    let made = installation.json("tenant create zeta");
    assert_eq!(made, json!({ "tenant": "zeta", "done": "created" }));

    assert_eq!(
        installation.run("tenant disable acme").ok(),
        "tenant acme: disabled\n"
    );
    assert_eq!(
        installation.run("tenant disable acme").ok(),
        "tenant acme: disabled before\n"
    );
    let list = installation.run("tenant list").ok();
    let lines: Vec<&str> = list.lines().collect();
    assert!(
        lines[0].starts_with("tenant  name        pool    projects  live keys  created"),
        "{list}"
    );
    assert!(
        lines[1].starts_with("acme    Acme & Co.  shared  0         0"),
        "{list}"
    );
    assert!(lines[1].contains("disabled 20"), "{list}");
    assert!(
        lines[2].starts_with("zeta") && lines[2].ends_with("in use"),
        "{list}"
    );

    assert_eq!(
        installation.run("tenant enable acme").ok(),
        "tenant acme: enabled\n"
    );
    let list = installation.json("tenant list");
    assert_eq!(list["tenants"][0]["name"], "Acme & Co.");
    assert_eq!(list["tenants"][0]["disabled_at"], json!(null));
    assert!(list["tenants"][0]["id"].is_string(), "{list}");
}

#[test]
fn invalid_arguments_are_refused_by_name() {
    let installation = Installation::new();
    installation.run("tenant create acme").ok();
    let refusal = |line: &str| installation.run(line).refusal();
    assert_eq!(
        refusal("tenant create acme"),
        "archway: there already is a tenant acme\n"
    );
    assert!(refusal("tenant create Acme").contains("\"Acme\" is not a slug"));
    assert_eq!(
        refusal("tenant disable nobody"),
        "archway: there is no tenant nobody; `archway tenant list` lists what exists\n"
    );
    assert_eq!(installation.run("tenant").code, 2);
    assert_eq!(installation.run("tenant create").code, 2);
}

#[test]
fn setting_a_pool_reports_its_workers() {
    let installation = Installation::new();
    let made = installation.run("tenant create acme --pool own").ok();
    assert!(
        made.starts_with("tenant acme: created\nno worker of pool own "),
        "{made}"
    );
    installation.run("project add acme site").ok();
    installation.sql("select report_mounts('worker-0', 'shared', array['acme'], array['site'])");
    let set = installation.json("tenant set acme --pool shared --name Acme");
    assert_eq!(set, json!({ "tenant": "acme", "done": "changed" }));
    let row = &installation.json("tenant list")["tenants"][0];
    assert_eq!(
        (&row["pool"], &row["name"]),
        (&json!("shared"), &json!("Acme"))
    );
    let hint = &installation.json("tenant set acme --pool own")["hint"];
    assert!(hint.as_str().unwrap().contains("pool own"), "{hint}");

    let refusal = installation.run("tenant set acme --pool Own").refusal();
    assert!(refusal.contains("\"Own\" is not a slug"), "{refusal}");
    assert!(
        installation
            .run("tenant create zeta --pool a/b")
            .refusal()
            .contains("not a slug")
    );
    assert_eq!(installation.run("tenant set acme").code, 2);
    assert_eq!(
        installation.texts("select slug || ' ' || pool from tenants"),
        ["acme own"]
    );
}
