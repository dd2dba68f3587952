//! `archway tenant`.

use serde_json::json;

use crate::place::{Done, Place};

#[test]
fn a_tenant_is_made_listed_disabled_and_enabled() {
    let place = Place::new();
    assert_eq!(place.run("tenant list").ok(), "there are no tenants\n");
    let made = Done::of(
        place
            .archway()
            .args(["tenant", "create", "acme", "--name", "Acme & Co."]),
    );
    assert_eq!(made.ok(), "tenant acme: created\n");
    let made = place.json("tenant create zeta");
    assert_eq!(made, json!({ "tenant": "zeta", "done": "created" }));

    assert_eq!(
        place.run("tenant disable acme").ok(),
        "tenant acme: disabled\n"
    );
    assert_eq!(
        place.run("tenant disable acme").ok(),
        "tenant acme: disabled before\n"
    );
    let list = place.run("tenant list").ok();
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
        place.run("tenant enable acme").ok(),
        "tenant acme: enabled\n"
    );
    let list = place.json("tenant list");
    assert_eq!(list["tenants"][0]["name"], "Acme & Co.");
    assert_eq!(list["tenants"][0]["disabled_at"], json!(null));
}

#[test]
fn invalid_arguments_are_refused_by_name() {
    let place = Place::new();
    place.run("tenant create acme").ok();
    let refusal = |line: &str| place.run(line).refusal();
    assert_eq!(
        refusal("tenant create acme"),
        "archway: there already is a tenant acme\n"
    );
    assert!(refusal("tenant create Acme").contains("\"Acme\" is not a slug"));
    assert_eq!(
        refusal("tenant disable nobody"),
        "archway: there is no tenant nobody; `archway tenant list` tells which there are\n"
    );
    assert_eq!(place.run("tenant").code, 2);
    assert_eq!(place.run("tenant create").code, 2);
}

#[test]
fn setting_a_pool_reports_its_workers() {
    let place = Place::new();
    let made = place.run("tenant create acme --pool own").ok();
    assert!(
        made.starts_with("tenant acme: created\nno worker of pool own "),
        "{made}"
    );
    place.run("project add acme site").ok();
    place.sql("select report_mounts('worker-0', 'shared', array['acme'], array['site'])");
    let set = place.json("tenant set acme --pool shared --name Acme");
    assert_eq!(set, json!({ "tenant": "acme", "done": "changed" }));
    let row = &place.json("tenant list")["tenants"][0];
    assert_eq!(
        (&row["pool"], &row["name"]),
        (&json!("shared"), &json!("Acme"))
    );
    let hint = &place.json("tenant set acme --pool own")["hint"];
    assert!(hint.as_str().unwrap().contains("pool own"), "{hint}");

    let refusal = place.run("tenant set acme --pool Own").refusal();
    assert!(refusal.contains("\"Own\" is not a slug"), "{refusal}");
    assert!(
        place
            .run("tenant create zeta --pool a/b")
            .refusal()
            .contains("not a slug")
    );
    assert_eq!(place.run("tenant set acme").code, 2);
    assert_eq!(
        place.texts("select slug || ' ' || pool from tenants"),
        ["acme own"]
    );
}
