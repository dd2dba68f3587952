//! `archway audit changes`: each command that changes something leaves a record of who did what, and no secret.

use serde_json::{Value, json};

use crate::audit::lines;
use crate::installation::Installation;

/// All records, in order.
fn records(installation: &Installation) -> Vec<Value> {
    lines(&installation.run("audit export --administration").ok())
}

/// What a record says of its change: table, action, project, and the members before and after.
fn change(record: &Value) -> Value {
    let record = &record["record"];
    json!([
        record["what"],
        record["action"],
        record["before"],
        record["after"]
    ])
}

/// The records that a command left.
fn left_by(installation: &Installation, line: &str) -> Vec<Value> {
    let before = records(installation).len();
    installation.run(line).ok();
    records(installation).split_off(before)
}

#[test]
fn a_command_leaves_who_changed_what_and_how_it_was_before() {
    let installation = Installation::new();
    installation.run("tenant create acme").ok();
    installation.run("limits set acme total=60").ok();
    let left = left_by(&installation, "limits set acme total=120");
    assert_eq!(
        left.iter().map(change).collect::<Vec<_>>(),
        [json!(["limits", "changed", { "per_minute": 60 }, { "per_minute": 120 }])]
    );
    let record = &left[0]["record"];
    assert_eq!(
        (&record["tenant"], &record["of"]["of"], &record["program"]),
        (&json!("acme"), &json!("total"), &json!("archway-admin"))
    );
    let role = installation.texts("select session_user::text");
    assert_eq!(record["role"], role[0]);
    let user = std::process::Command::new("id")
        .arg("-un")
        .output()
        .unwrap();
    assert_eq!(
        record["os_user"],
        String::from_utf8(user.stdout).unwrap().trim()
    );
    assert!(!record["host"].as_str().unwrap().is_empty());
    assert_eq!(
        left_by(&installation, "limits set acme total=120"),
        Vec::<Value>::new()
    );

    let shown = installation.run("audit changes acme --limit 1").ok();
    assert!(
        shown.contains("limits of=total, level=tenant")
            && shown.contains("changed: per_minute=60 → per_minute=120")
            && shown.contains("there are more: add `--before "),
        "{shown}"
    );
}

#[test]
fn every_kind_of_change_is_recorded() {
    let installation = Installation::new();
    let run = |line: &str| left_by(&installation, line);
    let whats = |left: &[Value]| -> Vec<String> {
        let told = left.iter().map(|it| &it["record"]);
        told.map(|it| format!("{} {}", it["what"], it["action"]).replace('"', ""))
            .collect()
    };
    for (line, expected) in [
        ("tenant create acme", "tenants added"),
        ("tenant disable acme", "tenants changed"),
        ("tenant enable acme", "tenants changed"),
        ("project add acme site", "projects added"),
        ("project set acme site --name Site", "projects changed"),
        (
            "project add acme shop --git https://host.example/shop.git",
            "projects added, sources added",
        ),
        (
            "connection add acme org --github example",
            "connections added",
        ),
        (
            "access allow acme --who everyone --project *",
            "access_rules added",
        ),
        (
            "principal revoke --issuer https://issuer.example --subject ada",
            "principals added",
        ),
        ("limits unset acme total", ""),
        ("project remove acme site", "projects changed"),
        ("project purge acme site --confirm site", "projects removed"),
        ("tenant disable acme", "tenants changed"),
        // The other rows go with these by foreign keys.
        (
            "tenant purge acme --confirm acme",
            "projects removed, tenants removed",
        ),
    ] {
        let left = run(line);
        assert_eq!(whats(&left).join(", "), expected, "{line}");
    }
}

#[test]
fn records_of_keys_hold_no_key_and_no_hash() {
    let installation = Installation::new();
    installation.run("tenant create acme").ok();
    let issued = installation.json("key issue acme --label ci");
    let rotated = installation.json(&format!("key rotate {}", issued["id"].as_str().unwrap()));
    installation
        .run(&format!("key revoke {}", rotated["id"].as_str().unwrap()))
        .ok();
    let exported = installation.run("audit export --administration").ok();
    for key in [&issued, &rotated] {
        let (_, secret) = key["api_key"].as_str().unwrap().rsplit_once('_').unwrap();
        assert!(!exported.contains(secret));
    }
    let hashes = installation.texts("select encode(secret_hash, 'hex') from api_keys");
    assert_eq!(hashes.len(), 2);
    assert!(hashes.iter().all(|hash| !exported.contains(hash.as_str())));
    let of_keys = records(&installation);
    let of_keys: Vec<&Value> = of_keys
        .iter()
        .filter(|it| it["record"]["what"] == "api_keys")
        .collect();
    assert_eq!(of_keys[0]["record"]["after"]["label"], "ci");
    assert_eq!(of_keys[0]["record"]["after"].get("secret_hash"), None);
}

#[test]
fn records_outlive_their_tenant_and_are_in_the_transaction_of_the_change() {
    let installation = Installation::new();
    installation.run("tenant create acme").ok();
    installation.run("tenant disable acme").ok();
    installation.run("tenant purge acme --confirm acme").ok();
    let told = installation.json("audit changes acme");
    let actions: Vec<&Value> = told["changes"].as_array().unwrap().iter().collect();
    let actions: Vec<&Value> = actions.iter().map(|it| &it["record"]["action"]).collect();
    assert_eq!(actions, ["removed", "changed", "added"]);
    let later = installation
        .run("audit changes acme --since 2099-01-01")
        .ok();
    assert_eq!(later, "no changes\n", "an erased tenant has records");
    installation.sql(
        "begin; insert into tenants (slug, name) values ('zeta', 'zeta'); rollback; \
         insert into tenants (slug, name) values ('beta', 'beta')",
    );
    let records = records(&installation);
    assert_eq!(records.len(), 4);
    assert_eq!(records[3]["record"]["tenant"], "beta");
    assert_eq!(records[3]["record"].get("os_user"), None);
}

#[test]
fn an_emptied_table_is_recorded_and_what_a_process_changes_is_not() {
    let installation = Installation::new();
    installation.run("tenant create acme").ok();
    let before = records(&installation).len();
    // As a function that a process calls, under a login that is the owner's: so is `archway dev` on a given server.
    installation.sql(
        "create function change_tenants() returns void language sql security definer \
             as $$ update tenants set created_at = now() $$; \
         grant execute on function change_tenants() to archway_sync; \
         set role archway_sync; select change_tenants(); reset role",
    );
    assert_eq!(records(&installation).len(), before);
    installation.sql("select change_tenants(); truncate access_rules");
    let left = records(&installation).split_off(before);
    let changes: Vec<Value> = left.iter().map(change).collect();
    assert_eq!(changes[0][1], "changed", "{changes:?}");
    assert_eq!(changes[1], json!(["access_rules", "emptied", null, null]));
}

#[test]
fn a_changed_or_removed_record_of_administration_is_detected() {
    let installation = Installation::new();
    for tenant in ["acme", "beta", "zeta"] {
        installation.run(&format!("tenant create {tenant}")).ok();
    }
    let verified = installation.json("audit verify");
    assert_eq!(
        (&verified["intact"], &verified["administration"]["records"]),
        (&json!(true), &json!(3))
    );
    let known = installation.file("known.json", &verified.to_string());
    let verify = |line: &str| installation.run(line).out;
    for refused in [
        "update administration_records set at = now()",
        "delete from administration_records",
        "truncate administration_records",
    ] {
        let refused = format!(
            "do $$ begin {refused}; raise 'not refused'; exception when insufficient_privilege then null; end $$"
        );
        installation.sql(&refused);
    }
    let with_rights = |statement: &str| {
        installation.sql(&format!(
            "alter table administration_records disable trigger user; {statement}; \
             alter table administration_records enable trigger user"
        ));
    };
    with_rights(
        "update administration_records set record = replace(record, 'acme', 'evil') where number = 1",
    );
    assert!(
        verify("audit verify")
            .contains("administration: 3 records, record 1 is not what was recorded")
    );
    with_rights(
        "update administration_records set record = replace(record, 'evil', 'acme') where number = 1",
    );
    assert!(verify("audit verify").contains("administration: 3 records, intact"));
    with_rights("delete from administration_records where number = 3");
    assert!(verify("audit verify").contains("administration: 2 records, intact"));
    let done = installation.run(&format!("audit verify --known {known}"));
    assert_eq!(done.code, 1);
    assert!(
        done.out.contains("2 records, record 3 is gone"),
        "{}",
        done.out
    );
}

#[test]
fn pruned_months_are_cut_with_a_seal_and_what_follows_is_intact() {
    let installation = Installation::new();
    installation.run("tenant create acme").ok();
    installation.run("tenant create beta").ok();
    installation.sql(
        "alter table administration_records disable trigger user; \
         with old as (select number, '2020-01-15Z'::timestamptz as at, record from administration_records where number = 1) \
         update administration_records r set at = old.at, hash = sha256(decode(repeat('00', 32), 'hex') || int8send(1) \
             || int8send((extract(epoch from old.at) * 1000000)::bigint) || convert_to(old.record, 'UTF8')) \
         from old where r.number = old.number; \
         update administration_records r set hash = sha256(f.hash || int8send(2) \
             || int8send((extract(epoch from r.at) * 1000000)::bigint) || convert_to(r.record, 'UTF8')) \
         from administration_records f where f.number = 1 and r.number = 2; \
         alter table administration_records enable trigger user",
    );
    assert_eq!(installation.json("audit verify")["intact"], true);
    installation
        .run("audit prune --before 2020-02 --confirm 2020-02")
        .ok();
    let left = records(&installation);
    let numbers: Vec<&Value> = left.iter().map(|it| &it["number"]).collect();
    assert_eq!(numbers, [2, 3], "the second, and that it was pruned");
    assert_eq!(left[1]["record"]["action"], "pruned");
    assert_eq!(installation.json("audit verify")["intact"], true);
    installation.sql("update administration_cuts set seal = sha256('x')");
    let forged = installation.run("audit verify");
    assert!(forged.out.contains("record 1 is gone"), "{}", forged.out);
}
