//! `archway key`.

use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::installation::{CommandResult, Installation, bare};

fn with_acme() -> Installation {
    let installation = Installation::new();
    installation.run("tenant create acme").ok();
    installation.run("project add acme site").ok();
    installation.run("project add acme docs").ok();
    installation
}

#[test]
fn a_key_is_issued_with_its_rights_and_its_secret_shown_once() {
    let installation = with_acme();
    let issued = installation.json(
        "key issue --tenant acme --label ci --scopes tools:read --projects site,docs \
         --families files,search --default-project site --agents 4 --expires 90d",
    );
    let (id, api_key) = (
        issued["id"].as_str().unwrap(),
        issued["api_key"].as_str().unwrap(),
    );
    assert_eq!(issued.as_object().unwrap().len(), 2);
    assert!(installation.takes(api_key));
    let secret = api_key.split('_').nth(2).unwrap();

    let list = installation.json("key list --tenant acme");
    let key = &list["keys"][0];
    assert_eq!(
        (&key["id"], &key["label"], &key["state"]),
        (&json!(id), &json!("ci"), &json!("live"))
    );
    assert_eq!(
        (&key["scopes"], &key["agents"]),
        (&json!(["tools:read"]), &json!(4))
    );
    assert_eq!(key["projects"], json!(["docs", "site"]));
    assert_eq!(key["families"], json!(["files", "search"]));
    assert_eq!(key["default_project"], "site");
    let end: jiff::Timestamp = key["expires_at"].as_str().unwrap().parse().unwrap();
    let wanted = SystemTime::now() + Duration::from_secs(90 * 86_400);
    let off = end.as_second() - jiff::Timestamp::try_from(wanted).unwrap().as_second();
    assert!(off.abs() < 60, "{off}");

    let shown = installation.run("key list acme").ok();
    assert!(
        shown.contains(id) && shown.contains("docs, site"),
        "{shown}"
    );
    assert!(!shown.contains(secret) && !list.to_string().contains(secret));
    let stored = installation.texts("select row_to_json(k)::text from api_keys k");
    assert!(!stored[0].contains(secret));
}

#[test]
fn issuing_a_key_says_to_store_it_and_uses_the_defaults() {
    let installation = with_acme();
    let shown = installation.run("key issue acme").ok();
    assert!(
        shown.contains("store it now: it can't be shown again"),
        "{shown}"
    );
    let api_key = shown
        .lines()
        .find(|line| line.starts_with("  awy_"))
        .unwrap();
    assert!(installation.takes(api_key.trim()));
    let key = &installation.json("key list acme")["keys"][0];
    assert_eq!(key["scopes"], json!(["tools:read", "memory:write"]));
    assert_eq!(
        (&key["projects"], &key["expires_at"]),
        (&json!(null), &json!(null))
    );
}

#[test]
fn a_key_of_a_disabled_tenant_is_issued_with_a_warning() {
    let installation = with_acme();
    installation.run("tenant disable acme").ok();
    let why = "tenant acme is disabled: its keys are refused until `archway tenant enable acme`";
    let shown = installation.run("key issue acme").ok();
    assert!(shown.ends_with(&format!("warning: {why}\n")), "{shown}");
    assert_eq!(installation.json("key issue acme")["warning"], why);
    let list = installation.file("tenants.txt", "acme\n");
    let out = list.replace("tenants.txt", "keys");
    let each = format!("key issue --each {list} --out {out}");
    let shown = installation.run(&each).ok();
    assert!(shown.ends_with(&format!("warning: {why}\n")), "{shown}");
}

#[test]
fn invalid_rights_of_a_key_are_refused_by_name() {
    let installation = with_acme();
    installation.run("project remove acme docs").ok();
    let refusal = |line: &str| {
        installation
            .run(&format!("key issue acme {line}"))
            .refusal()
    };
    assert!(refusal("--projects site,stie").contains("there is no project stie"));
    assert!(refusal("--projects docs").contains("project docs was removed"));
    assert!(refusal("--default-project stie").contains("there is no project stie"));
    installation.run("project add acme blog").ok();
    assert!(refusal("--projects site --default-project blog").contains("default project blog"));
    let families = refusal("--families fils");
    assert!(
        families.contains("\"fils\"") && families.contains("basics, files, search"),
        "{families}"
    );
    assert!(
        installation
            .run("key issue nobody")
            .refusal()
            .contains("there is no tenant nobody")
    );
    assert_eq!(installation.json("key list acme")["keys"], json!([]));

    let usage = |line: &str| {
        let done = installation.run(&format!("key issue acme {line}"));
        assert_eq!(done.code, 2, "{line}");
        done.err
    };
    assert!(usage("--scopes read").contains("tools:read, memory:write, admin"));
    assert!(usage("--expires yesterday").contains("90d"));
    assert!(usage("--expires 2001-01-01").contains("in the past"));
    usage("--agents 0");
    usage("--tenant acme");
}

#[test]
fn a_revoked_key_stays_revoked() {
    let installation = with_acme();
    installation.run("tenant create zeta").ok();
    let issued = installation.json("key issue acme");
    let (id, api_key) = (
        issued["id"].as_str().unwrap(),
        issued["api_key"].as_str().unwrap(),
    );
    let refusal = installation
        .run(&format!("key revoke {id} --tenant zeta"))
        .refusal();
    assert!(refusal.contains("of tenant zeta"), "{refusal}");
    assert!(installation.takes(api_key));
    let revoke = format!("key revoke {id} --tenant acme");
    assert_eq!(
        installation.run(&revoke).ok(),
        format!("key {id}: revoked\n")
    );
    assert_eq!(
        installation.json(&revoke),
        json!({ "id": id, "done": "revoked before" })
    );
    assert!(!installation.takes(api_key));
    assert_eq!(
        installation.json("key list acme")["keys"][0]["state"],
        "revoked"
    );
    let refusal = installation.run(&format!("key rotate {id}")).refusal();
    assert!(refusal.contains("was revoked"), "{refusal}");
    assert!(
        installation
            .run("key revoke 000000000000")
            .refusal()
            .contains("there is no key 000000000000; `archway key list TENANT`")
    );
}

#[test]
fn a_rotated_key_keeps_its_rights_and_the_old_one_ends_after_overlap() {
    let installation = with_acme();
    let older =
        installation.json("key issue acme --label ci --projects site --agents 3 --expires 10d");
    let id = older["id"].as_str().unwrap();
    let rotated = installation.json(&format!("key rotate {id} --overlap 1h"));
    assert_eq!(rotated["replaces"], id);
    for key in [&older, &rotated] {
        assert!(installation.takes(key["api_key"].as_str().unwrap()));
    }
    let list = installation.json("key list acme");
    let (first, second) = (&list["keys"][0], &list["keys"][1]);
    assert_eq!(second["id"], rotated["id"]);
    for same in ["label", "projects", "agents", "lineage", "scopes"] {
        assert_eq!(first[same], second[same], "{same}");
    }
    let left = installation.count(&format!(
        "select extract(epoch from expires_at - now())::bigint from api_keys where id = '{id}'"
    ));
    assert!((3_500..=3_600).contains(&left), "{left}");
    let days = installation.count(&format!(
        "select round(extract(epoch from expires_at - now()) / 86400)::bigint from api_keys \
         where id <> '{id}'"
    ));
    assert_eq!(days, 10);

    let successor = rotated["id"].as_str().unwrap();
    let at_once = installation
        .run(&format!("key rotate {successor} --overlap 0 --expires 5d"))
        .ok();
    assert!(at_once.contains("store it now"), "{at_once}");
    assert!(!installation.takes(rotated["api_key"].as_str().unwrap()));
    assert_eq!(
        installation.json("key list acme")["keys"][1]["state"],
        "expired"
    );
}

#[test]
fn a_rotated_key_rotates_again_only_once_its_successor_is_revoked() {
    let installation = with_acme();
    let older = installation.json("key issue acme --label ci");
    // Another key with the label, which is no successor.
    installation.run("key issue acme --label ci").ok();
    let rotate = format!("key rotate {}", older["id"].as_str().unwrap());
    let first = installation.json(&rotate);
    let first = first["id"].as_str().unwrap();
    let refusal = installation.run(&rotate).refusal();
    assert!(
        refusal.contains(&format!("its successor {first} is live")),
        "{refusal}"
    );
    assert_eq!(installation.count("select count(*) from api_keys"), 3);

    installation.run(&format!("key revoke {first}")).ok();
    let second = installation.json(&rotate);
    let end = |id: &str| {
        let keys = &installation.json("key list acme")["keys"];
        let mut keys = keys.as_array().unwrap().iter();
        keys.find(|key| key["id"] == id).unwrap()["expires_at"].clone()
    };
    assert!(end(older["id"].as_str().unwrap()).is_string());
    assert_eq!(end(second["id"].as_str().unwrap()), json!(null));
}

#[test]
fn a_key_whose_project_was_removed_since_can_be_rotated() {
    let installation = with_acme();
    let older = installation.json("key issue acme --projects site,docs");
    installation.run("project remove acme docs").ok();
    let id = older["id"].as_str().unwrap();
    let rotated = installation.json(&format!("key rotate {id}"));
    assert!(installation.takes(rotated["api_key"].as_str().unwrap()));
    let keys = &installation.json("key list acme")["keys"];
    assert_eq!(keys[1]["projects"], json!(["docs", "site"]));
}

#[test]
fn a_longer_overlap_does_not_lengthen_a_key() {
    let installation = with_acme();
    let older = installation.json("key issue acme --expires 1h");
    let id = older["id"].as_str().unwrap();
    installation
        .run(&format!("key rotate {id} --overlap 7d"))
        .ok();
    let left = installation.count(&format!(
        "select extract(epoch from expires_at - now())::bigint from api_keys where id = '{id}'"
    ));
    assert!(left <= 3_600, "{left}");
}

#[test]
fn generating_needs_no_database_and_stores_nothing() {
    let shown = CommandResult::of(bare().args(["key", "generate"])).ok();
    let again = CommandResult::of(bare().args(["key", "generate", "--json"])).json();
    assert!(
        shown.starts_with("awy_") && shown.lines().count() == 1,
        "{shown}"
    );
    assert_ne!(shown.trim(), again["api_key"].as_str().unwrap());
    let installation = with_acme();
    assert!(!installation.takes(shown.trim()));
}

#[test]
fn without_a_tenant_all_keys_are_listed_with_their_tenants() {
    let installation = with_acme();
    installation.run("tenant create zeta").ok();
    let issue = |tenant: &str| installation.json(&format!("key issue {tenant}"))["id"].clone();
    let (first, second) = (issue("acme"), issue("zeta"));
    let list = installation.json("key list");
    let rows = list["keys"].as_array().unwrap().iter();
    let rows: Vec<_> = rows.map(|key| (&key["tenant"], &key["id"])).collect();
    let expected = [(&json!("acme"), &first), (&json!("zeta"), &second)];
    assert_eq!(rows, expected);
    let text = installation.run("key list").ok();
    let starts = text.lines().map(|line| line.split_whitespace().next());
    let starts: Vec<_> = starts.flatten().collect();
    assert_eq!(starts, ["tenant", "acme", "zeta"]);
    assert_eq!(
        installation.json("key list --tenant zeta")["keys"][0]["id"],
        second
    );
}
