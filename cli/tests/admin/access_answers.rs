//! What `archway access` says of keys that are narrowed besides, and of rules that hide everything.

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
