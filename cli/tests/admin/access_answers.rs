//! What `archway access` says of keys that are narrowed besides, of rules that hide everything, and of names that nothing has.

use serde_json::json;

use crate::access::installation;

#[test]
fn what_a_key_is_narrowed_to_is_part_of_what_is_explained() {
    let installation = installation();
    let key = "key issue acme --label ci --projects web-1 --families files";
    installation.run(key).ok();
    let explain = "access explain acme --key ci";
    let explained = installation.json(explain)["projects"].clone();
    assert_eq!(explained[0]["families"], json!([]), "api");
    assert_eq!(explained[1]["families"], json!(["basics", "files"]));
    installation
        .run("access allow acme --who key:ci --project * --family files --family git")
        .ok();
    let explained = installation.run(explain).ok();
    for row in [
        ["api", "none", "its key: not for this project"],
        ["web-1", "basics, files", "its key: basics, files"],
    ] {
        let line = explained.lines().find(|line| line.starts_with(row[0]));
        let line = line.unwrap_or_else(|| panic!("{explained}"));
        assert!(row.iter().all(|cell| line.contains(cell)), "{explained}");
    }
    installation
        .run("key issue acme --label ci --projects api")
        .ok();
    let explained = installation.json(explain);
    assert_eq!(explained["live_keys"], 2);
    let api = &explained["projects"][0]["families"];
    assert_eq!(api, &json!(["basics", "files", "git"]), "of the other key");
}

#[test]
fn a_first_rule_that_denies_says_that_everything_is_hidden() {
    let installation = installation();
    let deny = "access deny acme --who group:guests --project api";
    let said = installation.run(deny).ok();
    assert!(
        said.contains("all are hidden from everyone")
            && said.contains("`archway access allow acme --who everyone --project '*'`"),
        "{said}"
    );
    assert_eq!(installation.json(deny)["allow_rules"], 0);
    let allow = "access allow acme --who everyone --project *";
    let said = installation.run(allow).ok();
    assert!(said.contains("it has 3 rules"), "{said}");
}

#[test]
fn a_slug_that_no_project_has_is_named_with_near_ones() {
    let installation = installation();
    installation.run("project remove acme web-1").ok();
    let deny = "access deny acme --who everyone --project web-3 --project x-* --project topic:x";
    let said = installation.run(deny).ok();
    let near =
        "no project of acme has the slug web-3: did you mean web-2? `archway project list acme`";
    assert!(said.contains(near), "{said}");
    let unknown = installation.json(deny)["unknown_projects"].clone();
    assert_eq!(unknown, json!([{ "project": "web-3", "near": ["web-2"] }]));
    let allow = "access allow acme --who everyone --project api --project web-1";
    let said = installation.run(allow).ok();
    assert!(said.contains("has the slug web-1"), "removed: {said}");
    assert!(!said.contains("has the slug api"), "{said}");
}

#[test]
fn a_key_that_may_only_write_memory_has_no_other_family() {
    let installation = installation();
    installation
        .run("key issue acme --label writer --scopes memory:write")
        .ok();
    let explain = "access explain acme --key writer";
    let explained = installation.json(explain);
    assert_eq!(explained["projects"][0]["families"], json!(["memory"]));
    let explained = installation.run(explain).ok();
    assert!(explained.contains("its key: memory"), "{explained}");
}

#[test]
fn a_caller_without_rules_and_a_mistaken_issuer_are_explained() {
    let installation = installation();
    let subject = "subject:https://login.example/#ada";
    installation
        .run(&format!("access allow acme --who {subject} --project api"))
        .ok();
    let key = installation.run("access explain acme --key ci").ok();
    let hidden =
        "no rule is about it, and what no rule gives is hidden: see `archway access list acme`";
    assert!(key.contains(hidden), "{key}");
    let token = |issuer: &str| format!("access explain acme --issuer {issuer} --subject ada");
    let mistaken = installation.run(&token("https://login.example")).ok();
    assert!(
        mistaken.contains("those in rules are of https://login.example/"),
        "{mistaken}"
    );
    let right = installation.run(&token("https://login.example/")).ok();
    assert!(
        right.contains("`--issuers`") && !right.contains("those in rules"),
        "{right}"
    );
}

#[test]
fn a_file_whose_rule_names_a_slug_or_label_that_nothing_has_warns() {
    let installation = installation();
    installation.run("key issue acme --label ci").ok();
    let rule = "{who: [everyone, key:ci, key:new, key:c1], projects: [api, web-3, 'x-*']}";
    let text = format!("tenants: [{{slug: acme, access: [{rule}]}}]");
    let file = installation.file("tenants.yaml", &text);
    let said = installation.run(&format!("apply -f {file}")).ok();
    let warning = "warning: no project of acme has the slug web-3, which an access rule names";
    let label = |label| {
        format!("warning: no live key of acme has the label {label}, which an access rule names")
    };
    assert!(said.contains(warning), "{said}");
    assert!(
        said.contains(&label("c1")) && said.contains(&label("new")),
        "{said}"
    );
    assert_eq!(said.matches("warning: ").count(), 3, "{said}");
}
