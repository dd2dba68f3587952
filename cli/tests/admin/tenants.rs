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
        lines[0].starts_with("tenant  name        projects  live keys  created"),
        "{list}"
    );
    assert!(
        lines[1].starts_with("acme    Acme & Co.  0         0"),
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
fn what_makes_no_sense_is_refused_by_name() {
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
