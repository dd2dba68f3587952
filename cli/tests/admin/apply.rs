//! `archway apply`.

use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::installation::{CommandResult, Installation, bare};

pub(crate) const FILE: &str = "
tenants:
  - slug: acme
    name: Acme
    projects:
      - slug: site
        name: Site
        allow: [docs/**]
        close: [private/]
      - slug: docs
    keys:
      - label: ci
        from_env: ACME_CI
        scopes: [tools:read]
        projects: [site]
        families: [files]
        default_project: site
        agents: 4
        expires: 2099-01-31
  - slug: zeta
";

pub(crate) fn generated() -> String {
    let made = CommandResult::of(bare().args(["key", "generate"])).ok();
    made.trim().to_owned()
}

/// Applies a text with a key in the variable `ACME_CI`.
pub(crate) fn apply(
    installation: &Installation,
    text: &str,
    key: &str,
    options: &[&str],
) -> CommandResult {
    let file = installation.file("tenants.yaml", text);
    let mut command = installation.archway();
    command.env("ACME_CI", key).args(["apply", "-f", &file]);
    CommandResult::of(command.args(options))
}

/// Everything that `apply` can change, as one text.
pub(crate) fn everything(installation: &Installation) -> Vec<String> {
    installation.texts(
        "select row_to_json(t)::text from tenants t \
         union all select row_to_json(p)::text from projects p \
         union all select row_to_json(k)::text from api_keys k order by 1",
    )
}

#[test]
fn a_file_is_made_true_and_a_second_run_changes_nothing() {
    let (installation, key) = (Installation::new(), generated());
    let id = key.split('_').nth(1).unwrap();
    let first = apply(&installation, FILE, &key, &[]).ok();
    assert_eq!(
        first,
        format!(
            "created tenant acme\ncreated project acme/site\ncreated project acme/docs\n\
             created key acme/ci {id}\ncreated tenant zeta\nunchanged 0\n"
        )
    );
    assert!(installation.takes(&key));
    let listed = &installation.json("key list acme")["keys"][0];
    assert_eq!(
        (&listed["agents"], &listed["families"]),
        (&json!(4), &json!(["files"]))
    );
    assert_eq!(listed["expires_at"], "2099-01-31T00:00:00Z");
    let project = &installation.json("project list acme")["projects"][1];
    assert_eq!(
        (&project["allow"], &project["close"]),
        (&json!(["docs/**"]), &json!(["private/"]))
    );

    let before = everything(&installation);
    assert_eq!(apply(&installation, FILE, &key, &[]).ok(), "unchanged 5\n");
    assert_eq!(everything(&installation), before);
}

#[test]
fn differences_are_applied_and_named() {
    let (installation, key) = (Installation::new(), generated());
    apply(&installation, FILE, &key, &[]).ok();
    installation.run("project remove acme docs").ok();
    let changed = FILE
        .replace("name: Acme", "disabled: true")
        .replace("        close: [private/]\n", "")
        .replace("agents: 4", "agents: 5")
        .replace("scopes: [tools:read]", "scopes: [memory:write, tools:read]");
    let report = apply(&installation, &changed, &key, &["--json"]).json();
    let value = |field: &str, before: Value, after: Value, left_out: bool| json!({ "field": field, "before": before, "after": after, "left_out": left_out });
    let change = |kind: &str, name: &str, values: &[Value]| {
        let fields: Vec<&Value> = values.iter().map(|value| &value["field"]).collect();
        json!({ "action": "changed", "kind": kind, "name": name, "fields": fields, "values": values })
    };
    let id = key.split('_').nth(1).unwrap();
    let name = value("name", json!("Acme"), json!("acme"), true);
    let disabled = value("disabled", json!(false), json!(true), false);
    let close = value("close", json!(["private/"]), json!([]), true);
    let scopes = json!(["tools:read", "memory:write"]);
    let scopes = value("scopes", json!(["tools:read"]), scopes, false);
    let agents = value("agents", json!(4), json!(5), false);
    let changes = [
        change("tenant", "acme", &[name, disabled]),
        change("project", "acme/site", &[close]),
        json!({ "action": "restored", "kind": "project", "name": "acme/docs" }),
        change("key", &format!("acme/ci {id}"), &[scopes, agents]),
    ];
    let warning = "project acme/site: close is left out, so [private/] becomes [], and callers may see more: write it \
                   to keep it";
    let wanted =
        json!({ "dry_run": false, "changes": changes, "warnings": [warning], "unchanged": 1 });
    assert_eq!(report, wanted);
    assert_eq!(
        apply(&installation, &changed, &key, &[]).ok(),
        "unchanged 5\n"
    );
    // The file has no `disabled`, so that stays.
    assert!(!installation.takes(&key));
    let silent = changed.replace("    disabled: true\n", "");
    apply(&installation, &silent, &key, &[]).ok();
    assert!(!installation.takes(&key));
}

#[test]
fn a_dry_run_says_the_same_and_changes_nothing() {
    let (installation, key) = (Installation::new(), generated());
    let dry = apply(&installation, FILE, &key, &["--dry-run"]).ok();
    assert_eq!(everything(&installation), Vec::<String>::new());
    let wet = apply(&installation, FILE, &key, &[]).ok();
    assert_eq!(dry, format!("{wet}dry run: nothing was changed\n"));
    let before = everything(&installation);
    let less = "tenants: [{slug: acme, projects: [], keys: []}]";
    let dry = apply(
        &installation,
        less,
        &key,
        &["--dry-run", "--prune=tenants", "--json"],
    )
    .json();
    assert_eq!(dry["dry_run"], true);
    assert_eq!(dry["changes"].as_array().unwrap().len(), 5, "{dry}");
    assert_eq!(everything(&installation), before);
}

#[test]
fn pruning_disables_what_the_file_does_not_list() {
    let (installation, key) = (Installation::new(), generated());
    apply(&installation, FILE, &key, &[]).ok();
    installation.run("tenant create other").ok();
    installation.run("project add other site").ok();
    let issued = installation.json("key issue acme --label by-hand");
    let by_hand = issued["api_key"].as_str().unwrap();

    let less = "tenants: [{slug: acme, name: Acme, projects: [{slug: docs}]}]";
    assert_eq!(apply(&installation, less, &key, &[]).ok(), "unchanged 2\n");
    // Without a list of keys, keys stay.
    let pruned = apply(&installation, less, &key, &["--prune"]).ok();
    assert_eq!(pruned, "removed project acme/site\nunchanged 2\n");
    assert!(installation.takes(&key) && installation.takes(by_hand));

    let none = "tenants: [{slug: acme, name: Acme, keys: []}]";
    let pruned = apply(&installation, none, &key, &["--prune"]).ok();
    assert_eq!(
        pruned
            .lines()
            .filter(|line| line.starts_with("revoked key acme/"))
            .count(),
        2
    );
    assert!(!installation.takes(&key) && !installation.takes(by_hand));
    let active = "select slug from tenants where disabled_at is null order by 1";
    assert_eq!(installation.texts(active), ["acme", "other", "zeta"]);

    let pruned = apply(&installation, none, &key, &["--prune=tenants"]).ok();
    assert_eq!(
        pruned,
        "disabled tenant other\ndisabled tenant zeta\nunchanged 1\n"
    );
    assert_eq!(installation.texts(active), ["acme"]);
    // Nothing was erased.
    assert_eq!(installation.count("select count(*) from projects"), 3);
    assert_eq!(installation.count("select count(*) from api_keys"), 2);
}

#[test]
fn a_refused_entry_undoes_the_others() {
    let (installation, key) = (Installation::new(), generated());
    let text = format!("{FILE}  - slug: Not-A-Slug\n");
    let refusal = apply(&installation, &text, &key, &[]).refusal();
    assert!(
        refusal.contains("tenant Not-A-Slug") && refusal.contains("is not a slug"),
        "{refusal}"
    );
    let text = FILE.replace("projects: [site]", "projects: [site, nowhere]");
    let refusal = apply(&installation, &text, &key, &[]).refusal();
    assert!(refusal.contains("there is no project nowhere"), "{refusal}");
    let text = FILE.replace("- slug: docs", "- slug: adr");
    assert!(
        apply(&installation, &text, &key, &[])
            .refusal()
            .contains("reserved")
    );
    assert_eq!(everything(&installation), Vec::<String>::new());
}

#[test]
fn an_invalid_file_is_refused_with_the_location() {
    let (installation, key) = (Installation::new(), generated());
    let text = FILE.replace("    name: Acme\n", "    bounds: {calls: 5}\n");
    let refusal = apply(&installation, &text, &key, &[]).refusal();
    assert!(refusal.contains("tenants.yaml is not valid"), "{refusal}");
    assert!(
        refusal.contains("bounds") && refusal.contains("line 4"),
        "{refusal}"
    );
    let text = FILE.replace("tools:read", "tools:reed");
    assert!(
        apply(&installation, &text, &key, &[])
            .refusal()
            .contains("tools:reed")
    );
    let text = FILE.replace("families: [files]", "families: [fils]");
    assert!(
        apply(&installation, &text, &key, &[])
            .refusal()
            .contains("basics, files")
    );
    let missing = installation.run("apply -f /nowhere/tenants.yaml").refusal();
    assert!(
        missing.contains("reading /nowhere/tenants.yaml"),
        "{missing}"
    );
    assert_eq!(installation.run("apply").code, 2);
}

#[test]
fn concurrent_applies_create_everything_once() {
    let (installation, key) = (Installation::new(), generated());
    let file = installation.file("tenants.yaml", FILE);
    let start = |_| -> Child {
        let mut command = installation.archway();
        command
            .env("ACME_CI", &key)
            .args(["apply", "--json", "-f", &file]);
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let running: Vec<Child> = (0..4).map(start).collect();
    let mut unchanged = Vec::new();
    for child in running {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        unchanged.push(report["unchanged"].as_u64().unwrap());
    }
    unchanged.sort_unstable();
    assert_eq!(unchanged, [0, 5, 5, 5]);
}

#[test]
fn the_file_may_come_from_standard_input_and_its_schema_is_printed() {
    let installation = Installation::new();
    let file = installation.file("in", "tenants: [{slug: acme}]");
    let mut command = installation.archway();
    command
        .args(["apply", "-f", "-"])
        .stdin(std::fs::File::open(file).unwrap());
    assert_eq!(
        CommandResult::of(&mut command).ok(),
        "created tenant acme\nunchanged 0\n"
    );

    let shown = CommandResult::of(bare().args(["apply", "--schema"])).ok();
    let schema: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(schema["additionalProperties"], false);
    assert!(schema["$defs"]["KeyEntry"]["properties"]["from_env"]["description"].is_string());
}
